"""A set of levels on its way to disk, in constant memory, that can be interrupted and continued.

It grows in a folder `NAME.partial` beside its final name: raw arrays, and a count of the levels in
them that is advanced last. The file is put together from them and renamed in one step. Sets of
layouts grow in the same way, with other arrays.
"""

import json
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dred import progress, storage
from dred.errors import DatasetError
from dred.files import OutputError, cannot_write, held, write_text
from dred.tasks.gridworld.levels.columns import DTYPES
from dred.tasks.gridworld.levels.level import ANY_HEADING

PIECE = 1024  # levels read back or written at a time


@runtime_checkable
class Contents(Protocol):
    """What a set will be: how many of each structure, how large, and how it is made."""

    @property
    def title(self) -> str:
        """What the set is called."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of a level, without the surrounding wall."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The names of the structures."""
        ...

    @property
    def counts(self) -> Sequence[int]:
        """How many levels each structure gives."""
        ...

    @property
    def recipe(self) -> Mapping[str, object]:
        """All that the levels depend on, for JSON."""
        ...


@runtime_checkable
class Batch(Protocol):
    """Some levels or layouts, as arrays with names, of which each has a fingerprint."""

    @property
    def fingerprint(self) -> NDArray[np.uint64]:
        """A number that depends on everything in a level."""
        ...


class Records(NamedTuple):
    """What a file keeps of each of its levels, and what its meta says of them all."""

    arrays: dict[str, tuple[str, tuple[int, ...]]]  # of one level, the type and shape by name
    same: dict[str, np.generic]  # what is the same in all levels
    facts: dict[str, object]


def level_records(plan: Contents) -> Records:
    """What a file of levels keeps."""
    count, (height, width) = sum(plan.counts), plan.shape
    shapes = {"tiles": plan.shape, "goal": (2,), "start": (2,)}
    return Records(
        {name: (DTYPES[name], shape) for name, shape in shapes.items()},
        {"heading": np.int8(ANY_HEADING)},
        {"levels": count, "height": height, "width": width, "solvable": count},
    )


class Growing:
    """A set on its way to disk: raw arrays in a folder, and how many levels of them count."""

    def __init__(self, plan: Contents, path: Path, records: Records) -> None:
        self.plan, self.path, self.records, self.done = plan, path, records, 0
        self.count = sum(plan.counts)
        self.folder = folder_of(path)
        self.arrays = {**records.arrays, "fingerprint": ("<u8", ())}

    @classmethod
    @contextmanager
    def open(
        cls, plan: Contents, path: Path, records: Records | None = None
    ) -> Generator["Growing"]:
        """Begin a set, or go on with one that was interrupted, as the only one to do so.

        What was made is kept if the work is interrupted or the disk is full, and only then. It is
        a set of levels unless other records are given.
        """
        growing = cls(plan, path, records or level_records(plan))
        keep = (KeyboardInterrupt, OSError, OutputError)
        try:
            growing.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(cannot_write(growing.folder, error)) from error
        busy = DatasetError(
            f"Another command is making {path} right now. Wait for it, or choose another name with "
            "--out."
        )
        with held(growing.folder, busy=busy):
            growing.resume()
            try:
                yield growing
            except BaseException as error:
                if not growing.done or not isinstance(error, keep):
                    shutil.rmtree(growing.folder, ignore_errors=True)
                raise

    def resume(self) -> None:
        """Take up what an earlier run has left, as far as it is whole."""
        recipe = json.dumps(self.plan.recipe, sort_keys=True)
        noted = self.folder / "recipe.json"
        if noted.exists() and noted.read_text(encoding="utf-8") != recipe:
            raise DatasetError(
                f"{self.folder} holds an unfinished set with other settings or another seed. Give "
                "the command that began it to finish that one, or delete the folder."
            )
        write_text(noted, recipe)
        try:
            counted = int((self.folder / "done.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            counted = 0
        whole = [self._size(name) // self._bytes_per_level(name) for name in self.arrays]
        self.done = max(0, min(counted, self.count, *whole))
        for name in self.arrays:  # drop what was written after the last count
            with (self.folder / name).open("ab") as stream:
                stream.truncate(self.done * self._bytes_per_level(name))

    def _size(self, name: str) -> int:
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def _bytes_per_level(self, name: str) -> int:
        dtype, shape = self.arrays[name]
        return int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize

    def append(self, made: Batch) -> None:
        """Add some levels; they count once they are safe on disk and the new count is written."""
        try:
            for name, (dtype, _) in self.arrays.items():
                array = np.ascontiguousarray(getattr(made, name), dtype)
                with (self.folder / name).open("ab") as stream:
                    stream.write(array.tobytes())
                    stream.flush()
                    os.fsync(stream.fileno())
            self.done += len(made.fingerprint)
            write_text(self.folder / "done.json", str(self.done))
        except OSError as error:
            kept = f"What was made is kept in {self.folder}; the same command continues."
            raise OutputError(cannot_write(self.path, error, instead=kept)) from error

    def _read(self, name: str, levels: int = PIECE) -> Iterator[NDArray[np.generic]]:
        size, (dtype, shape) = self._bytes_per_level(name) * levels, self.arrays[name]
        with (self.folder / name).open("rb") as stream:
            while content := stream.read(size):
                yield np.frombuffer(content, dtype).reshape(-1, *shape)

    def fingerprints(self) -> Iterator[NDArray[np.uint64]]:
        """The fingerprints of the levels so far."""
        for piece in self._read("fingerprint"):
            yield piece.astype(np.uint64)

    def _repeat(self, values: Sequence[object], levels: int = PIECE) -> Iterator[NDArray[Any]]:
        """One value for all levels of each structure, in pieces."""
        for value, count in zip(values, self.plan.counts, strict=True):
            for first in range(0, count, levels):
                yield np.full(min(levels, count - first), value)

    def finish(self) -> str:
        """Put the file together under its final name and remove the folder; its digest."""
        names, first = self.plan.names, next(iter(self.records.arrays))
        with progress.bar("writing", self.count, unit="levels") as advance:
            columns = {
                name: storage.Column(
                    np.dtype(dtype),
                    (self.count, *shape),
                    counted(self._read(name), advance) if name == first else self._read(name),
                )
                for name, (dtype, shape) in self.records.arrays.items()
            }
            for name, value in self.records.same.items():
                columns[name] = storage.Column(
                    value.dtype, (self.count,), self._repeat([value] * len(names))
                )
            columns["structure"] = storage.Column(
                np.array(names).dtype, (self.count,), self._repeat(names)
            )
            meta = {"made": self.plan.recipe, **self.records.facts}
            digest = storage.write_file(self.path, columns, meta)
        shutil.rmtree(self.folder)
        return digest


def counted(pieces: Iterable[NDArray[Any]], advance: progress.Advance) -> Iterator[NDArray[Any]]:
    """The same pieces, telling a progress bar of each."""
    for piece in pieces:
        yield piece
        advance(len(piece))


def folder_of(path: Path) -> Path:
    """Where a set grows before it gets its final name."""
    return path.with_name(f"{path.name}.partial")
