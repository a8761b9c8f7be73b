"""Intervals where runs are few: from resampled runs and resampled levels.

Two runs that happen to agree would have an interval of no width by themselves. The levels that they
played are a sample, too, so they are drawn as the runs are.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Shaped

from dred.evaluation.statistics import (
    CONFIDENCES,
    ENTRIES_AT_ONCE,
    Interval,
    Statistic,
    check,
    intervals_of,
    probability_of_improvement,
)

REPEATS = 1_000  # fewer than of runs alone: here nothing can be computed once for all


def bootstrap_with_levels(
    statistic: Statistic,
    scores: Shaped[np.ndarray, "run level"],
    *,
    confidences: Sequence[float] = CONFIDENCES,
    repeats: int = REPEATS,
    seed: int = 0,
) -> dict[float, Interval]:
    """Return where the statistic would fall with other runs and other levels, by confidence.

    Whole runs and whole levels are drawn with replacement, for when runs are too few to tell by
    themselves. NaN for one run, and where all resamples give the same.
    """
    check(scores)
    if len(scores) == 1 or scores.min() == scores.max():
        return intervals_of(np.empty(0), confidences, known=False)
    generator = np.random.default_rng([seed, 0])
    num_runs, num_levels = scores.shape
    at_once = max(1, ENTRIES_AT_ONCE // scores.size)
    parts: list[Float[np.ndarray, " some_repeats"]] = []
    for begin in range(0, repeats, at_once):
        count = min(at_once, repeats - begin)
        runs = generator.integers(num_runs, size=(count, num_runs, 1))
        levels = generator.integers(num_levels, size=(count, 1, num_levels))
        parts.append(statistic(scores[runs, levels]))
    return if_they_vary(np.concatenate(parts), confidences, runs=num_runs)


def improvement_with_levels(
    x: Float[np.ndarray, "run level"],
    y: Float[np.ndarray, "other_run level"],
    *,
    confidences: Sequence[float] = CONFIDENCES,
    repeats: int = REPEATS,
    seed: int = 0,
) -> dict[float, Interval]:
    """Return the same of P(X > Y), whose levels are drawn for X and Y together."""
    shape = (len(x), len(y), x.shape[1], 1, 1)
    wins = probability_of_improvement(  # of each run of X over each run of Y in each level
        np.broadcast_to(x[:, None, :, None, None], shape),
        np.broadcast_to(y[None, :, :, None, None], shape),
    )
    generator = np.random.default_rng([seed, 0])
    num_levels = x.shape[1]
    weights = generator.multinomial(num_levels, [1 / num_levels] * num_levels, size=repeats)
    ours, theirs = (generator.integers(len(m), size=(repeats, len(m))) for m in (x, y))
    chosen = np.arange(repeats)[:, None, None], ours[:, :, None], theirs[:, None, :]
    values = (np.einsum("xyl,rl->rxy", wins, weights) / num_levels)[chosen].mean(axis=(1, 2))
    return if_they_vary(values, confidences, runs=min(len(x), len(y)))


def if_they_vary(
    values: Float[np.ndarray, " repeat"], confidences: Sequence[float], *, runs: int
) -> dict[float, Interval]:
    """Return intervals; NaN for one run, and where all values are the same but for rounding."""
    return intervals_of(values, confidences, known=runs > 1 and bool(np.ptp(values) > 1e-12))
