"""Charts of intervals and of curves, readable on light and on dark pages."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int, UInt8
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dred.evaluation.statistics import Interval
from dred.reports.kit.figures import INK, REPORT_STYLE, grid_of, room
from dred.reports.kit.looks import Looks

PanelT = TypeVar("PanelT")
EXAMPLE = 1.1  # inches of an example picture, with the room round it
USUAL_NAME = 16  # letters in a name for which there is room
LETTER, LEGEND_LINE = 0.085, 0.2  # inches
ALL = (-0.02, 1.02)  # limits that show every share
ROUNDING = 1e-4  # of the scale of an axis: less is no change


class Curve(NamedTuple):
    """A measurement over time."""

    updates: Int[np.ndarray, " point"]
    mean: Float[np.ndarray, " point"]
    error: Float[np.ndarray, " point"] | None  # standard error; None for a single seed


class Bar(NamedTuple):
    """One name in a panel: its value, two intervals, and the values behind it."""

    name: str
    value: float
    inner: Interval
    outer: Interval
    dots: tuple[float, ...] = ()
    error: float = math.nan  # standard error; NaN for none
    label: str = ""  # instead of the name


class BarPanel(NamedTuple):
    """Names one below the other, and perhaps example pictures to the left."""

    title: str
    bars: tuple[Bar, ...]
    percent: bool = False
    reference: float | None = None
    limits: tuple[float, float] | None = None
    examples: tuple[UInt8[np.ndarray, "_ _ 3"], ...] = ()  # pictures


class LinePanel(NamedTuple):
    """A measurement over time."""

    title: str
    curves: Mapping[str, Curve]  # by name
    percent: bool = False
    reference: float | None = None  # a dashed line
    limits: tuple[float | None, float | None] | None = None


def draw_bars(
    panels: Sequence[BarPanel], looks: Looks, *, columns: int, all_named: bool = False
) -> Figure:
    """Draw intervals: a thick one, a thin one, a tick at the value, and a dot for each run."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    most = max(len(panel.bars) for panel in panels)
    height = max(0.75 + 0.3 * most, 1.35 * any(panel.examples for panel in panels))
    each = 3.1 if columns == 1 else 2.9 if all_named else 2.35
    longest = max((len(bar.name) for panel in panels for bar in panel.bars), default=0)
    extra = LETTER * max(0, longest - USUAL_NAME)  # for long names, where there are names
    strips = [EXAMPLE * any(one.examples for one in panels[i::columns]) for i in range(columns)]
    bars = [each + 1.1 * (i == 0) + extra * (all_named or i == 0) for i in range(columns)]
    widths = [width or 1e-6 for both in zip(strips, bars, strict=True) for width in both]
    with rc_context(REPORT_STYLE):
        figure = Figure(figsize=(sum(widths), height * rows), layout=room())
        grid = figure.add_gridspec(rows, 2 * columns, width_ratios=widths)
        for place, panel in enumerate(panels):
            row, column = divmod(place, columns)
            if panel.examples:
                axis = figure.add_subplot(grid[row, 2 * column])
                shown = one_below_the_other(panel.examples[: int(height)])
                axis.imshow(shown, interpolation="none")
                axis.set_axis_off()
            wide = slice(2 * column + bool(panel.examples), 2 * column + 2)
            named = all_named or column == 0
            bar_panel(figure.add_subplot(grid[row, wide]), panel, looks, named=named)
    return figure


def one_below_the_other(
    pictures: Sequence[UInt8[np.ndarray, "height width 3"]],
) -> UInt8[np.ndarray, "_ width 4"]:
    """Return pictures as one, with a transparent gap between them."""
    height, width, _ = pictures[0].shape
    step = height + height // 10
    whole = np.zeros((step * len(pictures) - height // 10, width, 4), np.uint8)
    for place, pixels in enumerate(pictures):
        opaque = np.full((height, width), 255, np.uint8)
        whole[place * step : place * step + height] = np.dstack([pixels, opaque])
    return whole


def bar_panel(axis: Any, panel: BarPanel, looks: Looks, *, named: bool) -> None:  # noqa: ANN401
    """Draw one panel of intervals on an axis of Matplotlib's."""
    for place, bar in enumerate(panel.bars):
        colour = looks[bar.name].colour
        if bar.inner.low == bar.inner.low:  # not NaN
            for (low, high), size, alpha in ((bar.outer, 0.3, 0.4), (bar.inner, 0.62, 0.75)):
                axis.barh(place, high - low, left=low, height=size, color=colour, alpha=alpha)
            axis.vlines(bar.value, place - 0.4, place + 0.4, color=INK, linewidth=2)
        else:
            axis.plot(bar.value, place, "o", color=colour, markersize=7, clip_on=False)
        axis.plot(bar.dots, [place] * len(bar.dots), "o", color=INK, markersize=2.6, alpha=0.8)
        if math.isfinite(bar.error):
            axis.errorbar(bar.value, place, xerr=bar.error, color=INK, capsize=4, linewidth=1.6)
    names = [bar.label or bar.name for bar in panel.bars]
    axis.set_yticks(range(len(panel.bars)), names if named else [])
    axis.set_ylim(len(panel.bars) - 0.4, -0.6)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.locator_params(axis="x", nbins=4)
    values = [v for bar in panel.bars for v in (bar.value, *bar.dots, *bar.outer)]
    axis.set_xlim(*(panel.limits or within(axis.get_xlim(), values, percent=panel.percent)))
    if panel.percent:
        axis.xaxis.set_major_formatter(FuncFormatter(per_cent))
    if panel.reference is not None:
        axis.axvline(panel.reference, color=INK, linestyle="--", linewidth=1)
    axis.set_title(panel.title, loc="left")


def within(
    limits: tuple[float, float], values: Sequence[float], *, percent: bool
) -> tuple[float, float]:
    """Return limits that go no further than values can: shares end at 1, and 0 is an end.

    Beyond such an end there is room for half a marker, but for no tick. What differs by rounding
    only is drawn as what it is, a line.
    """
    low, high = limits
    middle = (low + high) / 2
    scale = 1.0 if percent else abs(middle)
    if high - low < ROUNDING * scale:
        low, high = middle - 0.05 * scale, middle + 0.05 * scale
    known = [round(value, 6) for value in values if math.isfinite(value)]
    if known and min(known) >= 0:
        low = max(low, ALL[0] * high)
    if percent and known and max(known) <= 1:
        high = min(high, 1.0 - ALL[0] * (1.0 - low))
    return low, high


def draw_lines(
    panels: Sequence[LinePanel], looks: Looks, *, columns: int, across: str = "updates"
) -> Figure:
    """Draw means over seeds with bands of one standard error, and one legend for all panels."""
    handles: dict[str, Any] = {}
    with rc_context(REPORT_STYLE):
        figure, axes = grid_of(len(panels), columns, (4.1, 2.75))
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            handles = {**line_panel(axis, panel, looks), **handles}
            if place >= len(panels) - min(columns, len(panels)):
                axis.set_xlabel(across)
        legend(figure, handles, looks, columns)
    return figure


def draw_panels(
    panels: Sequence[PanelT],
    draw: Callable[[Any, PanelT, Looks], Mapping[str, Any]],
    looks: Looks,
    *,
    columns: int,
    size: tuple[float, float],
) -> Figure:
    """Draw each panel on an axis of its own, so many inches large, and one legend for all."""
    handles: dict[str, Any] = {}
    with rc_context(REPORT_STYLE):
        figure, axes = grid_of(len(panels), columns, size)
        for axis, panel in zip(axes, panels, strict=True):
            handles |= draw(axis, panel, looks)
        legend(figure, handles, looks, columns)
    return figure


def legend(figure: Figure, handles: Mapping[str, Any], looks: Looks, columns: int) -> None:
    """Add one legend above all panels, with names in the order of their looks."""
    names = [name for name in looks if name in handles]
    names += [name for name in handles if name not in names]
    longest = max(map(len, names), default=0)
    most = 3 if columns == 1 else 9
    if longest > USUAL_NAME:
        most = min(most, max(1, int(figure.get_figwidth() / (0.6 + LETTER * longest))))
        figure.set_figheight(figure.get_figheight() + LEGEND_LINE * -(-len(names) // most))
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside upper left",
        ncols=min(len(names), most),
        columnspacing=1.4,
        handlelength=1.6,
    )


def line_panel(axis: Any, panel: LinePanel, looks: Looks) -> dict[str, Any]:  # noqa: ANN401
    """Draw one panel of curves on an axis of Matplotlib's; return the lines by name."""
    handles: dict[str, Any] = {}
    for name, whole in panel.curves.items():
        updates, mean, error = thin(whole)
        colour, marker = looks[name]
        (handles[name],) = axis.plot(
            updates,
            mean,
            color=colour,
            linewidth=1.8,
            marker=marker,
            markersize=4.5,
            markevery=max(1, len(updates) // 6),
        )
        if error is not None:
            axis.fill_between(updates, mean - error, mean + error, color=colour, alpha=0.22, lw=0)
    if panel.reference is not None:
        axis.axhline(panel.reference, color=INK, linestyle="--", linewidth=1)
    values = [float(value) for one in panel.curves.values() for value in one.mean]
    axis.set_ylim(*(panel.limits or within(axis.get_ylim(), values, percent=panel.percent)))
    if panel.percent:
        axis.yaxis.set_major_formatter(FuncFormatter(per_cent))
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter(FuncFormatter(thousands))
    axis.set_title(panel.title, loc="left")
    return handles


def thousands(value: float, _: object = None) -> str:
    """Return a tick: 5000 as 5k."""
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def per_cent(value: float, _: object = None) -> str:
    """Return a tick: 0.25 as 25 %."""
    return f"{round(100 * value, 6):g}\u00a0%"


def thin(curve: Curve, *, most: int = 80) -> Curve:
    """Return a curve with fewer points, the last one among them."""
    step = -(-len(curve.updates) // most)
    first = (len(curve.updates) - 1) % step
    error = None if curve.error is None else curve.error[first::step]
    return Curve(curve.updates[first::step], curve.mean[first::step], error)
