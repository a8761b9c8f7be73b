"""What a table is, and how it is written: as CSV with all digits, and as Markdown."""

import csv
import io
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.statistics import Interval, deviation

Value = str | int | float
NOTHING = "–"


class Cell(NamedTuple):
    """What is shown at one place of a table."""

    main: str
    extra: str = ""  # in smaller print
    bold: bool = False
    share: float | None = None  # 0 to 1: colours the cell
    paper: str = ""  # what the paper has in this place, in smaller print


@dataclass(frozen=True)
class Table:
    """One table: what is shown, and the numbers behind it."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    data_header: tuple[str, ...]
    data: tuple[tuple[Value, ...], ...]
    note: str = ""


def to_csv(table: Table) -> str:
    """Return the numbers behind a table, with all their digits; NaN is left empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.data_header)
    for row in table.data:
        writer.writerow(
            ["" if isinstance(value, float) and math.isnan(value) else value for value in row]
        )
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """Return a table as Markdown."""
    lines = [
        f"# {table.title}",
        "",
        f"| {' | '.join(map(plain, table.header))} |",
        f"|{'---|' * len(table.header)}",
        *(f"| {' | '.join(map(markdown_cell, row))} |" for row in table.rows),
    ]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"


def markdown_cell(cell: Cell) -> str:
    """Return one cell as Markdown."""
    main = f"**{plain(cell.main)}**" if cell.bold else plain(cell.main)
    small = [text for text in (cell.extra, cell.paper and f"paper {cell.paper}") if text]
    return f"{main} ({plain('; '.join(small))})" if small else main


def plain(text: str) -> str:
    """Return text that cannot end a place of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def counted(count: int, what: str) -> str:
    """Return a number of things: 1 level, 2 levels."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def number(value: float, *, percent: bool = False) -> str:
    """Return a number as tables show it."""
    if math.isnan(value):
        return NOTHING
    return f"{100 * value:.1f}\u00a0%" if percent else f"{value:z.3f}"


def between(interval: Interval, *, percent: bool = False) -> str:
    """Return an interval as tables show it; empty if it is not known."""
    if math.isnan(interval.low):
        return ""
    low, high = (number(end, percent=percent).removesuffix("\u00a0%") for end in interval)
    return f"{low} to {high}"


def plus_minus(values: Float[np.ndarray, " run"], *, percent: bool = False) -> str:
    """Return mean ± standard deviation (n − 1); the mean alone of a single value."""
    if not len(values):
        return NOTHING
    scale = 100 if percent else 1
    middle, spread = scale * float(values.mean()), scale * deviation(values)
    digits = 1 if percent or abs(middle) >= 10 else 2
    shown = f"{middle:z.{0 if abs(middle) >= 1000 else digits}f}"
    return shown if math.isnan(spread) else f"{shown} ± {spread:.{digits}f}"
