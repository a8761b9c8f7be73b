"""The numbers of a report: aggregates with intervals, comparisons, probabilities of improvement.

One agent plays all levels of a suite, so its luck is shared by them: intervals are from resampling
whole runs. Two runs, or runs that do not differ, tell too little by themselves; then levels are
resampled as well, and tables say so.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dred.evaluation.comparison import compare, tells_of_others
from dred.evaluation.few_runs import bootstrap_with_levels, improvement_with_levels
from dred.evaluation.statistics import (
    ENTRIES_AT_ONCE,
    Estimate,
    Statistic,
    by_run,
    conditional_value_at_risk,
    deviation,
    interquartile_mean,
    mean,
    probability_of_improvement,
    shortfalls,
    solved_rate,
    stratified_bootstrap,
)
from dred.reports.material import Material, Method, Suite
from dred.reports.scores import Scores


class Aggregate(NamedTuple):
    """One column of the headline table."""

    key: str
    label: str
    of: Callable[[Scores, Suite], Float[np.ndarray, "run level"] | None]  # None if not known
    statistic: Statistic
    plain: str = ""  # what it says, for readers
    percent: bool = False
    higher_is_better: bool = True
    headline: bool = True  # shown, not only written to files


def missing(scores: Scores, suite: Suite) -> Float[np.ndarray, "run level"] | None:
    """Return the distance to each level's own optimal return; None if that is not known."""
    return None if suite.optimal is None else shortfalls(scores.returned, suite.optimal)


def returned(scores: Scores, _: Suite) -> Float[np.ndarray, "run level"]:
    """Return what most aggregates are about."""
    return scores.returned


def solved(scores: Scores, _: Suite) -> Float[np.ndarray, "run level"]:
    """Return the share of episodes that were solved."""
    return scores.solved


AGGREGATES = (
    Aggregate("mean_return", "Mean return", returned, mean, "What an episode brings on average."),
    Aggregate(
        "interquartile_mean",
        "IQM",
        returned,
        interquartile_mean,
        "The mean of the middle half of all episodes: what is usual, whatever the extremes are.",
    ),
    Aggregate(
        "optimality_gap",
        "Optimality gap",
        missing,
        mean,
        "What is missing, on average, to the best return that each level allows; 0 is perfect.",
        higher_is_better=False,
    ),
    Aggregate(
        "solved_rate",
        "Solved",
        solved,
        solved_rate,
        "How many episodes end well.",
        percent=True,
    ),
    Aggregate(
        "cvar_10",
        "CVaR, worst 10 %",
        returned,
        conditional_value_at_risk,
        "The mean return in the tenth of the levels that went worst: how bad it gets. 0 means that "
        "these were not solved at all.",
    ),
    Aggregate(
        "cvar_1",
        "CVaR, worst 1 %",
        returned,
        partial(conditional_value_at_risk, share=0.01),
        headline=False,
    ),
)


class Result(NamedTuple):
    """An aggregate of one method on one suite."""

    estimate: Estimate
    by_run: Float[np.ndarray, " run"]
    is_best: bool  # best, or not significantly different from the best; never if that is all
    is_tested: bool  # whether it could be tested


class Improvement(NamedTuple):
    """How likely one method beats another."""

    suite: str
    better: str
    other: str
    estimate: Estimate


Results = Mapping[str, Mapping[str, Mapping[str, Result]]]  # by suite, aggregate and method


def results_of(material: Material, *, seed: int = 0) -> Results:
    """Return every aggregate that is known of every method on every suite."""
    return {
        suite.name: {
            aggregate.key: found
            for aggregate in AGGREGATES
            if (found := compared(material, suite, aggregate, seed=seed))
        }
        for suite in material.suites
    }


def compared(
    material: Material, suite: Suite, aggregate: Aggregate, *, seed: int
) -> dict[str, Result]:
    """Return one aggregate of all methods, and which of them are best; nothing if not known."""
    given = {m.name: aggregate.of(m.scores[suite.name], suite) for m in material.methods}
    scores = {name: matrix for name, matrix in given.items() if matrix is not None}
    if not scores:
        return {}
    statistic = aggregate.statistic
    alone = {name: by_run(statistic, matrix) for name, matrix in scores.items()}
    best, is_tested = compare(alone, higher_is_better=aggregate.higher_is_better)
    return {
        name: Result(estimate(statistic, matrix, seed=seed), alone[name], name in best, is_tested)
        for name, matrix in scores.items()
    }


def estimate(
    statistic: Statistic, scores: Float[np.ndarray, "run level"], *, seed: int = 0
) -> Estimate:
    """Return a statistic with intervals from resampled runs, as `summarise` with `whole_runs`.

    From resampled runs and levels if there are two runs, or if they do not differ.
    """
    alone = by_run(statistic, scores)
    if tells_of_others(alone):
        drawn = of_drawn_runs(statistic, scores)
        intervals = stratified_bootstrap(drawn, numbers_of(scores), seed=seed, whole_runs=True)
    else:
        intervals = bootstrap_with_levels(statistic, scores, seed=seed)
    return Estimate(float(statistic(scores)), deviation(alone), intervals)


def of_drawn_runs(statistic: Statistic, scores: Float[np.ndarray, "run level"]) -> Statistic:
    """Return the statistic as a function of which runs were drawn, each combination computed once.

    Five runs can be drawn in 126 ways, if their order does not matter, and 10 000 resamples repeat
    these.
    """

    def of_stacks(drawn: Int[np.ndarray, "resample run 1"]) -> Float[np.ndarray, " resample"]:
        in_order = np.sort(drawn[..., 0], axis=-1)
        different, place = np.unique(in_order, axis=0, return_inverse=True)
        at_once = max(1, ENTRIES_AT_ONCE // scores.size)
        parts = [
            statistic(scores[different[begin : begin + at_once]])
            for begin in range(0, len(different), at_once)
        ]
        return np.concatenate(parts)[place.reshape(-1)]

    return of_stacks


def numbers_of(scores: Float[np.ndarray, "run level"]) -> Int[np.ndarray, "run 1"]:
    """Return the numbers of the runs, as a matrix to draw from."""
    return np.arange(len(scores))[:, None]


def standard_error(values: Float[np.ndarray, " run"]) -> float:
    """Return the standard error of the mean over runs; NaN for a single one."""
    return deviation(values) / math.sqrt(len(values))


def end_numbers(runs: Float[np.ndarray, " run"]) -> tuple[int, float, float]:
    """Return the number of seeds, their mean and their deviation; NaN where there are too few."""
    return len(runs), float(runs.mean()) if len(runs) else math.nan, deviation(runs)


def improvement(
    x: Float[np.ndarray, "run level"], y: Float[np.ndarray, "other_run level"], *, seed: int = 0
) -> Estimate:
    """Return P(X > Y) with intervals from resampled runs of both; and levels, if runs are few."""
    value = float(probability_of_improvement(x, y))
    if not all(tells_of_others(by_run(mean, matrix)) for matrix in (x, y)):
        intervals = improvement_with_levels(x, y, seed=seed)
        return Estimate(value, float("nan"), intervals)
    shape = (len(x), len(y), 1, x.shape[1])
    wins = probability_of_improvement(  # of each run of X over each run of Y
        np.broadcast_to(x[:, None, None, :], shape), np.broadcast_to(y[None, :, None, :], shape)
    )

    def of_stacks(
        ours: Int[np.ndarray, "resample run 1"], theirs: Int[np.ndarray, "resample other_run 1"]
    ) -> Float[np.ndarray, " resample"]:
        return wins[ours, theirs[..., 0][:, None, :]].mean(axis=(-2, -1))

    intervals = stratified_bootstrap(
        of_stacks, numbers_of(x), numbers_of(y), seed=seed, whole_runs=True
    )
    return Estimate(value, float("nan"), intervals)


def improvements_of(material: Material, *, seed: int = 0) -> list[Improvement]:
    """Return P(X > Y) of every ordered pair of methods on every suite, judged by return."""
    return [
        Improvement(
            suite.name,
            one.name,
            other.name,
            improvement(returns(one, suite), returns(other, suite), seed=seed),
        )
        for suite in material.suites
        for one in material.methods
        for other in material.methods
        if one is not other
    ]


def returns(method: Method, suite: Suite) -> Float[np.ndarray, "run level"]:
    """Return what a method's agents got in each level of a suite."""
    return method.scores[suite.name].returned


def best_method(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the method with the highest mean return on a suite."""
    means = results["mean_return"]
    return max(means, key=lambda name: means[name].estimate.value)
