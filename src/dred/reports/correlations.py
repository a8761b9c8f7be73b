"""How two measurements go together, over points that may belong to groups."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from dred.evaluation.correlations import Correlation, centred, correlate, pearson
from dred.reports.kit.table import NOTHING, Cell


class Points(NamedTuple):
    """Two measurements side by side."""

    name: tuple[tuple[str, str], ...]  # of each: its group (game, method) and which of it
    x: Float[np.ndarray, " point"]
    y: Float[np.ndarray, " point"]


def correlation(points: Points) -> Correlation:
    """Return Pearson's and Kendall's correlation, over all points and within groups.

    p-values are two-sided and take points for independent of each other.
    """
    overall = correlate(points.x, points.y)
    if math.isnan(overall.kendall):
        return overall
    within, p = _within_groups(points)
    return overall._replace(within=within, within_p=p)


def _within_groups(points: Points) -> tuple[float, float]:
    """Pearson's correlation of the distances to each group's mean; a group takes one freedom."""
    names = np.array([group for group, _ in points.name])
    x, y = np.zeros_like(points.x), np.zeros_like(points.y)
    several = [group for group in np.unique(names) if (names == group).sum() > 1]
    for group in several:
        here = names == group
        x[here], y[here] = centred(points.x[here]), centred(points.y[here])
    used = int(np.isin(names, several).sum())
    return pearson(x, y, freedom=used - len(several) - 1)


def coefficient(value: float, p: float) -> Cell:
    """Return a correlation with its p-value in small print."""
    if math.isnan(value):
        return Cell(NOTHING)
    return Cell(f"{value:z.2f}", "" if math.isnan(p) else f"p = {p:.2g}")


def in_words(found: Correlation) -> str:
    """Return both correlations in words, if there are any."""
    if math.isnan(found.pearson):
        return ""
    return f"Pearson {found.pearson:.2f}, Kendall {found.kendall:.2f}"


def places(values: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """Return ranks from 1, the lowest first; values that differ by rounding alone are equal."""
    return np.asarray(rankdata(np.round(values, 12)), np.float64)
