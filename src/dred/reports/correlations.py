"""How two measurements go together, over points that may belong to groups."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr
from scipy.stats import kendalltau

from dred.reports.table import NOTHING, Cell

FEWEST_POINTS = 3  # two points are always on a line


class Correlation(NamedTuple):
    """How two measurements go together; NaN where that cannot be told."""

    points: int
    pearson: float = math.nan
    pearson_p: float = math.nan
    kendall: float = math.nan  # τ-b
    kendall_p: float = math.nan
    within: float = math.nan  # Pearson's, of what is left after taking each group's mean away
    within_p: float = math.nan


class Points(NamedTuple):
    """Two measurements side by side."""

    name: tuple[tuple[str, str], ...]  # of each: its group (game, method) and which of it
    x: Float[np.ndarray, " point"]
    y: Float[np.ndarray, " point"]


def correlation(points: Points) -> Correlation:
    """Pearson's and Kendall's correlation, over all points and within groups.

    p-values are two-sided and take points for independent of each other.
    """
    count, x, y = len(points.name), points.x, points.y
    if count < FEWEST_POINTS or _is_constant(x) or _is_constant(y):
        return Correlation(count)
    tau, tau_p = np.array(kendalltau(x, y)).tolist()
    return Correlation(
        count,
        *_pearson(_centred(x), _centred(y), freedom=count - 2),
        tau,
        tau_p,
        *_within_groups(points),
    )


def _within_groups(points: Points) -> tuple[float, float]:
    """Pearson's correlation of the distances to each group's mean; a group takes one freedom."""
    names = np.array([group for group, _ in points.name])
    x, y = np.zeros_like(points.x), np.zeros_like(points.y)
    several = [group for group in np.unique(names) if (names == group).sum() > 1]
    for group in several:
        here = names == group
        x[here], y[here] = _centred(points.x[here]), _centred(points.y[here])
    used = int(np.isin(names, several).sum())
    return _pearson(x, y, freedom=used - len(several) - 1)


def _pearson(
    x: Float[np.ndarray, " point"], y: Float[np.ndarray, " point"], *, freedom: int
) -> tuple[float, float]:
    """The correlation of centred values and its p-value by Student's t; NaN if one is constant."""
    long_x, long_y = float(np.linalg.norm(x)), float(np.linalg.norm(y))
    if freedom < 1 or long_x == 0.0 or long_y == 0.0:
        return math.nan, math.nan
    r = float((x / long_x) @ (y / long_y))
    if 1.0 - abs(r) < 1e-14:  # a line, but for rounding
        return math.copysign(1.0, r), 0.0
    return r, float(2 * stdtr(freedom, -abs(r) * math.sqrt(freedom / (1.0 - r * r))))


def _centred(values: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """Distances to the mean; exactly 0 if all values are equal, where rounding hurts."""
    offsets = values - values[0]
    return offsets - offsets.mean()


def _is_constant(values: Float[np.ndarray, " point"]) -> bool:
    return bool((values == values[0]).all())


def coefficient(value: float, p: float) -> Cell:
    """A correlation with its p-value in small print."""
    if math.isnan(value):
        return Cell(NOTHING)
    return Cell(f"{value + 0.0:.2f}", "" if math.isnan(p) else f"p = {p:.2g}")


def in_words(found: Correlation) -> str:
    """Both correlations in words, if there are any."""
    if math.isnan(found.pearson):
        return ""
    return f"Pearson {found.pearson:.2f}, Kendall {found.kendall:.2f}"
