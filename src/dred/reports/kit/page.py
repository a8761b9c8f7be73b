"""Pages from Jinja2 templates, with everything escaped that a template does not write itself.

A page is one HTML file that needs nothing else. `templates/` has its frame and its parts; a report
has a folder of its own with a template for each of its sections.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dred import __version__
from dred.reports.kit.pictures import as_uri
from dred.reports.kit.table import Table

TEMPLATES = Path(__file__).with_name("templates")
BREAK = re.compile(r"\s*\n\s*")


@cache
def environment(*folders: Path) -> Environment:
    """Return the templates of the kit and of some folders; the parts are called `kit` in them."""
    found = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shared: tuple[dict[str, Any], dict[str, Any]] = found.filters, found.globals
    shared[0].update(uri=as_uri, thousands="{:,}".format)
    shared[1].update(kit=found.get_template("parts.html.jinja").module)
    return found


def document(
    folder: Path,
    *,
    title: str,
    lead: str,
    sections: Mapping[str, str],
    context: Mapping[str, Any],
    date: str = "",
) -> str:
    """Return a page: for each section, by its heading, the template of its name in a folder."""
    frame = {"title": title, "lead": lead, "date": date, "sections": sections}
    template = environment(folder).get_template("document.html.jinja")
    page = template.render(context, **frame, version=__version__)
    return f"{BREAK.sub(' ', page).strip()}\n"


def to_html(table: Table) -> str:
    """Return a table as HTML; the first column names the rows."""
    parts: Any = environment().globals["kit"]
    return BREAK.sub(" ", str(parts.table(table)))


def span(values: set[int]) -> str:
    """Return one number, or from the least to the most."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
