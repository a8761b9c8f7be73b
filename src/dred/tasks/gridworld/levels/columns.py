"""Levels on disk: `tiles`, `goal`, `start`, `heading`, `structure` and `meta`, in one `.npz` file.

Files of layouts are written and read in the same way, with arrays of their own.
"""

from collections.abc import Mapping
from pathlib import Path

from dred.errors import DatasetError
from dred.storage import Array, read_arrays

DTYPES: Mapping[str, str] = {"tiles": "|u1", "goal": "<i4", "start": "<i4", "heading": "|i1"}
IMPORTABLE = (".txt", ".png", ".json", ".jsonl", ".npy")  # what `dred levels import` takes
ARRAYS = (*DTYPES, "structure")


def read_file(path: Path) -> tuple[dict[str, Array], dict[str, object]]:
    """The arrays and the meta of a file of levels, after every check; never runs a pickle."""
    if path.exists() and path.suffix.lower() in IMPORTABLE:
        target = path.with_suffix(".npz")
        raise DatasetError(
            f"{path} is not a set of levels as dred stores them (.npz). Turn it into one with "
            f"`dred levels import {path} --out {target}`, and give {target}."
        )
    return read_arrays(path, ARRAYS, what="set of levels", check=_check_shapes)


def _check_shapes(path: Path, arrays: Mapping[str, Array]) -> None:
    tiles = arrays["tiles"]
    expected = {
        "tiles": (len(tiles) if tiles.ndim else 0, *tiles.shape[1:3]),
        "goal": (len(tiles) if tiles.ndim else 0, 2),
        "start": (len(tiles) if tiles.ndim else 0, 2),
        "heading": (len(tiles) if tiles.ndim else 0,),
        "structure": (len(tiles) if tiles.ndim else 0,),
    }
    for name, shape in expected.items():
        array = arrays[name]
        right_type = array.dtype.kind == "U" if name == "structure" else array.dtype == DTYPES[name]
        if tiles.ndim != 3 or array.shape != shape or not right_type:
            raise DatasetError(
                f"{path}: the array {name!r} is {array.dtype.name} {list(array.shape)}. Expected "
                "tiles uint8 [n, height, width], goal and start int32 [n, 2], heading int8 [n] and "
                "structure text [n]. Save levels with dred.levels.save, or import them."
            )
    if not len(tiles):
        raise DatasetError(f"{path} holds no level. Make or import a set with at least one.")
