"""Printing what was measured."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def number(value: object, pattern: str) -> str:
    """A number in some form, or a dash where there is none."""
    return "–" if value is None else pattern.format(value)


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose first column is text and whose others are numbers."""
    table = Table(box=None, pad_edge=False, title=title)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position else "left")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.width = max(console.width, 140)
    console.print(table)
