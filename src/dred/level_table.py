"""Levels as rows of a table: for tasks whose levels are a few numbers or arrays with names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dred.errors import DatasetError
from dred.storage import Array, Column, digest_of, read_arrays, write_file

STRUCTURE = "structure"


@dataclass(frozen=True, eq=False)
class LevelTable:
    """A set of levels: named columns, of which row i is level i."""

    columns: Mapping[str, Array]
    """Each an array whose first axis is that of levels."""
    structure: Any = None
    """What each level is called, or what made it: text, as long as the columns."""
    meta: Mapping[str, object] = field(default_factory=dict[str, object])
    """How the set was made: anything that JSON can hold."""

    def __post_init__(self) -> None:
        lengths = {name: len(np.atleast_1d(column)) for name, column in self.columns.items()}
        if len(set(lengths.values())) != 1 or not min(lengths.values(), default=0):
            raise DatasetError(
                f"The columns of a set must be equally long, and not empty; they are: {lengths}."
            )
        arrays = {name: np.asarray(column) for name, column in sorted(self.columns.items())}
        labels = ["level"] * len(self._first) if self.structure is None else self.structure
        object.__setattr__(self, "columns", arrays)
        object.__setattr__(self, STRUCTURE, np.array(np.asarray(labels).tolist(), np.str_))

    @property
    def _first(self) -> Array:
        return np.asarray(next(iter(self.columns.values())))

    @property
    def levels(self) -> dict[str, Array]:
        """Return all levels as one batch."""
        return dict(self.columns)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the levels."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        arrays = {**self.columns, STRUCTURE: self.structure}
        return digest_of(arrays, list(arrays))

    def __len__(self) -> int:
        return len(self._first)

    def __repr__(self) -> str:
        count = f"{len(self)} level{'s' if len(self) != 1 else ''}"
        return f"{count} of {', '.join(self.columns)}, digest {self.digest[:12]}"

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  (a level, or a set of some)
        """Return one level by its number, or a set of those that a slice, mask or list names."""
        if isinstance(index, int | np.integer):
            return {name: column[index] for name, column in self.columns.items()}
        some = {name: column[np.asarray(index)] for name, column in self.columns.items()}
        return LevelTable(some, self.structure[np.asarray(index)], self.meta)

    def save(self, path: str | Path) -> None:
        """Write the set to an `.npz` file that `TableFormat` reads."""
        arrays = {**self.columns, STRUCTURE: self.structure}
        columns = {name: Column(one.dtype, one.shape, [one]) for name, one in arrays.items()}
        write_file(Path(path), columns, self.meta)


class TableFormat:
    """How levels with these columns are stored."""

    def __init__(self, *names: str) -> None:
        self.names = tuple(sorted(names))

    @property
    def treedef(self) -> Any:  # noqa: ANN401  (a PyTreeDef)
        """Return the structure of a batch of levels."""
        return jax.tree.structure(dict.fromkeys(self.names, 0))

    def load(self, path: str | Path) -> LevelTable:
        """Read a set of levels, and check it."""
        names = (*self.names, STRUCTURE)
        arrays, meta = read_arrays(Path(path), names, what="set of levels", check=_same_length)
        return LevelTable({name: arrays[name] for name in self.names}, arrays[STRUCTURE], meta)

    def collect(
        self,
        levels: Mapping[str, Array],
        structure: Any,  # noqa: ANN401  (text)
        meta: Mapping[str, object],
    ) -> LevelTable:
        """Return a batch of levels as a set, each with a word about it."""
        return LevelTable(levels, structure, meta)


def _same_length(path: Path, arrays: Mapping[str, Array]) -> None:
    lengths = {name: array.shape[:1] for name, array in arrays.items()}
    if len(set(lengths.values())) != 1 or lengths[STRUCTURE] in ((), (0,)):
        raise DatasetError(f"{path}: its columns must be equally long; they are {lengths}.")
