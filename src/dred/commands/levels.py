"""`dred levels make | furnish | info | check`, and the verbs of the modules beside."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.import_levels import Import
from dred.commands.level_sets import Concatenate, Filter, Split
from dred.commands.show import Show, check_at_least
from dred.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from dred.tasks.gridworld.levels.growing import Contents


@dataclass(frozen=True)
class Make:
    """Make a set of levels by wave function collapse.

    PRESET is one of the paper's five sets (cave-escape-train, cave-escape-test,
    cave-escape-edge-moss, cave-escape-edge-lava, cave-escape-hardcore), cave-escape-validation to
    choose settings on, or a TOML file with your own settings. The same seed gives the same levels,
    whatever the number of workers. If the work is interrupted, the same command continues it.
    The small levels of docs/overfitting.md are drawn, not made: cmdp-example,
    cmdp-example-train and cmdp-example-augmented. Sets of other tasks are named TASK/SET:
    control/pendulum/train, …/test, …/edge, …/hard.

    For example:
      dred levels make cave-escape-train --out train.npz
      dred levels make cave-escape-train --out mine.npz --structures maze_wall castle.txt cave.png
      dred levels make control/pendulum/train --out devices.npz
      dred levels make cave-escape-train --count 1500000 --layouts-only --out layouts.npz
    """

    preset: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET")]
    """Name of a level set, or a TOML file."""
    out: Path
    """Where to write the levels (.npz)."""
    count: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Levels in all, instead of the preset's number."""
    size: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Side of a level with its surrounding wall, instead of the preset's (15 is 13×13 inside)."""
    structures: tuple[str, ...] = ()
    """Structures or pattern files (.txt, .png) to use instead of the preset's."""
    layouts_only: bool = False
    """Write layouts, floor and wall at a bit a cell, for `dred levels furnish`."""
    seed: int = 0
    """Which levels: another seed gives others."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Threads; all cores if not given."""

    def run(self) -> None:
        """Make the set and say what it is."""
        from dred.tasks.gridworld.levels.build import make_file
        from dred.tasks.gridworld.levels.example import EXAMPLES
        from dred.tasks.gridworld.levels.layouts import make_layouts
        from dred.tasks.gridworld.levels.plan import make_plan

        if self.preset in EXAMPLES:
            self._example()
            return
        if "/" in self.preset and not self.preset.endswith(".toml"):
            self._of_task(*self.preset.rsplit("/", 1))
            return
        plan = make_plan(
            self.preset,
            seed=self.seed,
            count=self.count,
            size=self.size,
            structures=self.structures,
        )
        write = make_layouts if self.layouts_only else make_file
        with kept_if_interrupted(self.out):
            digest = write(plan, self.out, workers=self.workers)
        print_made(plan, self.out, digest, what="layouts" if self.layouts_only else "levels")

    def _of_task(self, name: str, which: str) -> None:
        """Make a set of another task, which is small."""
        from dred.files import check_writable
        from dred.registry import find_task

        task = find_task(name)
        if task.make_levels is None:
            raise ConfigError(f"The task {name} makes no levels: give it a file of your own.")
        if self.layouts_only or self.structures or self.size is not None:
            raise ConfigError(
                f"--size, --structures and --layouts-only are for the gridworld, not for {name}."
            )
        check_writable(self.out)
        made = task.make_levels(which, self.count, self.seed)
        made.save(self.out)
        print(f"{self.out}: {len(made)} levels of {name}, digest {made.digest[:12]}")

    def _example(self) -> None:
        from dred.files import check_writable
        from dred.tasks.gridworld.levels.example import EXAMPLES

        if self.layouts_only or self.structures or (self.count, self.size) != (None, None):
            raise ConfigError(
                f"The levels of {self.preset} are drawn as they are: leave out --count, --size, "
                "--structures and --layouts-only."
            )
        check_writable(self.out)
        dataset = EXAMPLES[self.preset]()
        dataset.save(self.out)
        print(f"{self.out}: {dataset}")


@contextmanager
def kept_if_interrupted(out: Path) -> Generator[None]:
    """Say where an unfinished set is kept if it is interrupted."""
    from dred.tasks.gridworld.levels.growing import folder_of

    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"What was made is kept in {folder_of(out)}; the same command continues. "
            f"To give it up, delete that folder."
        ) from None


def print_made(plan: "Contents", out: Path, digest: str, *, what: str = "levels") -> None:
    """Say what a new file holds."""
    from dred.tasks.gridworld.levels.level import size_words

    structures = sum(n > 0 for n in plan.counts)
    print(
        f"{out}: {sum(plan.counts)} {what} of {size_words(plan.shape)}, from "
        f"{structures} structure{'s' if structures != 1 else ''}, digest {digest[:12]}"
    )


@dataclass(frozen=True)
class Furnish:
    """Make levels of layouts: keep the largest part, then place goal, moss, lava and start.

    LAYOUTS is a file of `dred levels make … --layouts-only`. There is one level in each layout
    unless --count says otherwise: with more, layouts serve several times; with fewer, the first of
    each structure serve. Furnished with the seed of the layouts, which is taken if none is given,
    they become the levels that `dred levels make` makes at once.

    For example:
      dred levels furnish layouts.npz --out levels.npz
      dred levels furnish layouts.npz --count 224 --preset cave-escape-edge-lava --out lava.npz
    """

    layouts: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="LAYOUTS")]
    """A file of layouts (.npz)."""
    out: Path
    """Where to write the levels (.npz)."""
    count: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Levels in all, equally many of each structure, instead of one for each layout."""
    preset: Annotated[str | None, tyro.conf.arg(metavar="PRESET")] = None
    """Furnish as this level set or TOML file says, instead of the one the layouts were made for."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Which levels; the seed of the layouts if not given."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Threads; all cores if not given."""

    def run(self) -> None:
        """Furnish the layouts and say what came of it."""
        from dred.files import check_writable
        from dred.tasks.gridworld.levels.layouts import furnish_file, plan_furnishing

        check_writable(self.out, inputs=[self.layouts])
        plan = plan_furnishing(self.layouts, count=self.count, seed=self.seed, preset=self.preset)
        with kept_if_interrupted(self.out):
            digest = furnish_file(plan, self.out, workers=self.workers)
        print_made(plan, self.out, digest)


@dataclass(frozen=True)
class Info:
    """Print what the levels of a set are like, structure by structure, and size by size.

    For example:
      dred levels info train.npz --against test.npz
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A set of levels (.npz)."""
    against: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Another set: also print how far apart the two are (Jensen–Shannon)."""
    sample: int = 256
    """Levels per structure for the resistance, which is slow to compute."""
    seed: int = 0
    """Which levels are in the sample."""

    def run(self) -> None:
        """Print the tables."""
        from dred.tasks.gridworld.levels import load, shift_between
        from dred.tasks.gridworld.levels.dataset import repeated_levels
        from dred.tasks.gridworld.levels.sizes import sizes_in_words
        from dred.tasks.gridworld.levels.tables import print_summaries

        check_at_least(1, sample=self.sample)
        dataset = load(self.file)
        other = load(self.against) if self.against else None
        print_summaries(dataset, sample=self.sample, seed=self.seed)
        print(f"levels    {len(dataset)} of {sizes_in_words(dataset.sizes)}")
        print(f"different {len(dataset) - int(repeated_levels(dataset).sum())}")
        print(f"digest    {dataset.digest}")
        if other is not None:
            shift = shift_between(dataset, other)
            print(
                f"shift     to {self.against}: Jensen–Shannon distance {shift.distance:.4f}, "
                f"divergence {shift.divergence:.4f} bits"
            )


@dataclass(frozen=True)
class Check:
    """Check every level of a set: proper, solvable, different. Fails if one is not.

    For example:
      dred levels check train.npz
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A set of levels (.npz)."""

    def run(self) -> None:
        """Check, and print a line per rule."""
        from dred.tasks.gridworld.levels import load
        from dred.tasks.gridworld.levels.dataset import repeated_levels, require_solvable

        dataset = load(self.file)  # stops at files and levels that are not proper
        require_solvable(dataset, where=str(self.file))
        repeated = repeated_levels(dataset)
        if repeated.any():
            raise DatasetError(
                f"{self.file}, level {int(repeated.argmax())}: it equals an earlier level (so in "
                f"{int(repeated.sum())} of {len(dataset)} levels). Make or import the set again."
            )
        print(f"{self.file}: {len(dataset)} levels, all proper, all solvable, all different")
        print(f"digest {dataset.digest} matches")


VERBS = {
    "make": Make,
    "furnish": Furnish,
    "info": Info,
    "check": Check,
    "show": Show,
    "import": Import,
    "split": Split,
    "filter": Filter,
    "concatenate": Concatenate,
}
