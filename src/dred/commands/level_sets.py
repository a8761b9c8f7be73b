"""`dred levels split | filter | concatenate`: sets of levels from sets of levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool

    from dred.tasks.gridworld.levels import LevelDataset

File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class Split:
    """Cut a set of levels in two without a common level, each with the same mix of structures.

    For example:
      dred levels split all.npz --share 0.8 --out train.npz test.npz
    """

    file: File
    """A set of levels (.npz)."""
    out: tuple[Path, Path]
    """Where to write the two sets (.npz)."""
    share: float = 0.8
    """Share of the levels in the first set."""
    seed: int = 0
    """Which levels go where."""

    def run(self) -> None:
        """Split, and write both sets."""
        from dred.levels import load

        if not 0.0 < self.share < 1.0:
            raise ConfigError(f"--share (={self.share}) must lie between 0 and 1.")
        first, second = self.out
        if first.resolve() == second.resolve():
            raise ConfigError(f"--out names {first} twice; give two files.")
        check_places(self.out, [self.file])
        parts = load(self.file).split(self.share, seed=self.seed)
        for path, part in zip(self.out, parts, strict=True):
            write(part, path)


@dataclass(frozen=True)
class Filter:
    """Keep some levels of a set: those that pass all that is asked for.

    For example:
      dred levels filter all.npz --solvable --out solvable.npz
      dred levels filter all.npz --structures maze_wall --shortest 10 --out mazes.npz
      dred levels filter all.npz --sizes 15 --out small.npz
    """

    file: File
    """A set of levels (.npz)."""
    out: Path
    """Where to write the levels (.npz)."""
    solvable: bool = False
    """Only levels whose goal can be reached."""
    different: bool = False
    """Of equal levels only the first."""
    structures: tuple[str, ...] = ()
    """Only levels of these structures."""
    sizes: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SIZE [SIZE …]")] = ()
    """Only levels of these sizes, with the wall around: 15, or 15x21 for height and width."""
    shortest: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Only levels with at least so many steps from start to goal."""
    longest: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Only levels with at most so many steps from start to goal."""

    def run(self) -> None:
        """Filter, write, and say how many are left."""
        import numpy as np

        from dred.levels import level_metrics, load
        from dred.tasks.gridworld.levels.dataset import repeated_levels

        check_places([self.out], [self.file])
        dataset = load(self.file)
        keep = np.ones(len(dataset), np.bool_)
        if self.structures:
            self._check_structures(dataset)
            keep &= np.isin(dataset.structure, self.structures)
        if self.sizes:
            keep &= of_sizes(dataset, self.sizes)
        path = level_metrics(dataset.levels).path  # NaN where there is no way, which passes nothing
        if self.solvable:
            keep &= np.isfinite(path)
        if self.shortest is not None:
            keep &= path >= self.shortest
        if self.longest is not None:
            keep &= path <= self.longest
        if self.different:
            keep &= ~repeated_levels(dataset)
        if not keep.any():
            raise DatasetError(
                f"No level of {self.file} passes. Ask for less; nothing was written."
            )
        write(dataset.filter(keep), self.out)

    def _check_structures(self, dataset: "LevelDataset") -> None:
        from dred.errors import lookup

        known = dict.fromkeys(dataset.structures)
        for name in self.structures:
            lookup(known, name, what=f"structure in {self.file}")


@dataclass(frozen=True)
class Concatenate:
    """Put sets of levels together, also of different sizes; they may have no level in common.

    For example:
      dred levels concatenate mazes.npz rooms.npz --out both.npz
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """Sets of levels (.npz)."""
    out: Path
    """Where to write the levels (.npz)."""

    def run(self) -> None:
        """Concatenate and write."""
        from dred.levels import concatenate, load

        check_places([self.out], self.files)
        write(concatenate([load(file) for file in self.files]), self.out)


def of_sizes(dataset: "LevelDataset", wanted: Sequence[str]) -> "Bool[np.ndarray, '*level']":
    """Return which levels have one of these sizes, said with the wall around."""
    import numpy as np

    from dred.tasks.gridworld.levels.sizes import sizes_of

    known = {f"{height + 2}x{width + 2}": (height, width) for (height, width), _ in dataset.sizes}
    keep = np.zeros(len(dataset), np.bool_)
    for word in wanted:
        size = known.get(word if "x" in word else f"{word}x{word}")
        if size is None:
            there = ", ".join(known)
            raise ConfigError(f"No level is of the size {word}. Sizes, with the wall: {there}.")
        keep |= (sizes_of(dataset.levels) == size).all(axis=1)
    return keep


def check_places(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Stop before any work if something could not be written."""
    from dred.files import check_writable

    for path in outputs:
        check_writable(path, inputs=inputs)


def write(dataset: "LevelDataset", path: Path) -> None:
    """Write a set, and say what it is."""
    dataset.save(path)
    print(f"{path}: {len(dataset)} levels, digest {dataset.digest[:12]}")
