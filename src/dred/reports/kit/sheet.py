"""Pictures in rows, as one SVG."""

from collections.abc import Sequence

from dred.reports.kit.drawing import with_ink
from dred.reports.kit.page import environment
from dred.reports.kit.pictures import Picture

SIDE, GAP, HEAD, LINE = 150, 14, 26, 14  # pixels


def sheet(rows: Sequence[tuple[str, Sequence[Picture]]]) -> str:
    """Return pictures in rows, each with a heading, as one SVG."""
    lines = max((len(one.lines) for _, row in rows for one in row), default=0)
    most = max((len(row) for _, row in rows), default=1)
    tall = HEAD + SIDE + 18 + LINE * lines + GAP
    template = environment().get_template("sheet.svg.jinja")
    sizes = {"side": SIDE, "step": SIDE + GAP, "head": HEAD, "line": LINE, "tall": tall}
    return with_ink(template.render(rows=rows, width=most * (SIDE + GAP), **sizes))
