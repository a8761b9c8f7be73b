"""What a few runs tell about a method: aggregate scores, and how sure they are.

Scores are a matrix with a row for each run (seed) and a column for each level or task. A statistic
turns such a matrix into one number. It works on the last two axes, so a stack of matrices gives a
number for each: the bootstrap hands it thousands of resampled matrices at once.

The aggregates, the stratified percentile bootstrap and the probability of improvement are those of
Agarwal et al. (2021), "Deep Reinforcement Learning at the Edge of the Statistical Precipice".
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy.stats import trim_mean

from dred.errors import ConfigError, DatasetError

Statistic = Callable[..., Float[np.ndarray, "*resample"]]
CONFIDENCES = (0.95, 0.99)
REPEATS = 10_000
ENTRIES_AT_ONCE = 2**21  # resampled scores in memory together; does not change any result


class Interval(NamedTuple):
    """A range that is likely to hold the true value."""

    low: float
    high: float


class Estimate(NamedTuple):
    """One aggregate number, and how much it would differ with other seeds."""

    value: float
    deviation: float  # standard deviation (n − 1) of what each run alone gives; NaN for one run
    intervals: dict[float, Interval]  # by confidence


class Summary(NamedTuple):
    """One row of a report table: all aggregates of one method on one set of levels."""

    runs: int
    levels: int
    mean: Estimate
    interquartile_mean: Estimate
    optimality_gap: Estimate
    conditional_value_at_risk: Estimate
    solved_rate: Estimate | None  # None if it was not said what was solved


def mean(scores: Float[np.ndarray, "*resample run level"]) -> Float[np.ndarray, "*resample"]:
    """Return the mean of all scores."""
    check(scores)
    return np.asarray(scores.mean(axis=(-2, -1), dtype=np.float64))


def interquartile_mean(
    scores: Float[np.ndarray, "*resample run level"],
) -> Float[np.ndarray, "*resample"]:
    """Return the mean of the middle half of all scores, over runs and levels together.

    Of n scores the ⌊n / 4⌋ lowest and as many of the highest are left out.
    """
    check(scores)
    together = scores.reshape(*scores.shape[:-2], -1).astype(np.float64, copy=False)
    return np.asarray(trim_mean(together, 0.25, axis=-1))


def optimality_gap(
    scores: Float[np.ndarray, "*resample run level"],
    best: Float[np.ndarray, " known_level"] | float = 1.0,
) -> Float[np.ndarray, "*resample"]:
    """Return how far scores are from the best possible, on average: mean of max(best − score, 0).

    `best` is the optimal return of each level, or one threshold γ for all of them.
    """
    return np.asarray(shortfalls(scores, best).mean(axis=(-2, -1)))


def shortfalls(
    scores: Float[np.ndarray, "*resample run level"],
    best: Float[np.ndarray, " known_level"] | float = 1.0,
) -> Float[np.ndarray, "*resample run level"]:
    """Return what is missing to the best possible in each place: max(best − score, 0)."""
    check(scores)
    optimal = np.asarray(best, np.float64)
    levels = scores.shape[-1]
    if optimal.shape not in ((), (levels,)) or not np.isfinite(optimal).all():
        raise DatasetError(
            f"best must be one number, or one for each of the {levels} levels, without NaN; found "
            f"an array of shape {list(optimal.shape)}. Pass the optimal returns of these levels."
        )
    return np.maximum(optimal - scores, 0.0)


def solved_rate(
    solved: Bool[np.ndarray, "*resample run level"] | Float[np.ndarray, "*resample run level"],
) -> Float[np.ndarray, "*resample"]:
    """Return the share of episodes that were solved; an entry may itself be a share of several."""
    check(solved, "solved")
    if solved.min() < 0 or solved.max() > 1:
        raise DatasetError(
            "solved must hold true and false, or shares from 0 to 1; found values from "
            f"{solved.min():g} to {solved.max():g}. Pass what was solved, not the scores."
        )
    return np.asarray(solved.mean(axis=(-2, -1)))


def conditional_value_at_risk(
    scores: Float[np.ndarray, "*resample run level"], share: float = 0.1
) -> Float[np.ndarray, "*resample"]:
    """Return the mean score in the worst levels, where worst is judged by the mean over runs.

    Worst are the ⌊share · levels + ½⌋ levels with the lowest means: the nearest whole number, a
    half rounded up, and at least one. As the same runs choose the levels and judge them, chance
    makes it too low; more so for resamples, whose interval may lie below the value itself.
    """
    check(scores)
    if not 0.0 < share <= 1.0:
        raise ConfigError(
            f"share (={share}) must be above 0 and at most 1: it is the part of the levels that "
            "counts as the worst. Try 0.1."
        )
    of_level = scores.mean(axis=-2, dtype=np.float64)
    worst = max(1, int(share * scores.shape[-1] + 0.5))
    lowest = np.partition(of_level, worst - 1, axis=-1)[..., :worst]
    return np.asarray(lowest.mean(axis=-1))


def probability_of_improvement(
    x: Float[np.ndarray, "*resample run level"],
    y: Float[np.ndarray, "*resample other_run other_level"],
) -> Float[np.ndarray, "*resample"]:
    """Return how likely a run of X beats a run of Y in a level, on average over levels.

        P(X > Y) = mean over levels of U / (n · m),   U = pairs that X wins + ½ pairs that tie

    U is the Mann–Whitney statistic of the n runs of X and the m runs of Y. Both need the same
    levels, in the same order.
    """
    check(x, "x")
    check(y, "y")
    if x.shape[-1] != y.shape[-1]:
        raise DatasetError(
            f"x and y must have scores for the same levels, but x has {x.shape[-1]} and y has "
            f"{y.shape[-1]}. Evaluate both methods on the same set of levels."
        )
    ours, theirs = x[..., :, None, :], y[..., None, :, :]
    wins = (ours > theirs).mean(axis=(-3, -2, -1))
    wins_and_ties = (ours >= theirs).mean(axis=(-3, -2, -1))
    return np.asarray((wins + wins_and_ties) / 2)


def one_by_one(statistic: Callable[..., float | Float[np.ndarray, ""]]) -> Statistic:
    """Make a statistic of single matrices fit for the bootstrap; slower than one for stacks."""

    def of_stacks(
        *stacks: Shaped[np.ndarray, "resample _ _"],
    ) -> Float[np.ndarray, " resample"]:
        return np.array([float(statistic(*one)) for one in zip(*stacks, strict=True)])

    return of_stacks


def by_run(
    statistic: Statistic, scores: Shaped[np.ndarray, "run level"]
) -> Float[np.ndarray, " run"]:
    """Return what each run alone gives: what tables report the spread of and tests compare."""
    return statistic(scores[:, None, :])


def stratified_bootstrap(
    statistic: Statistic,
    *matrices: Shaped[np.ndarray, "_ _"],
    confidences: Sequence[float] = CONFIDENCES,
    repeats: int = REPEATS,
    seed: int = 0,
    whole_runs: bool = False,
) -> dict[float, Interval]:
    """Return where the statistic would fall with other runs: percentile intervals, by confidence.

    Runs are drawn with replacement, for each level anew; as if each entry came from a training of
    its own. If one agent played all levels of a row, its luck is shared by them, and intervals are
    too narrow unless `whole_runs` are drawn. Each of several matrices is drawn independently.
    One run says nothing about others: its intervals are NaN.
    """
    values = bootstrap_values(
        [statistic], *matrices, repeats=repeats, seed=seed, whole_runs=whole_runs
    )
    return intervals_of(values[0], confidences, known=_have_spread(*matrices))


def bootstrap_values(
    statistics: Sequence[Statistic],
    *matrices: Shaped[np.ndarray, "_ _"],
    repeats: int = REPEATS,
    seed: int = 0,
    whole_runs: bool = False,
) -> Float[np.ndarray, "statistic repeat"]:
    """Return each statistic of the same `repeats` resamples.

    The k-th matrix, counted from 0, is drawn with NumPy's default generator for [seed, k]: a run
    for each repeat, row and level, in this order; with `whole_runs`, for each repeat and row.
    """
    for matrix in matrices:
        check(matrix)
    if not matrices or repeats < 1 or seed < 0:
        raise ConfigError(
            "A bootstrap needs at least one matrix of scores, one repeat and a seed that is not "
            f"negative; found {len(matrices)} matrices, repeats={repeats} and seed={seed}."
        )
    generators = [np.random.default_rng([seed, place]) for place in range(len(matrices))]
    at_once = max(1, ENTRIES_AT_ONCE // sum(matrix.size for matrix in matrices))
    parts: list[Float[np.ndarray, "statistic some_repeats"]] = []
    for begin in range(0, repeats, at_once):
        count = min(at_once, repeats - begin)
        stacks = [
            _resampled(matrix, count, generator, whole_runs)
            for matrix, generator in zip(matrices, generators, strict=True)
        ]
        parts.append(np.stack([_one_each(statistic, stacks, count) for statistic in statistics]))
    return np.concatenate(parts, axis=1)


def summarise(
    scores: Float[np.ndarray, "run level"],
    *,
    best: Float[np.ndarray, " known_level"] | float = 1.0,
    solved: Bool[np.ndarray, "_ _"] | Float[np.ndarray, "_ _"] | None = None,
    share: float = 0.1,
    confidences: Sequence[float] = CONFIDENCES,
    repeats: int = REPEATS,
    seed: int = 0,
    whole_runs: bool = False,
) -> Summary:
    """Return all aggregates of one method, with intervals from one set of resamples.

    `best` is as in `optimality_gap`, `share` as in `conditional_value_at_risk`, and the rest as in
    `stratified_bootstrap`.
    """
    check(scores)
    if solved is not None and solved.shape != scores.shape:
        raise DatasetError(
            f"solved must have the shape of the scores, {list(scores.shape)}; found "
            f"{list(solved.shape)}. Both need a row for each run and a column for each level."
        )

    def estimates(matrix: Shaped[np.ndarray, "run level"], *chosen: Statistic) -> list[Estimate]:
        rows = bootstrap_values(chosen, matrix, repeats=repeats, seed=seed, whole_runs=whole_runs)
        return [
            Estimate(
                float(statistic(matrix)),
                deviation(by_run(statistic, matrix)),
                intervals_of(values, confidences, known=_have_spread(matrix)),
            )
            for statistic, values in zip(chosen, rows, strict=True)
        ]

    gap = partial(optimality_gap, best=best)
    worst = partial(conditional_value_at_risk, share=share)
    return Summary(
        *scores.shape,
        *estimates(scores, mean, interquartile_mean, gap, worst),
        solved_rate=None if solved is None else estimates(solved, solved_rate)[0],
    )


def check(scores: Shaped[np.ndarray, "..."], what: str = "scores") -> None:
    """Stop if this is not a full matrix of numbers, or a stack of such matrices."""
    if scores.ndim < 2 or scores.size == 0:
        raise DatasetError(
            f"{what} must be a matrix with a row for each run and a column for each level, at "
            f"least one of both; found an array of shape {list(scores.shape)}."
        )
    finite = np.isfinite(scores)
    if not finite.all():
        missing = np.argwhere(~finite)
        *_, run, level = missing[0]
        raise DatasetError(
            f"{what} must all be finite numbers, but {len(missing)} of {scores.size} are not; the "
            f"first is {scores[tuple(missing[0])]} in run {run}, level {level}. Evaluate what is "
            "missing, or leave those runs or levels out."
        )


def _resampled(
    matrix: Shaped[np.ndarray, "run level"],
    count: int,
    generator: np.random.Generator,
    whole_runs: bool,
) -> Shaped[np.ndarray, "{count} run level"]:
    """Return matrices whose entries are drawn from the same column, or whose rows from all rows."""
    runs, levels = matrix.shape
    drawn = generator.integers(runs, size=(count, runs, 1 if whole_runs else levels))
    return matrix[drawn, np.arange(levels)]


def _one_each(
    statistic: Statistic, stacks: Sequence[Shaped[np.ndarray, "_ _ _"]], count: int
) -> Float[np.ndarray, " {count}"]:
    """Return the statistic of each resample; stops if it gives anything but a number for each."""
    values = statistic(*stacks)
    if np.shape(values) != (count,):
        raise ConfigError(
            f"The statistic must give a number for each of {count} stacked matrices, but gave an "
            f"array of shape {list(np.shape(values))}. If it knows only single matrices, pass "
            "one_by_one(statistic)."
        )
    return values


def intervals_of(
    values: Float[np.ndarray, " repeat"], confidences: Sequence[float], *, known: bool
) -> dict[float, Interval]:
    """Return the middle part of these values, for each confidence; NaN if it is not known."""
    if not all(0.0 < confidence < 1.0 for confidence in confidences):
        raise ConfigError(
            f"confidences must lie between 0 and 1, as 0.95 does; found {list(confidences)}."
        )
    if not known:
        return {confidence: Interval(float("nan"), float("nan")) for confidence in confidences}
    tails = [((1.0 - confidence) / 2, (1.0 + confidence) / 2) for confidence in confidences]
    ends = np.quantile(values, np.array(tails).reshape(-1, 2))
    return {
        confidence: Interval(float(low), float(high))
        for confidence, (low, high) in zip(confidences, ends, strict=True)
    }


def _have_spread(*matrices: Shaped[np.ndarray, "_ _"]) -> bool:
    """Return whether there is more than one run of each."""
    return all(len(matrix) > 1 for matrix in matrices)


def mean_and_variance(values: Float[np.ndarray, " run"]) -> tuple[float, float]:
    """Return the mean and the variance (n − 1), exactly if all values are equal."""
    offsets = values.astype(np.float64) - values[0]
    variance = float(offsets.var(ddof=1)) if len(values) > 1 else float("nan")
    return float(values[0]) + float(offsets.mean()), variance


def deviation(values: Float[np.ndarray, " run"]) -> float:
    """Return the standard deviation (n − 1) of these values; NaN for fewer than two."""
    return mean_and_variance(values)[1] ** 0.5 if len(values) > 1 else float("nan")
