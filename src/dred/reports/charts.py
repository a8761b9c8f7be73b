"""The figures of reports, readable on light and on dark pages."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from jaxtyping import UInt8
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, PercentFormatter

from dred.evaluation.statistics import Interval
from dred.reports.curves import Curve
from dred.reports.figures import STYLE

METHOD_COLOURS = {
    "vae-dred": "#d6336c",
    "resample-dred": "#a0714f",
    "el-dred": "#cf6a1c",
    "plr": "#3b82c4",
    "uniform": "#808691",
    "dr": "#a38400",
    "accel-d": "#4f9a3d",
    "accel": "#1f9a8c",
    "rplr": "#8f6cc9",
    "value-l1": "#2f6fc0",  # from here on, strategies in Procgen
    "mi": "#c2410c",
    "value-l1+uniform": "#5f8f1f",
    "value-l1+mi": "#a15bd0",
}
EXAMPLE = 1.1  # inches of an example layout, with the room round it
MARKERS = "osDv^PX*<>phd"
USUAL_NAME = 16  # letters in a method's name for which there is room; changed settings make more
LETTER, LEGEND_LINE = 0.085, 0.2  # inches
INK = "#6f7680"  # replaced by the colour of the text around it
LIGHT_INK, DARK_INK = "#2b3138", "#d5dae0"
REPORT_STYLE: Any = {
    **STYLE,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "font.size": 10,
    "grid.color": INK,
    "legend.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


COARSE = "image-rendering:crisp-edges;image-rendering:pixelated"
LINE, DIGITS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d\d)\d+")  # a hundredth is enough


class Bar(NamedTuple):
    """One method in a panel: its value, two intervals, and what each run alone gives."""

    name: str
    value: float
    inner: Interval
    outer: Interval
    dots: tuple[float, ...] = ()
    error: float = math.nan  # standard error over runs; NaN for none
    label: str = ""  # instead of the name


class BarPanel(NamedTuple):
    """Methods one below the other, and perhaps what they were tried on to the left."""

    title: str
    bars: tuple[Bar, ...]
    percent: bool = False
    reference: float | None = None
    limits: tuple[float, float] | None = None
    examples: tuple[UInt8[np.ndarray, "_ _ 3"], ...] = ()  # pictures


class LinePanel(NamedTuple):
    """A metric over training."""

    title: str
    curves: Mapping[str, Curve]  # by method
    percent: bool = False
    reference: float | None = None  # a dashed line
    limits: tuple[float | None, float | None] | None = None


def colour_of(name: str) -> str:
    """The colour of a method: its own, or one that depends on its name only."""
    if name in METHOD_COLOURS:
        return METHOD_COLOURS[name]
    palette = tuple(METHOD_COLOURS.values())
    return palette[crc32(name.encode()) % len(palette)]


def marker_of(name: str) -> str:
    """The marker of a method, so that colour is not all that tells it."""
    names = list(METHOD_COLOURS)
    place = names.index(name) if name in names else crc32(name.encode()) // len(names)
    return MARKERS[place % len(MARKERS)]


def room() -> ConstrainedLayoutEngine:
    """A layout with some room between panels."""
    return ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)


def draw_bars(panels: Sequence[BarPanel], *, columns: int, all_named: bool = False) -> Figure:
    """Intervals: a thick one, a thin one, a tick at the value, and a dot for each run."""
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
                axis.imshow(
                    one_below_the_other(panel.examples[: int(height)]), interpolation="none"
                )
                axis.set_axis_off()
            wide = slice(2 * column + bool(panel.examples), 2 * column + 2)
            bar_panel(figure.add_subplot(grid[row, wide]), panel, named=all_named or column == 0)
    return figure


def one_below_the_other(
    pictures: Sequence[UInt8[np.ndarray, "height width 3"]],
) -> UInt8[np.ndarray, "_ width 4"]:
    """Pictures as one, with a transparent gap between them."""
    height, width, _ = pictures[0].shape
    step = height + height // 10
    whole = np.zeros((step * len(pictures) - height // 10, width, 4), np.uint8)
    for place, pixels in enumerate(pictures):
        whole[place * step : place * step + height] = np.dstack(
            [pixels, np.full((height, width), 255, np.uint8)]
        )
    return whole


def bar_panel(axis: Any, panel: BarPanel, *, named: bool) -> None:  # noqa: ANN401  (Matplotlib's)
    """Draw one panel of intervals."""
    for place, bar in enumerate(panel.bars):
        colour = colour_of(bar.name)
        if bar.inner.low == bar.inner.low:  # not NaN
            for (low, high), size, alpha in ((bar.outer, 0.3, 0.4), (bar.inner, 0.62, 0.75)):
                axis.barh(place, high - low, left=low, height=size, color=colour, alpha=alpha)
            axis.vlines(bar.value, place - 0.4, place + 0.4, color=INK, linewidth=2)
        else:
            axis.plot(bar.value, place, "o", color=colour, markersize=7)
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
    if panel.percent:
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if panel.limits:
        axis.set_xlim(*panel.limits)
    if panel.reference is not None:
        axis.axvline(panel.reference, color=INK, linestyle="--", linewidth=1)
    axis.set_title(panel.title, loc="left")


def draw_lines(panels: Sequence[LinePanel], *, columns: int, across: str = "updates") -> Figure:
    """Means over seeds with bands of one standard error, and one legend for all panels."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(REPORT_STYLE):
        figure = Figure(figsize=(4.1 * columns, 2.75 * rows + 0.4), layout=room())
        handles: dict[str, Any] = {}
        for place, panel in enumerate(panels):
            axis = figure.add_subplot(rows, columns, place + 1)
            handles = {**line_panel(axis, panel), **handles}
            if place >= len(panels) - columns:
                axis.set_xlabel(across)
        legend(figure, handles, columns)
    return figure


def legend(figure: Figure, handles: Mapping[str, Any], columns: int) -> None:
    """One legend above all panels, with known methods in their order."""
    names = [name for name in METHOD_COLOURS if name in handles]
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


def line_panel(axis: Any, panel: LinePanel) -> dict[str, Any]:  # noqa: ANN401  (Matplotlib's)
    """Draw one panel of curves; the lines by method."""
    handles: dict[str, Any] = {}
    for name, whole in panel.curves.items():
        updates, mean, error = thin(whole)
        colour = colour_of(name)
        (handles[name],) = axis.plot(
            updates,
            mean,
            color=colour,
            linewidth=1.8,
            marker=marker_of(name),
            markersize=4.5,
            markevery=max(1, len(updates) // 6),
        )
        if error is not None:
            axis.fill_between(updates, mean - error, mean + error, color=colour, alpha=0.22, lw=0)
    if panel.reference is not None:
        axis.axhline(panel.reference, color=INK, linestyle="--", linewidth=1)
    if panel.percent:
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    if panel.limits:
        axis.set_ylim(*panel.limits)
    axis.locator_params(axis="x", nbins=5)
    axis.xaxis.set_major_formatter(FuncFormatter(thousands))
    axis.set_title(panel.title, loc="left")
    return handles


def thousands(value: float, _: object = None) -> str:
    """A tick: 5000 as 5k."""
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def thin(curve: Curve, *, most: int = 80) -> Curve:
    """A curve with fewer points, the last one among them."""
    step = -(-len(curve.updates) // most)
    first = (len(curve.updates) - 1) % step
    error = None if curve.error is None else curve.error[first::step]
    return Curve(curve.updates[first::step], curve.mean[first::step], error)


def to_svg(figure: Figure) -> str:
    """A figure as SVG whose ink is dark on light pages and light on dark ones."""
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
