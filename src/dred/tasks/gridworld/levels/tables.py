"""Tables about levels, for the terminal."""

from math import isnan

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dred import progress
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.metrics import Summary, summarise_by_structure

COLUMNS = (
    "structure",
    "levels",
    "solvable",
    "navigable (min)",
    "start–goal (range)",
    "resistance",
    "moss",
    "lava",
    "moss near",
    "lava far",
)


def summary_row(summary: Summary) -> tuple[str, ...]:
    """One row of the table of a set."""
    low, high = summary.path_range
    return (
        summary.name or "(none)",
        str(summary.levels),
        str(summary.solvable),
        f"{summary.navigable:.1f} ({summary.smallest})",
        f"{_known(summary.path, '.1f')} ({low}–{high})",
        _known(summary.resistance, ".1f"),
        _known(summary.moss_density, ".3f"),
        _known(summary.lava_density, ".3f"),
        _known(summary.moss_right, ".1%"),
        _known(summary.lava_right, ".1%"),
    )


def _known(value: float, form: str) -> str:
    """The number, or a dash where it is not defined."""
    return "–" if isnan(value) else format(value, form)


def print_summaries(dataset: LevelDataset, *, sample: int = 256, seed: int = 0) -> None:
    """Print what the levels of each structure are like."""
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "structure" else "right")
    with progress.bar("measuring", len(dataset.structures) + 1, unit="structures") as advance:
        summaries = summarise_by_structure(dataset, sample=sample, seed=seed, advance=advance)
    for summary in summaries:
        cells = map(escape, summary_row(summary))  # names of structures may look like markup
        table.add_row(*cells, style="bold" if summary.name == "all" else None)
    console = Console()
    console.width = max(console.width, 130)
    console.print(table)
