"""Sets of levels: load, save, look at, take apart and put together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast, overload

import numpy as np
from jaxtyping import Bool, Int, Int8, Int32, UInt8

from dred import storage
from dred.config import check_seed
from dred.errors import DatasetError
from dred.tasks.gridworld.levels.columns import ARRAYS, DTYPES, read_file
from dred.tasks.gridworld.levels.level import Level, cropped, faults
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.levels.sizes import (
    Shape,
    counted_sizes,
    largest,
    padded,
    sizes_in_words,
)
from dred.tasks.gridworld.levels.text import to_text


@dataclass(frozen=True, eq=False)
class LevelDataset:
    """A set of levels. Immutable: every change gives a new set.

    An integer picks one `Level`; a slice, a mask or a list of positions picks a smaller set.
    Levels may differ in size: `tiles` is then as large as the largest, with padding beside smaller
    ones, and no larger, so that equal sets have equal digests. A level picked has its own size.
    """

    tiles: UInt8[np.ndarray, "level height width"]
    goal: Int32[np.ndarray, "level 2"]
    start: Int32[np.ndarray, "level 2"]
    heading: Int8[np.ndarray, " level"]
    structure: np.ndarray  # of text: what each level was made from
    meta: Mapping[str, object] = field(default_factory=dict[str, object])
    """How the set was made: anything that JSON can hold."""

    def __post_init__(self) -> None:
        arrays = self.arrays
        if len({len(array) for array in arrays.values()}) != 1:
            lengths = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
            raise DatasetError(f"The arrays of a set must be equally long; they are: {lengths}.")
        # Stored types, text no wider than it need be, so that equal sets have equal digests; and
        # read-only views, so that a set stays what its digest says.
        for name, array in arrays.items():
            stored = np.asarray(array, DTYPES.get(name, np.str_))
            if name == "structure":
                stored = np.array(stored.tolist(), np.str_)
            if name == "tiles" and stored.ndim == 3:
                stored = cropped(Level(stored, self.goal, self.start, self.heading)).tiles
            view = stored.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays as they are stored, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def levels(self) -> Level:
        """All levels as one batch."""
        return Level(self.tiles, self.goal, self.start, self.heading)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the largest levels, without the surrounding wall."""
        return self.tiles.shape[1], self.tiles.shape[2]

    @property
    def sizes(self) -> list[tuple[Shape, int]]:
        """The sizes of levels, smallest first, and how many levels have each."""
        return counted_sizes(self.levels)

    @property
    def digest(self) -> str:
        """SHA-256 of the levels: two sets are the same if and only if their digests are."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return storage.digest_of(self.arrays, ARRAYS)

    @property
    def structures(self) -> list[str]:
        """The structures in the set, in the order in which they first occur."""
        names, first = np.unique(self.structure, return_index=True)
        return [str(name) for name in names[np.argsort(first)]]

    def __len__(self) -> int:
        return len(self.tiles)

    def __repr__(self) -> str:
        kinds = len(self.structures)
        return (
            f"{len(self)} level{'s' if len(self) != 1 else ''} of {sizes_in_words(self.sizes)}, "
            f"from {kinds} structure{'s' if kinds != 1 else ''}, digest {self.digest[:12]}"
        )

    def __iter__(self) -> Iterator[Level]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer) -> Level: ...
    @overload
    def __getitem__(
        self, index: slice | Sequence[int] | Bool[np.ndarray, " level"] | Int[np.ndarray, " few"]
    ) -> "LevelDataset": ...
    def __getitem__(
        self,
        index: int
        | np.integer
        | slice
        | Sequence[int]
        | Bool[np.ndarray, " level"]
        | Int[np.ndarray, " few"],
    ) -> "Level | LevelDataset":
        if isinstance(index, bool | np.bool_):
            raise DatasetError("True and False pick no level: give a number, a slice or a mask.")
        if isinstance(index, int | np.integer):
            if not -len(self) <= index < len(self):
                raise IndexError(f"There is no level {index} in a set of {len(self)}.")
            return cropped(Level(*(np.asarray(part[index]) for part in self.levels)))
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.dtype == np.bool_ and index.shape != (len(self),):
                raise DatasetError(
                    f"A mask for this set needs {len(self)} entries; this has {list(index.shape)}."
                )
            if index.ndim != 1:
                raise DatasetError("Positions must be a plain list of whole numbers.")
            index = index.astype(np.int64) if index.size == 0 else index
        chosen = {name: array[index] for name, array in self.arrays.items()}
        return LevelDataset(**chosen, meta=self._made("selection"))

    def _made(self, how: str) -> dict[str, object]:
        return {"made": {"by": how, "from": [self.digest]}}

    def split(
        self, first: float | int = 0.9, *, seed: int = 0
    ) -> tuple["LevelDataset", "LevelDataset"]:
        """Two sets without a common level, each with the same mix of structures, at random.

        `first` is the size of the first: a share between 0 and 1, or a number of levels.
        """
        if isinstance(first, float | np.floating):
            wanted = round(float(first) * len(self)) if 0 < first < 1 else 0
        else:
            wanted = int(first)
        if not 0 < wanted < len(self):
            raise DatasetError(
                f"split({first}) would put {wanted} of {len(self)} levels into the first set. Both "
                "sets need at least one: give a share between 0 and 1 or a number of levels."
            )
        shuffled = np.random.default_rng(check_seed(seed)).permutation(len(self))
        # Spread each structure evenly over [0, 1): any prefix then has the mix of the whole.
        place = np.empty(len(self))
        for name in self.structures:
            members = shuffled[self.structure[shuffled] == name]
            place[members] = (np.arange(len(members)) + 0.5) / len(members)
        order = shuffled[np.argsort(place[shuffled], kind="stable")]
        return self[np.sort(order[:wanted])], self[np.sort(order[wanted:])]

    def filter(self, keep: Callable[[Level], bool] | Bool[np.ndarray, " level"]) -> "LevelDataset":
        """The levels to keep: where a mask is true, or where a function of the level is."""
        if callable(keep):
            return self[np.array([bool(keep(level)) for level in self], np.bool_)]
        return self[keep]

    def save(self, path: str | Path) -> None:
        """Write the set to an `.npz` file, whole or not at all."""
        if not len(self):
            raise DatasetError(f"{path}: a set without levels is not written. Keep at least one.")
        require_valid(self, where=str(path))
        columns = {
            name: storage.Column(array.dtype, array.shape, [array])
            for name, array in self.arrays.items()
        }
        storage.write_file(Path(path), columns, {**self.meta, **facts_of(len(self), self.levels)})


def facts_of(count: int, levels: Level) -> dict[str, object]:
    """What the meta of every file says of its levels."""
    sizes = counted_sizes(levels)
    several = {"sizes": [[*shape, number] for shape, number in sizes]} if len(sizes) > 1 else {}
    return {
        "levels": count,
        "height": levels.tiles.shape[1],
        "width": levels.tiles.shape[2],
        **several,
        "solvable": int(solvable(levels).sum()),
    }


def load(path: str | Path) -> LevelDataset:
    """Read a set of levels. Nothing is trusted: types, digest and levels are checked."""
    path = Path(path)
    arrays, meta = read_file(path)
    dataset = LevelDataset(**cast("dict[str, np.ndarray]", arrays), meta=meta)
    require_valid(dataset, where=str(path))
    return dataset


def save(dataset: LevelDataset, path: str | Path) -> None:
    """Write a set of levels to an `.npz` file, whole or not at all."""
    dataset.save(path)


def require_valid(dataset: LevelDataset, *, where: str) -> None:
    """Stop at the first level that is not a proper one, and say why."""
    for reason, broken in faults(dataset.levels).items():
        if broken.any():
            index = int(broken.argmax())
            raise DatasetError(
                f"{where}, level {index}: {reason} (so in {int(broken.sum())} of {len(dataset)} "
                f"levels). The goal is at {dataset.goal[index].tolist()} and the start at "
                f"{dataset.start[index].tolist()} (row, column, from 0). "
                "Repair or drop such levels."
            )


def require_solvable(dataset: LevelDataset, *, where: str) -> None:
    """Stop at the first level whose goal cannot be reached, and show it."""
    unsolved = ~solvable(dataset.levels)
    if unsolved.any():
        index = int(unsolved.argmax())
        row, column = dataset.goal[index]
        raise DatasetError(
            f"{where}, level {index}: the goal at row {row}, column {column} cannot be reached "
            f"from the start (so in {int(unsolved.sum())} of {len(dataset)} levels).\n"
            f"{to_text(dataset[index])}\n"
            "Repair such levels, or drop them with dataset.filter(dred.levels.is_solvable)."
        )


def from_levels(
    levels: Iterable[Level],
    *,
    structure: str | Sequence[str] = "",
    meta: Mapping[str, object] | None = None,
) -> LevelDataset:
    """A set of the given levels, which must be proper; they may differ in size."""
    several = list(levels)
    if not several:
        raise DatasetError("A set needs at least one level, and none was given.")
    shape = largest(level.tiles.shape for level in several)
    several = [padded(level, shape) for level in several]
    names = [structure] * len(several) if isinstance(structure, str) else list(structure)
    dataset = LevelDataset(
        tiles=np.stack([level.tiles for level in several]).astype(np.uint8),
        goal=np.stack([level.goal for level in several]).astype(np.int32),
        start=np.stack([level.start for level in several]).astype(np.int32),
        heading=np.array([int(level.heading) for level in several], np.int8),
        structure=np.array(names, np.str_),
        meta=meta or {},
    )
    require_valid(dataset, where="These levels")
    return dataset


def concatenate(datasets: Sequence[LevelDataset]) -> LevelDataset:
    """One set with the levels of all, in order. They must have no level in common."""
    if not datasets:
        raise DatasetError("There is nothing to concatenate: give at least one set of levels.")
    shape = largest(dataset.shape for dataset in datasets)
    parts = [{**one.arrays, "tiles": padded(one.levels, shape).tiles} for one in datasets]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in ARRAYS}
    made = {"by": "concatenate", "from": [dataset.digest for dataset in datasets]}
    dataset = LevelDataset(**joined, meta={"made": made})
    repeated = repeated_levels(dataset)
    if repeated.any():
        raise DatasetError(
            f"{int(repeated.sum())} levels occur more than once in these sets (the first is number "
            f"{int(repeated.argmax())} of the result). Leave out the set that has them too, or "
            "make one of another seed."
        )
    return dataset


def repeated_levels(dataset: LevelDataset) -> Bool[np.ndarray, " level"]:
    """Levels that equal an earlier one in the set (the heading does not count)."""
    count = len(dataset)
    rows = np.concatenate(
        [
            dataset.tiles.reshape(count, -1),
            np.ascontiguousarray(dataset.goal).view(np.uint8).reshape(count, -1),
            np.ascontiguousarray(dataset.start).view(np.uint8).reshape(count, -1),
        ],
        axis=1,
    )
    whole = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()
    _, first = np.unique(whole, return_index=True)
    repeated = np.ones(count, np.bool_)
    repeated[first] = False
    return repeated
