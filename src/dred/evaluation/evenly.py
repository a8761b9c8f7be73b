"""Fewer levels, evenly over a set."""

import numpy as np
from jaxtyping import Int

from dred.task import LevelSet


def spread(levels: LevelSet, most: int) -> LevelSet:
    """At most so many levels, evenly over the whole set."""
    return levels[spread_over(len(levels), most)]


def spread_over(count: int, most: int) -> Int[np.ndarray, " chosen"]:
    """The numbers of at most so many of `count` levels, evenly over all of them."""
    return np.linspace(0, count - 1, min(most, count)).round().astype(int)
