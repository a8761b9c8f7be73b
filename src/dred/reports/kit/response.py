"""Charts of a result against a number that was varied."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from dred.reports.kit.chart import draw_panels, per_cent, within
from dred.reports.kit.looks import Looks

WIDE = 8.0  # how many times the least value the most must be for a logarithmic axis


class Response(NamedTuple):
    """The results of one name at some values of a number, in ascending order."""

    name: str
    values: tuple[float, ...]
    results: tuple[Float[np.ndarray, " run"], ...]  # at each value


class ResponsePanel(NamedTuple):
    """Results of several names against one number."""

    title: str
    x_label: str
    responses: tuple[Response, ...]
    percent: bool = False


def draw_responses(panels: Sequence[ResponsePanel], looks: Looks, *, columns: int) -> Figure:
    """Draw a line through the means, and a dot for each run, with one legend for all panels."""
    return draw_panels(panels, response_panel, looks, columns=columns, size=(4.1, 2.9))


def response_panel(axis: Any, panel: ResponsePanel, looks: Looks) -> dict[str, Any]:  # noqa: ANN401
    """Draw one panel on an axis of Matplotlib's; return the lines by name."""
    handles: dict[str, Any] = {}
    for one in panel.responses:
        colour, marker = looks[one.name]
        means = [float(runs.mean()) for runs in one.results]
        (handles[one.name],) = axis.plot(
            one.values, means, color=colour, linewidth=1.8, marker=marker, markersize=5.5
        )
        for value, runs in zip(one.values, one.results, strict=True):
            dots = [value] * len(runs)
            axis.plot(dots, runs, linestyle="", marker="o", color=colour, markersize=3, alpha=0.55)
    values = sorted({value for one in panel.responses for value in one.values})
    if is_wide(values):
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(values if len(values) <= 6 else values[:: -(-len(values) // 6)])
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    found = [float(y) for one in panel.responses for runs in one.results for y in runs]
    axis.set_ylim(*within(axis.get_ylim(), found, percent=panel.percent))
    if panel.percent:
        axis.yaxis.set_major_formatter(FuncFormatter(per_cent))
    axis.set_xlabel(panel.x_label)
    axis.set_title(panel.title, loc="left")
    return handles


def is_wide(values: Sequence[float]) -> bool:
    """Return whether values are best shown on a logarithmic axis."""
    return values[0] > 0 and values[-1] >= WIDE * values[0]
