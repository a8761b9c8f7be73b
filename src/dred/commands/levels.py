"""`dred levels make | furnish | info | check | show | import`."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dred.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from dred.levels import Level, LevelDataset
    from dred.levels.growing import Contents


def check_at_least(least: int, **options: int) -> None:
    """Stop at an option that is too small."""
    for name, value in options.items():
        if value < least:
            raise ConfigError(f"--{name.replace('_', '-')} (={value}) must be at least {least}.")


@dataclass(frozen=True)
class Make:
    """Make a set of levels by wave function collapse.

    PRESET is one of the paper's five sets (cave-escape-train, cave-escape-test,
    cave-escape-edge-moss, cave-escape-edge-lava, cave-escape-hardcore), cave-escape-validation to
    choose settings on, or a TOML file with your own settings. The same seed gives the same levels,
    whatever the number of workers. If the work is interrupted, the same command continues it.
    The small levels of docs/overfitting.md are drawn, not made: cmdp-example,
    cmdp-example-train and cmdp-example-augmented.

    For example:
      dred levels make cave-escape-train --out train.npz
      dred levels make cave-escape-train --out mine.npz --structures maze_wall castle.txt cave.png
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
        from dred.levels.build import make_file
        from dred.levels.example import EXAMPLES
        from dred.levels.layouts import make_layouts
        from dred.levels.plan import make_plan

        if self.preset in EXAMPLES:
            self._example()
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

    def _example(self) -> None:
        from dred.files import check_writable
        from dred.levels.example import EXAMPLES

        if self.layouts_only or self.structures or (self.count, self.size) != (None, None):
            raise ConfigError(
                f"The levels of {self.preset} are drawn as they are: leave out --count, --size, "
                "--structures and --layouts-only."
            )
        check_writable(self.out)
        dataset = EXAMPLES[self.preset]()
        dataset.save(self.out)
        height, width = (side + 2 for side in dataset.shape)
        print(
            f"{self.out}: {len(dataset)} levels of {height}×{width}, digest {dataset.digest[:12]}"
        )


@contextmanager
def kept_if_interrupted(out: Path) -> Generator[None]:
    """Say where an unfinished set is kept if it is interrupted."""
    from dred.levels.growing import folder_of

    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"What was made is kept in {folder_of(out)}; the same command continues. "
            f"To give it up, delete that folder."
        ) from None


def print_made(plan: "Contents", out: Path, digest: str, *, what: str = "levels") -> None:
    """Say what a new file holds."""
    height, width = (side + 2 for side in plan.shape)
    print(
        f"{out}: {sum(plan.counts)} {what} of {height}×{width} from "
        f"{sum(n > 0 for n in plan.counts)} structures, digest {digest[:12]}"
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
        from dred.levels.layouts import furnish_file, plan_furnishing

        check_writable(self.out, inputs=[self.layouts])
        plan = plan_furnishing(self.layouts, count=self.count, seed=self.seed, preset=self.preset)
        with kept_if_interrupted(self.out):
            digest = furnish_file(plan, self.out, workers=self.workers)
        print_made(plan, self.out, digest)


@dataclass(frozen=True)
class Info:
    """Print what the levels of a set are like, structure by structure.

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
        from dred.levels import load, shift_between
        from dred.levels.dataset import repeated_levels
        from dred.levels.tables import print_summaries

        check_at_least(1, sample=self.sample)
        dataset = load(self.file)
        other = load(self.against) if self.against else None
        print_summaries(dataset, sample=self.sample, seed=self.seed)
        print(f"levels    {len(dataset)} of {dataset.shape[0]}×{dataset.shape[1]} cells inside")
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
    seed: int = 0
    """Accepted for uniformity; the check is complete and needs no chance."""

    def run(self) -> None:
        """Check, and print a line per rule."""
        from dred.levels import load
        from dred.levels.dataset import repeated_levels, require_solvable

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


@dataclass(frozen=True)
class Show:
    """Draw levels of a set as a picture: a row per structure, or one level large.

    With --buffer, draw the levels that a run would replay, the likeliest first. Of a generator,
    draw levels between pairs of the dataset, each row from one level to the other. Of
    procgen/GAME, draw what the agent sees in levels of that game, and of procgen, in all games. As
    palette, draw the colours of tiles, also as they look to the colour-blind.

    For example:
      dred levels show train.npz --out train.png
      dred levels show train.npz --level 7 --out level.png
      dred levels show runs/plr --buffer --out buffer.png
      dred levels show vae --between 3 200 --out strip.png
      dred levels show procgen/bigfish --levels 0 1 2 3 200 --steps 60 --out bigfish.png
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A set of levels (.npz), the folder of a generator, that of a run with --buffer,
    procgen/GAME, or palette."""
    out: Path
    """Where to write the picture (.png)."""
    buffer: bool = False
    """Draw the buffer of a run."""
    between: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="N N")] = None
    """Of a generator: only levels between these two of the dataset."""
    level: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Only this level, large; it is also printed as text."""
    levels: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N [N …]")] = ()
    """Of Procgen: these levels, instead of the first 9."""
    steps: int = 0
    """Of Procgen: what is seen after so many random actions, instead of at the start."""
    difficulty: Literal["easy", "hard"] = "easy"
    """Of Procgen: which levels the numbers mean."""
    per_row: int = 8
    """Levels in a row."""
    cell: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Pixels a tile (of Procgen, a pixel); chosen to suit the size of the levels if not given."""
    seed: int = 0
    """Which levels are shown, or which actions are taken."""

    def run(self) -> None:
        """Write the picture."""
        from dred.files import check_writable
        from dred.levels import load

        check_at_least(1, per_row=self.per_row, cell=1 if self.cell is None else self.cell)
        if self.file.parts[:1] == ("procgen",) and not self.file.exists():
            self._procgen()
            return
        if self.file == Path("palette") and not self.file.exists():
            self._palette()
            return
        if self.levels or self.steps:
            raise ConfigError("--levels and --steps need a game, for example procgen/coinrun.")
        if self.buffer:
            self._buffer()
            return
        if (self.file / "generator.json").exists():
            self._interpolations()
            return
        if self.between is not None:
            raise ConfigError("--between needs the folder of a generator, made with `dred fit`.")
        if self.file.is_dir():
            raise ConfigError(f"{self.file} is a folder. Add --buffer to see the levels of a run.")
        dataset = load(self.file)
        check_writable(self.out, inputs=[self.file])
        if self.level is None:
            self._gallery(dataset)
        else:
            self._one(dataset, self.level)
        print(f"{self.out}: {len(dataset)} levels in {self.file}")

    def _gallery(self, dataset: "LevelDataset") -> None:
        from dred.levels.render import gallery_of, save_picture

        cell = self.cell or max(5, min(8, 160 // dataset.shape[0]))
        save_picture(gallery_of(dataset, per_row=self.per_row, cell=cell, seed=self.seed), self.out)

    def _buffer(self) -> None:
        from dred.files import check_writable
        from dred.levels.render import draw_gallery, save_picture
        from dred.runs import open_run

        run = open_run(self.file)
        check_writable(self.out)
        saved = run.buffer()
        rows: list[tuple[str, list[Level]]] = []
        for first in range(0, min(len(saved.levels), 5 * self.per_row), self.per_row):
            some = slice(first, min(first + self.per_row, len(saved.levels)))
            makers = saved.levels.structure[some]
            made = ", ".join(f"{int((makers == m).sum())} {m}" for m in sorted(set(makers)))
            scores = saved.score[some]
            label = (
                f"{saved.probability[some].sum():.1%} of draws, score {scores.max():.3g} to "
                f"{scores.min():.3g}, {made}"
            )
            rows.append((label, [saved.levels[index] for index in range(first, some.stop)]))
        cell = self.cell or max(5, min(8, 160 // saved.levels.shape[0]))
        title = f"{len(saved.levels)} levels in the buffer of {run.path}, the likeliest first"
        save_picture(draw_gallery(rows, cell=cell, title=title), self.out)
        print(f"{self.out}: {len(saved.levels)} levels in the buffer of {run.path}")

    def _palette(self) -> None:
        from dred.files import check_writable
        from dred.levels.palette import VISIONS, differences, draw_palette
        from dred.levels.render import save_picture

        check_writable(self.out)
        save_picture(draw_palette(), self.out)
        for vision in VISIONS:
            found = differences(vision)
            pair = min(found, key=found.__getitem__)
            print(f"{vision:13} most alike: {' and '.join(pair)}, {found[pair]:.0f} apart (CIELAB)")

    def _procgen(self) -> None:
        import numpy as np

        from dred.files import check_writable
        from dred.levels.render import draw_rows, save_picture
        from dred.procgen import GAMES
        from dred.procgen.observations import observations_of

        check_writable(self.out)
        name = "/".join(self.file.parts[1:])
        games, levels, scale = (name,) if name else GAMES, self.levels or tuple(range(9)), self.cell
        enlarged = np.ones((scale or 2, scale or 2, 1), np.uint8)
        rows: list[tuple[str, list[np.ndarray]]] = []
        for game in games:
            seen = observations_of(
                game, levels, steps=self.steps, difficulty=self.difficulty, seed=self.seed
            )
            for first in range(0, len(levels), self.per_row):
                some = slice(first, first + self.per_row)
                label = f"{game}, levels {' '.join(map(str, levels[some]))}"
                rows.append((label, [np.kron(image, enlarged) for image in seen[some]]))
        when = f"after {self.steps} random actions" if self.steps else "at the start"
        save_picture(draw_rows(rows, title=f"What the agent sees {when}"), self.out)
        print(f"{self.out}: {len(levels)} levels of {', '.join(games)} ({self.difficulty}), {when}")

    def _interpolations(self) -> None:
        import jax
        import jax.numpy as jnp
        import numpy as np

        from dred.files import check_writable
        from dred.generators import load
        from dred.generators.vae.latent import pairs_and_shares
        from dred.levels.level import Level
        from dred.levels.render import draw_gallery, save_picture

        generator = load(self.file)
        check_writable(self.out)
        dataset, key = generator.dataset, jax.random.key(self.seed)
        steps = max(1, self.per_row - 2)
        if self.between is None:
            num_pairs = min(6, len(dataset) // 2)
            count = num_pairs * steps
            first, second, share = pairs_and_shares(
                len(dataset), count, num_pairs, with_ends=False, key=key
            )
        else:
            for number in self.between:
                check_number(number, dataset, self.file)
            first, second = (jnp.full(steps, number) for number in self.between)
            share = (1 + jnp.arange(steps)) / (1 + steps)
        pairs = [(int(first[i]), int(second[i])) for i in range(0, len(share), steps)]
        made = Level(*map(np.asarray, generator.interpolate(first, second, share, key=key)))
        rows: list[tuple[str, list[Level]]] = []
        for row, (one, other) in enumerate(pairs):
            between = [Level(*(part[row * steps + step] for part in made)) for step in range(steps)]
            rows.append(
                (f"from level {one} to level {other}", [dataset[one], *between, dataset[other]])
            )
        cell = self.cell or max(5, min(8, 160 // dataset.shape[0]))
        title = f"Levels of {self.file} between pairs of the dataset, which stand at the ends"
        save_picture(draw_gallery(rows, cell=cell, title=title), self.out)
        print(f"{self.out}: {len(share)} levels between {len(pairs)} pairs of {self.file}")

    def _one(self, dataset: "LevelDataset", number: int) -> None:
        from PIL import Image

        from dred.levels import draw_level, to_text
        from dred.levels.render import save_picture

        check_number(number, dataset, self.file)
        chosen = dataset[number]
        cell = self.cell or max(8, 640 // dataset.shape[0])
        save_picture(Image.fromarray(draw_level(chosen, cell=cell)), self.out)
        print(to_text(chosen))


def check_number(number: int, dataset: "LevelDataset", file: Path) -> None:
    """Stop at a level that is not there."""
    if not 0 <= number < len(dataset):
        raise DatasetError(
            f"There is no level {number} in {file}: it has levels 0 to {len(dataset) - 1}."
        )


@dataclass(frozen=True)
class Import:
    """Turn levels of your own into a set: text drawings, PNG, JSON or Minigrid encodings.

    SRC is a file or a folder of files. Levels that are not proper, not solvable, of another size
    or already there are left out, and the report says which and why.

    For example:
      dred levels import mine.txt --out mine.npz
      dred levels import pictures/ --colours colours.toml --cell 16 --out mine.npz
    """

    src: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SRC")]
    """A .txt, .png, .json, .jsonl, .npy or .npz file, or a folder of such files."""
    out: Path
    """Where to write the levels (.npz)."""
    colours: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """PNG: a TOML file with the colour of each tile, as wall = "#777777"."""
    cell: int = 1
    """PNG: pixels a tile."""
    strip_border: bool = False
    """Text, PNG, JSON: the outermost ring is the surrounding wall (Minigrid's always is)."""
    keep_heading: bool = False
    """Minigrid: keep the agent's direction, instead of any heading."""
    strict: bool = False
    """Fail if anything is left out."""
    seed: int = 0
    """Accepted for uniformity; importing needs no chance."""

    def run(self) -> None:
        """Import, save and report."""
        from dred.files import check_writable
        from dred.levels.importers import (
            DEFAULT_COLOURS,
            ImportOptions,
            import_levels,
            read_colours,
        )

        check_at_least(1, cell=self.cell)
        check_writable(self.out, inputs=[self.src, *([self.colours] if self.colours else [])])
        options = ImportOptions(
            colours=read_colours(self.colours) if self.colours else DEFAULT_COLOURS,
            cell=self.cell,
            strip_border=self.strip_border,
            keep_heading=self.keep_heading,
        )
        report = import_levels(self.src, options)
        if self.strict and report.dropped:
            where, reason = report.dropped[0]
            raise DatasetError(
                f"{len(report.dropped)} candidates would be left out, the first because: {where}: "
                f"{reason}. Repair them, or import without --strict; nothing was written."
            )
        report.dataset.save(self.out)
        for name, count in report.taken.items():
            print(f"taken    {count:5d}  {name}")
        for where, reason in report.dropped:
            print(f"dropped      1  {where}: {reason}")
        height, width = report.dataset.shape
        print(
            f"{self.out}: {len(report.dataset)} levels of {height}×{width} cells inside, "
            f"{len(report.dropped)} dropped, digest {report.dataset.digest[:12]}"
        )


VERBS = {
    "make": Make,
    "furnish": Furnish,
    "info": Info,
    "check": Check,
    "show": Show,
    "import": Import,
}
