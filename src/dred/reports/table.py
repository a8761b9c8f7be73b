"""What a table is, and how it is written: as CSV with all digits, as Markdown and as HTML."""

import csv
import io
import math
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.statistics import Interval
from dred.reports.results import deviation

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
    """The numbers behind a table, with all their digits; NaN is left empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.data_header)
    for row in table.data:
        writer.writerow(
            ["" if isinstance(value, float) and math.isnan(value) else value for value in row]
        )
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """A table as Markdown."""
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
    """One place of a Markdown table."""
    main = f"**{plain(cell.main)}**" if cell.bold else plain(cell.main)
    small = [text for text in (cell.extra, cell.paper and f"paper {cell.paper}") if text]
    return f"{main} ({plain('; '.join(small))})" if small else main


def plain(text: str) -> str:
    """Text that cannot end a place of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def to_html(table: Table, *, with_note: bool = True) -> str:
    """A table as HTML; the first column names the rows."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    body = "".join(
        f"<tr>{''.join(html_cell(cell, first=place == 0) for place, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note and with_note else ""
    title = escape(table.title)
    return (
        f'<p class="caption">{title}</p><div class="scroll" role="region" tabindex="0" '
        f'aria-label="{title}"><table aria-label="{title}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}"
    )


def html_cell(cell: Cell, *, first: bool) -> str:
    """One place of an HTML table."""
    main = f"<strong>{escape(cell.main)}</strong>" if cell.bold else escape(cell.main)
    extra = f'<span class="extra">{escape(cell.extra)}</span>' if cell.extra else ""
    if cell.paper:
        extra += f'<span class="extra paper">paper {escape(cell.paper)}</span>'
    if first:
        return f'<th scope="row">{main}{extra}</th>'
    shade = "" if cell.share is None else f' style="--share:{abs(cell.share - 0.5) * 2:.2f}"'
    side = "" if cell.share is None else f' class="{"wins" if cell.share > 0.5 else "loses"}"'
    return f"<td{side}{shade}>{main}{extra}</td>"


def number(value: float, *, percent: bool = False) -> str:
    """A number as tables show it."""
    if math.isnan(value):
        return NOTHING
    return f"{100 * value:.1f}\u00a0%" if percent else f"{value + 0.0:.3f}"


def between(interval: Interval, *, percent: bool = False) -> str:
    """An interval as tables show it; empty if it is not known."""
    if math.isnan(interval.low):
        return ""
    low, high = (number(end, percent=percent).removesuffix("\u00a0%") for end in interval)
    return f"{low} to {high}"


def plus_minus(values: Float[np.ndarray, " run"], *, percent: bool = False) -> str:
    """Mean ± standard deviation over runs, as in the paper."""
    if not len(values):
        return NOTHING
    scale = 100 if percent else 1
    middle, spread = scale * float(values.mean()), scale * deviation(values)
    digits = 1 if percent or abs(middle) >= 10 else 2
    shown = f"{middle + 0.0:.{0 if abs(middle) >= 1000 else digits}f}"
    return shown if math.isnan(spread) else f"{shown} ± {spread:.{digits}f}"
