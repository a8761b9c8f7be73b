"""The style of all figures, which are drawn with Matplotlib without a display."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from dred.files import replacing

COLOURS = ("#3366cc", "#dc6900", "#109618", "#990099", "#0099a8", "#b82e2e", "#66707a", "#8b6d00")
INK = "#6f7680"  # replaced by the colour of the text around it
STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "dred",  # the same figure gives the same file
}
REPORT_STYLE: Any = {
    **STYLE,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "grid.color"), INK),
    **dict.fromkeys(("legend.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "font.size": 10,
}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the ending says how."""
    kind = path.suffix.lstrip(".") or "png"
    quiet: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    with replacing(path) as temporary, rc_context(STYLE):
        figure.savefig(temporary, format=kind, dpi=120, bbox_inches="tight", **quiet)


def panels(titles: Sequence[str], *, columns: int = 3) -> tuple[Figure, list[Any]]:
    """Return a figure with a small panel for each title."""
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(3.4 * columns, 2.5 * rows), layout="constrained")
        axes = [figure.add_subplot(rows, columns, 1 + i) for i in range(len(titles))]
        for axis, title in zip(axes, titles, strict=True):
            axis.set_title(title, fontsize=10, loc="left")
    return figure, axes


def grid_of(count: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Any]]:
    """Return a figure with so many panels of a size in inches, and room for a legend above."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows + 0.4), layout=room())
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


def room() -> ConstrainedLayoutEngine:
    """Return a layout with some room between panels."""
    return ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)


def middle_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range with a little room round these values."""
    some = list(values)
    low, high = min(some), max(some)
    margin = 0.05 * (high - low) or 0.1
    return low - margin, high + margin
