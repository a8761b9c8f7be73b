"""A set of levels on its way to disk, in constant memory, that can be interrupted and continued.

It grows in a folder `NAME.partial` beside its final name: raw arrays, and a count of the levels in
them that is advanced last. The file is put together from them and renamed in one step.
"""

import json
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dred import progress
from dred.errors import DatasetError
from dred.files import OutputError, cannot_write, held, write_text
from dred.levels import storage
from dred.levels.level import ANY_HEADING
from dred.levels.placement import Made
from dred.levels.plan import Plan


class Growing:
    """A set on its way to disk: raw arrays in a folder, and how many levels of them count."""

    PARTS = ("tiles", "goal", "start", "fingerprint")

    def __init__(self, plan: Plan, path: Path) -> None:
        self.plan, self.path, self.done = plan, path, 0
        self.folder = folder_of(path)
        side = plan.config.inside
        self.shapes = {"tiles": (side, side), "goal": (2,), "start": (2,), "fingerprint": ()}
        self.dtypes = {**storage.DTYPES, "fingerprint": "<u8"}

    @classmethod
    @contextmanager
    def open(cls, plan: Plan, path: Path) -> Generator["Growing"]:
        """Begin a set, or go on with one that was interrupted, as the only one to do so.

        What was made is kept if the work is interrupted or the disk is full, and only then.
        """
        growing = cls(plan, path)
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
        whole = [self._size(name) // self._bytes_per_level(name) for name in self.PARTS]
        self.done = max(0, min(counted, self.plan.config.count, *whole))
        for name in self.PARTS:  # drop what was written after the last count
            with (self.folder / name).open("ab") as stream:
                stream.truncate(self.done * self._bytes_per_level(name))

    def _size(self, name: str) -> int:
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def _bytes_per_level(self, name: str) -> int:
        return int(np.prod(self.shapes[name], dtype=int)) * np.dtype(self.dtypes[name]).itemsize

    def append(self, made: Made) -> None:
        """Add some levels; they count once they are safe on disk and the new count is written."""
        try:
            for name in self.PARTS:
                array = np.ascontiguousarray(getattr(made, name), self.dtypes[name])
                with (self.folder / name).open("ab") as stream:
                    stream.write(array.tobytes())
                    stream.flush()
                    os.fsync(stream.fileno())
            self.done += len(made.tiles)
            write_text(self.folder / "done.json", str(self.done))
        except OSError as error:
            kept = f"What was made is kept in {self.folder}; the same command continues."
            raise OutputError(cannot_write(self.path, error, instead=kept)) from error

    def _read(self, name: str, levels: int = 8192) -> Iterator[NDArray[np.generic]]:
        size = self._bytes_per_level(name) * levels
        with (self.folder / name).open("rb") as stream:
            while content := stream.read(size):
                yield np.frombuffer(content, self.dtypes[name]).reshape(-1, *self.shapes[name])

    def fingerprints(self) -> Iterator[NDArray[np.uint64]]:
        """The fingerprints of the levels so far."""
        for piece in self._read("fingerprint"):
            yield piece.astype(np.uint64)

    def _repeat(self, values: Sequence[object], levels: int = 65_536) -> Iterator[NDArray[Any]]:
        """One value for all levels of each structure, in pieces."""
        for value, count in zip(values, self.plan.counts, strict=True):
            for first in range(0, count, levels):
                yield np.full(min(levels, count - first), value)

    def finish(self) -> str:
        """Put the file together under its final name and remove the folder; its digest."""
        count = self.plan.config.count
        columns = {
            name: storage.Column(
                np.dtype(self.dtypes[name]), (count, *self.shapes[name]), self._read(name)
            )
            for name in ("tiles", "goal", "start")
        }
        names = [structure.name for structure in self.plan.structures]
        text = np.array(names).dtype
        columns["heading"] = storage.Column(
            np.dtype(np.int8), (count,), self._repeat([np.int8(ANY_HEADING)] * len(names))
        )
        columns["structure"] = storage.Column(text, (count,), self._repeat(names))
        side = self.plan.config.inside
        facts = {"levels": count, "height": side, "width": side, "solvable": count}
        with progress.bar("writing", count, unit="levels") as advance:
            columns["tiles"] = columns["tiles"]._replace(
                pieces=counted(columns["tiles"].pieces, advance)
            )
            digest = storage.write_file(self.path, columns, {"made": self.plan.recipe, **facts})
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
