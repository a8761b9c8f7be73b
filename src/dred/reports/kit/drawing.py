"""Figures as SVG, in ink that is dark on light pages and light on dark ones."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.figure import Figure

from dred.reports.kit.figures import INK, REPORT_STYLE

LIGHT_INK, DARK_INK = "#2b3138", "#d5dae0"
COARSE = "image-rendering:crisp-edges;image-rendering:pixelated"
LINE, DIGITS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d\d)\d+")  # a hundredth is enough


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn for wide and for narrow pages."""

    name: str
    alt: str  # what it shows, in a sentence
    wide: str  # SVG
    narrow: str = ""  # SVG; empty if the page has the same content in another form


def drawn(name: str, alt: str, draw: Callable[[int], Figure], columns: int) -> Drawing:
    """Return a figure for wide pages, and the same with its panels one below the other."""
    return Drawing(name, alt, to_svg(draw(columns)), to_svg(draw(1)))


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG whose ink suits the page."""
    stream = io.StringIO()
    with rc_context(REPORT_STYLE):
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = stream.getvalue().replace(INK, "currentColor")
    svg = svg.replace(COARSE, "")  # levels are shown smaller than they are, so smoothly
    return with_ink(LINE.sub(lambda found: DIGITS.sub(r"\1", found[0]), svg))


def with_ink(svg: str) -> str:
    """Give an SVG that draws in `currentColor` a colour for light and for dark surroundings."""
    style = (
        f"<style>svg{{color:{LIGHT_INK}}}"
        f"@media (prefers-color-scheme:dark){{svg{{color:{DARK_INK}}}}}</style>"
    )
    before, opening, rest = svg.partition("<svg ")
    attributes, _, content = rest.partition(">")
    return f'{before}{opening}color="{INK}" {attributes}>{style}{content}'
