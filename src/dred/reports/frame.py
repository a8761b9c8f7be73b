"""What any page of a report is made of: its frame, figures, notes, boxes and lists.

A page is one HTML file that needs nothing else.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dred import __version__
from dred.reports.content import Drawing
from dred.reports.pictures import as_uri


def document(title: str, lead: str, headings: Mapping[str, str], parts: Mapping[str, str]) -> str:
    """A page that needs nothing else, with a section for each part under its heading."""
    links = "".join(f'<li><a href="#{key}">{headings[key]}</a></li>' for key in parts)
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{headings[key]}'
        f"</h2>{part}</section>"
        for key, part in parts.items()
    )
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)} · dred report</title><style>{style}</style></head><body>"
        f'<header class="top"><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main>{body}'
        f"<footer>Made with dred {escape(__version__)}.</footer></main></body></html>\n"
    )


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def notes(lines: Sequence[str]) -> str:
    """What readers should know."""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<aside class="notes" aria-label="Notes"><h3>Notes</h3><ul>{items}</ul></aside>'


def chart(drawing: Drawing, caption: str, kind: str = "") -> str:
    """A figure that suits the width of the page."""
    wide, narrow = (as_uri(svg.encode(), "image/svg+xml") for svg in (drawing.wide, drawing.narrow))
    return (
        f'<figure class="chart {kind}"><picture>'
        f'<source media="(max-width: 900px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{escape(drawing.alt)}"></picture>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def boxes(entries: Sequence[tuple[str, str, str]]) -> str:
    """A few facts in boxes: what, how much, and small print."""
    each = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>"
        for name, value, more in entries
    )
    return f'<dl class="facts">{each}</dl>'


def file_list(files: Sequence[str]) -> str:
    """What lies beside the page."""
    items = "".join(f'<li><a href="{escape(name)}">{escape(name)}</a></li>' for name in files)
    return (
        paragraph("Every table as CSV and Markdown and every figure as SVG, beside this page.")
        + f'<ul class="files">{items}</ul>'
    )


def span(values: set[int]) -> str:
    """One number, or from the least to the most."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
