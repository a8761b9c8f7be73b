"""`dred compare-generators`: the leaderboard of generators, on one page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.commands.options import Place
from dred.errors import ConfigError


@dataclass(frozen=True)
class CompareGenerators:
    """Compare fitted generators with each other and with other sources of levels.

    Beside them stand the dataset, levels held out, random rooms, edited levels of the dataset, and
    fresh levels of the process that made it, if it is known. Fits that differ in their seed alone
    become one row with mean and standard deviation. Written are leaderboard.html (one page that
    needs no other file), leaderboard.csv, leaderboard.md and pictures of levels.

    For example:
      dred compare-generators --levels train.npz --held-out test.npz vae wfc --out board
      dred compare-generators --levels train.npz vae-0 vae-1 vae-2 --out board --count 512
    """

    generators: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="GENERATOR")
    ]
    """The folders that `dred fit` wrote; none for the other sources alone."""
    levels: Path
    """The levels that they were fitted to (.npz)."""
    out: Path
    """The folder to write. It must not exist yet, or be a former leaderboard, which is replaced."""
    held_out: Place = None
    """Other levels of the same kind, by which to judge."""
    count: int = 1024
    """Levels to draw from each."""
    shown: int = 12
    """Levels of each to show on the page; 0 for none."""
    seed: int = 0
    """Another seed draws other levels."""
    title: str = ""
    """The title of the page."""

    def run(self) -> None:
        """Draw, measure, time, write."""
        from dred.reports.kit.table import to_markdown
        from dred.tasks.gridworld.leaderboard.compare import compare_generators
        from dred.tasks.gridworld.leaderboard.page import check_out, write_leaderboard
        from dred.tasks.gridworld.leaderboard.tables import leaderboard

        if self.shown < 0:
            raise ConfigError(f"--shown (={self.shown}) must be 0 or more.")
        check_out(self.out)
        found = compare_generators(
            self.generators,
            levels=self.levels,
            held_out=self.held_out,
            count=self.count,
            seed=self.seed,
        )
        page = write_leaderboard(found, self.out, shown=self.shown, title=self.title)
        print(to_markdown(leaderboard(found)))
        for notice in found.notices:
            print(f"note: {notice}")
        print(f"{page}: {len(found.lines)} sources of levels")
