"""`dred levels import`: levels of one's own as a set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.commands.show import check_at_least
from dred.errors import DatasetError


@dataclass(frozen=True)
class Import:
    """Turn levels of your own into a set: text drawings, PNG, JSON or Minigrid encodings.

    SRC is a file or a folder of files. Levels may differ in size. Those that are not proper, not
    solvable or already there are left out, and the report says which and why. For another task,
    whose levels are numbers with names, it is a table: CSV or Parquet, with a column for each.

    For example:
      dred levels import mine.txt --out mine.npz
      dred levels import devices.csv --task control/pendulum --out devices.npz
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
    task: str = "gridworld"
    """What kind of problem the levels are of."""

    def _of_task(self) -> None:
        """Import a table for another task, of which nothing is left out."""
        from dred.files import check_writable
        from dred.registry import find_task

        check_writable(self.out, inputs=[self.src])
        levels = find_task(self.task).level_format.load(self.src)
        levels.save(self.out)
        print(f"{self.out}: {levels}")

    def run(self) -> None:
        """Import, save and report."""
        if self.task != "gridworld":
            self._of_task()
            return
        from dred.files import check_writable
        from dred.tasks.gridworld.levels.importers import (
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
        print(f"{self.out}: {report.dataset}; {len(report.dropped)} dropped")
