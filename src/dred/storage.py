"""Arrays on disk: one `.npz` file that any NumPy can read, without pickle, checked by a digest.

A file holds named arrays and `meta` (JSON). It is written array by array from pieces, so one that
is larger than memory can be saved, and the same arrays give the same bytes.
"""

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dred import __version__
from dred.errors import DatasetError, reason_of
from dred.files import replacing

Array = NDArray[np.generic]

FORMAT = 1
# All that reading a damaged or foreign file has been seen to raise.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    OSError,
    SyntaxError,
    NotImplementedError,
    RuntimeError,
    TokenError,
    OverflowError,
    MemoryError,
    TypeError,
    KeyError,
)
COMPRESSION = 5
SMALL = 2**26  # bytes that a file may come to in memory, whatever its own size
MOST_EXPANSION = 250  # or so many times its own size: levels come to some 5 times theirs


class Column(NamedTuple):
    """One array of a file, given in pieces along its first axis."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    pieces: Iterable[Array]


def digest_start(name: str, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> bytes:
    """What the digest takes in before an array's own bytes."""
    return f"{name} {dtype.str} {shape}\n".encode()


def digest_of(arrays: Mapping[str, Array], names: Sequence[str]) -> str:
    """SHA-256 of these arrays: of each its name, type, shape and bytes."""
    digest = hashlib.sha256()
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        digest.update(digest_start(name, array.dtype, array.shape))
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_file(path: Path, columns: Mapping[str, Column], meta: Mapping[str, object]) -> str:
    """Write these arrays and a meta, whole or not at all; returns their digest."""
    digest = hashlib.sha256()
    with (
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive,
    ):
        for name, column in columns.items():
            digest.update(digest_start(name, column.dtype, column.shape))
            with archive.open(_entry(name), "w", force_zip64=True) as stream:
                stream.write(_header(column.dtype, column.shape))
                written = 0
                for piece in column.pieces:
                    content = np.ascontiguousarray(piece, column.dtype).tobytes()
                    digest.update(content)
                    stream.write(content)
                    written += len(content)
                if written != column.dtype.itemsize * math.prod(column.shape):
                    raise DatasetError(
                        f"{path}: the array {name!r} came out as {written} bytes, not those of "
                        f"shape {list(column.shape)}. Nothing was written; start again."
                    )
        facts = {
            "format": FORMAT,
            **meta,
            "versions": {"dred": __version__, "numpy": np.__version__},
            "digest": digest.hexdigest(),
        }
        text = np.array(json.dumps(facts, ensure_ascii=True, sort_keys=True))
        with archive.open(_entry("meta"), "w", force_zip64=True) as stream:
            stream.write(_header(text.dtype, ()))
            stream.write(text.tobytes())
    return digest.hexdigest()


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date, so that the same levels give the same file.
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _header(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    facts = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    return stream.getvalue()


def read_arrays(
    path: Path,
    names: Sequence[str],
    *,
    what: str,
    check: Callable[[Path, Mapping[str, Array]], None],
) -> tuple[dict[str, Array], dict[str, object]]:
    """The named arrays and the meta of a file, if all are there, pass a check and fit the digest.

    `what` the file should be is said in errors.
    """
    if not path.exists():
        raise DatasetError(
            f"There is no file {path}. Give the path of a {what} (.npz), which `dred levels make` "
            "and `dred levels import` write."
        )
    if not path.is_file():
        raise DatasetError(f"{path} is not a file. Give the path of an .npz file: a {what}.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(path, archive, names, what)
            check_expansion(archive, path.stat().st_size)
            arrays = {name: _read_array(archive, name) for name in names}
            meta = _parse_meta(path, _read_array(archive, "meta"))
    except DAMAGE as error:
        raise DatasetError(
            f"{path} cannot be read as a {what}: {reason_of(error)}. The file is "
            "damaged, cut short, or of another kind. Make or copy it again."
        ) from None
    check(path, arrays)
    if meta.get("digest") != digest_of(arrays, names):
        raise DatasetError(
            f"{path}: its arrays do not match the digest stored with them, so the file was changed "
            "or damaged after it was written. Make or copy it again; if you changed levels on "
            "purpose, save them with dred.levels.save."
        )
    return arrays, meta


def read_archive(path: Path) -> dict[str, Array]:
    """Return all arrays of an `.npz` file by name; damage raises one of DAMAGE.

    What it says of its size is checked before memory is taken.
    """
    with zipfile.ZipFile(path) as archive:
        check_expansion(archive, path.stat().st_size)
        names = [member.removesuffix(".npy") for member in archive.namelist()]
        return {name: _read_array(archive, name) for name in names}


def check_expansion(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that would become far larger in memory than files of numbers do."""
    declared = sum(member.file_size for member in archive.infolist())
    if declared > max(SMALL, MOST_EXPANSION * size):
        raise ValueError(
            f"its {size:,} bytes would become {declared:,} in memory, more than arrays of any use"
        )


def meta_of(path: Path) -> dict[str, object] | None:
    """Return the meta of a file without reading its arrays; None if dred did not write it."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_expansion(archive, path.stat().st_size)
            return _parse_meta(path, _read_array(archive, "meta"))
    except (DatasetError, *DAMAGE):
        return None


def _read_array(archive: zipfile.ZipFile, name: str) -> Array:
    """Return an array, whose bytes must be as many as its shape says."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as stream:
        _check_size(name, stream, member.file_size)
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def read_one(path: Path) -> Array:
    """Return the array of an `.npy` file, whose bytes must be as many as its shape says."""
    with path.open("rb") as stream:
        _check_size(path.stem, stream, path.stat().st_size)
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


def _check_size(
    name: str,
    stream: Any,  # noqa: ANN401  (the types of zipfile and NumPy do not know each other)
    size: int,
) -> None:
    """Refuse an array that says it is larger than what there is, before memory is taken."""
    shape, dtype = _read_header(stream)
    declared = math.prod(shape) * dtype.itemsize
    if declared > size:
        raise ValueError(
            f"the array {name!r} should have {declared:,} bytes for its shape {list(shape)}, and "
            f"the file has {size:,}"
        )


def _read_header(
    stream: Any,  # noqa: ANN401  (the types of zipfile and NumPy do not know each other)
) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(stream)
    return shape, dtype


def _check_members(path: Path, archive: zipfile.ZipFile, names: Sequence[str], what: str) -> None:
    """All arrays are there and none is a pickle; reads headers only."""
    members = archive.namelist()
    for member in members:
        with archive.open(member) as stream:
            _, dtype = _read_header(stream)
        if dtype.hasobject:
            raise DatasetError(
                f"{path}: the array {member.removesuffix('.npy')!r} is a pickle, which could run "
                "any program when opened, so it was not opened. Ask for the levels as plain "
                "arrays, text or PNG, and use `dred levels import`."
            )
    missing = [name for name in (*names, "meta") if f"{name}.npy" not in members]
    if missing and "floor.npy" in members:
        raise DatasetError(
            f"{path} holds layouts without start and goal, and a {what} is needed. Make levels of "
            f"them with `dred levels furnish {path} --out levels.npz`."
        )
    if missing:
        raise DatasetError(
            f"{path} has no {', '.join(missing)}, so it is not a {what} made by dred. "
            "To take levels from arrays of another kind, use `dred levels import`."
        )


def _parse_meta(path: Path, text: Array) -> dict[str, object]:
    try:
        meta: object = json.loads(str(text[()]))
    except (json.JSONDecodeError, IndexError):
        meta = None
    if not isinstance(meta, dict):
        raise DatasetError(f"{path}: its `meta` is not JSON. Make or copy the file again.")
    facts = cast("dict[str, object]", meta)
    if facts.get("format") != FORMAT:
        raise DatasetError(
            f"{path} has format {facts.get('format')!r}; this version of dred ({__version__}) "
            f"reads format {FORMAT}. Make the set again, or use the version that wrote it."
        )
    return facts
