"""Results as rows that print as a table and turn into a pandas frame."""

from collections.abc import Mapping
from html import escape
from typing import Any

from dred.errors import DredError

MOST_SHOWN = 20  # rows that are printed; of more, the first and the last ones


class Rows(list[dict[str, Any]]):
    """Rows of a table, each a dictionary by column."""

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns, in order of their appearance."""
        return list(dict.fromkeys(name for row in self for name in row))

    def to_pandas(self) -> Any:  # noqa: ANN401  (a DataFrame; pandas need not be installed)
        """Return the rows as a pandas frame."""
        try:
            import pandas
        except ModuleNotFoundError:
            raise DredError(
                "to_pandas() needs the package 'pandas', which is not installed. Install it with: "
                "pip install 'dred[tables]'"
            ) from None
        return pandas.DataFrame(list(self), columns=self.columns)

    def __str__(self) -> str:
        lines = [self.columns, *(_cells(row, self.columns) for row in self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join(shortened(texts))

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.to_html()

    def to_html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        lines = [
            "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row, self.columns))
            for row in self
        ]
        body = "".join(f"<tr>{line}</tr>" for line in shortened(lines, begin=0))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shortened(lines: list[str], *, begin: int = 1) -> list[str]:
    """Return lines without those in the middle, if they are many; `begin` of them are a header."""
    if len(lines) <= MOST_SHOWN + begin:
        return lines
    half = MOST_SHOWN // 2
    return [*lines[: begin + half], "…", *lines[-half:]]


def _cells(row: Mapping[str, Any], columns: list[str]) -> list[str]:
    return [_text(row.get(name, "")) for name in columns]


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
