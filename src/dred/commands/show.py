"""`dred levels show`: pictures of levels, buffers, generators, observations and the palette."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dred.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from dred.tasks.gridworld.levels import Level, LevelDataset


def check_at_least(least: int, **options: int) -> None:
    """Stop at an option that is too small."""
    for name, value in options.items():
        if value < least:
            raise ConfigError(f"--{name.replace('_', '-')} (={value}) must be at least {least}.")


def check_picture(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """Stop now if no picture could be written at `path`, or should not be, by its name."""
    from dred.files import check_writable

    check_writable(path, inputs=inputs)
    if path.suffix.lower() != ".png":
        raise ConfigError(f"--out {path}: pictures are PNG files. Give a name that ends in .png.")


@dataclass(frozen=True)
class Show:
    """Draw levels of a set as a picture: a row per structure, or one level large.

    With --buffer, draw the levels that a run would replay, most probable first. Of a generator,
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
        from dred.tasks.gridworld.levels import load

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
        check_picture(self.out, inputs=[self.file])
        if self.level is None:
            self._gallery(dataset)
        else:
            self._one(dataset, self.level)
        print(f"{self.out}: {len(dataset)} levels in {self.file}")

    def _gallery(self, dataset: "LevelDataset") -> None:
        from dred.tasks.gridworld.levels.render import gallery_of, save_picture

        cell = self.cell or max(5, min(8, 160 // dataset.shape[0]))
        save_picture(gallery_of(dataset, per_row=self.per_row, cell=cell, seed=self.seed), self.out)

    def _buffer(self) -> None:
        from dred.runs import open_run
        from dred.tasks.gridworld.levels.render import draw_gallery, save_picture

        run = open_run(self.file)
        check_picture(self.out)
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
        cell = self.cell or max(5, min(8, 160 // len(rows[0][1][0].tiles)))
        title = f"{len(saved.levels)} levels in the buffer of {run.path}, most probable first"
        save_picture(draw_gallery(rows, cell=cell, title=title), self.out)
        print(f"{self.out}: {len(saved.levels)} levels in the buffer of {run.path}")

    def _palette(self) -> None:
        from dred.tasks.gridworld.levels.palette import VISIONS, differences, draw_palette
        from dred.tasks.gridworld.levels.render import save_picture

        check_picture(self.out)
        save_picture(draw_palette(), self.out)
        for vision in VISIONS:
            found = differences(vision)
            pair = min(found, key=found.__getitem__)
            print(f"{vision:13} most alike: {' and '.join(pair)}, {found[pair]:.0f} apart (CIELAB)")

    def _procgen(self) -> None:
        import numpy as np

        from dred.tasks.gridworld.levels.render import draw_rows, save_picture
        from dred.tasks.procgen import GAMES
        from dred.tasks.procgen.observations import observations_of

        check_picture(self.out)
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

        from dred.tasks.gridworld.generators.vae.fitted import load
        from dred.tasks.gridworld.generators.vae.latent import pairs_and_shares
        from dred.tasks.gridworld.levels.level import Level
        from dred.tasks.gridworld.levels.render import draw_gallery, save_picture

        generator = load(self.file)
        check_picture(self.out)
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

        from dred.tasks.gridworld.levels import draw_level, to_text
        from dred.tasks.gridworld.levels.render import save_picture

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
