"""How two measurements go together."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import beta, kendalltau, pearsonr

FEWEST_POINTS = 3  # two points are always on a line


class Correlation(NamedTuple):
    """Two coefficients of correlation with their p-values; NaN where there is none."""

    points: int
    pearson: float = math.nan
    pearson_p: float = math.nan
    kendall: float = math.nan  # τ-b
    kendall_p: float = math.nan
    within: float = math.nan  # Pearson's, of what is left after taking each group's mean away
    within_p: float = math.nan


def correlate(x: Float[np.ndarray, " point"], y: Float[np.ndarray, " point"]) -> Correlation:
    """Return Pearson's and Kendall's correlation of two measurements of the same things.

    The p-values are two-sided and take points for independent of each other. There is no
    coefficient for fewer than three points, nor if a measurement is the same everywhere.
    """
    count = len(x)
    if count < FEWEST_POINTS or is_constant(x) or is_constant(y):
        return Correlation(count)
    tau, tau_p = np.array(kendalltau(x, y)).tolist()
    return Correlation(count, *pearson(centred(x), centred(y), freedom=count - 2), tau, tau_p)


def pearson(
    x: Float[np.ndarray, " point"], y: Float[np.ndarray, " point"], *, freedom: int
) -> tuple[float, float]:
    """Return the correlation of centred values and its p-value; NaN if one is constant.

    With so many degrees of freedom, r of unrelated values is distributed as a beta variable on
    −1 to 1. SciPy takes them from the number of points, but group means may take some more.
    """
    if freedom < 1 or not x.any() or not y.any():
        return math.nan, math.nan
    r = float(np.asarray(pearsonr(x, y))[0])
    if 1.0 - abs(r) < 1e-14:  # a line, but for rounding
        return math.copysign(1.0, r), 0.0
    return r, float(2 * beta.sf(abs(r), freedom / 2, freedom / 2, loc=-1, scale=2))


def centred(values: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """Return distances to the mean; exactly 0 if all values are equal, where rounding hurts."""
    offsets = values - values[0]
    return offsets - offsets.mean()


def is_constant(values: Float[np.ndarray, " point"]) -> bool:
    """Return whether all values are equal."""
    return bool((values == values[0]).all())
