"""Charts of points: one measurement against another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy import ndarray

from dred.reports.kit.chart import draw_panels, thousands
from dred.reports.kit.figures import INK
from dred.reports.kit.looks import Looks


class Dots(NamedTuple):
    """Points of one name, which has a colour and a marker."""

    name: str
    x: Float[ndarray, " point"]
    y: Float[ndarray, " point"]
    hollow: bool = False  # the paper's


class ScatterPanel(NamedTuple):
    """Points of several names, or a line through points without a name."""

    x_label: str
    y_label: str
    dots: tuple[Dots, ...]
    title: str = ""
    ranks: bool = False  # whole numbers, and a dashed line where both are the same
    joined: bool = False  # a line over updates, within −1 and 1


def draw_scatter(panels: Sequence[ScatterPanel], looks: Looks, *, columns: int) -> Figure:
    """Draw panels side by side, and one legend for all of them."""
    return draw_panels(panels, scatter_panel, looks, columns=columns, size=(4.6, 3.5))


def scatter_panel(axis: Any, panel: ScatterPanel, looks: Looks) -> dict[str, Any]:  # noqa: ANN401
    """Draw one panel on an axis of Matplotlib's; return the points by name."""
    handles: dict[str, Any] = {}
    if panel.ranks:
        most = max(float(max(*one.x, *one.y)) for one in panel.dots)
        axis.plot([0.5, most + 0.5], [0.5, most + 0.5], color=INK, linestyle="--", lw=1)
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(MaxNLocator(integer=True))
    else:
        axis.locator_params(axis="x", nbins=6)
    for one in panel.dots:
        colour, marker = (INK, "o") if panel.joined else looks[one.name]
        (drawn,) = axis.plot(
            one.x,
            one.y,
            linestyle="-" if panel.joined else "",
            marker=marker,
            color=colour,
            markersize=9 if one.hollow else 6.5,
            alpha=1.0 if one.hollow else 0.8,
            markeredgewidth=1.4 if one.hollow else 0,
            fillstyle="none" if one.hollow else "full",
        )
        if not panel.joined:
            handles.setdefault(one.name, drawn)
    if panel.joined:
        axis.set_ylim(-1.05, 1.05)
        axis.axhline(0.0, color=INK, linestyle="--", linewidth=1)
        axis.xaxis.set_major_formatter(FuncFormatter(thousands))
    if panel.title:
        axis.set_title(panel.title, loc="left", fontweight="normal", fontsize=10)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    return handles
