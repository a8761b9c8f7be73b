"""The numbers of a report: aggregates with intervals, comparisons, probabilities of improvement.

One agent plays all levels of a suite, so its luck is shared by them: all intervals are from
resampling whole runs.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dred.evaluation.statistics import (
    ENTRIES_AT_ONCE,
    Estimate,
    Statistic,
    by_run,
    compare,
    conditional_value_at_risk,
    deviation,
    interquartile_mean,
    mean,
    optimality_gap,
    probability_of_improvement,
    solved_rate,
    stratified_bootstrap,
)
from dred.reports.material import Material, Method, Suite
from dred.reports.scores import Scores


class Aggregate(NamedTuple):
    """One column of the headline table."""

    key: str
    label: str
    of: Callable[[Scores], Float[np.ndarray, "run level"]]
    statistic: Callable[[Suite], Statistic | None]  # None if the suite's levels are not known
    percent: bool = False
    higher_is_better: bool = True
    headline: bool = True  # shown, not only written to files


def gap_of(suite: Suite) -> Statistic | None:
    """Return the distance to each level's own optimal return."""
    return None if suite.optimal is None else partial(optimality_gap, best=suite.optimal)


def returned(scores: Scores) -> Float[np.ndarray, "run level"]:
    """Return what most aggregates are about."""
    return scores.returned


AGGREGATES = (
    Aggregate("mean_return", "Mean return", returned, lambda _: mean),
    Aggregate("interquartile_mean", "IQM", returned, lambda _: interquartile_mean),
    Aggregate("optimality_gap", "Optimality gap", returned, gap_of, higher_is_better=False),
    Aggregate(
        "solved_rate", "Solved", lambda scores: scores.solved, lambda _: solved_rate, percent=True
    ),
    Aggregate("cvar_10", "CVaR, worst 10 %", returned, lambda _: conditional_value_at_risk),
    Aggregate(
        "cvar_1",
        "CVaR, worst 1 %",
        returned,
        lambda _: partial(conditional_value_at_risk, share=0.01),
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
            aggregate.key: compared(material, suite, aggregate, seed=seed)
            for aggregate in AGGREGATES
            if aggregate.statistic(suite) is not None
        }
        for suite in material.suites
    }


def compared(
    material: Material, suite: Suite, aggregate: Aggregate, *, seed: int
) -> dict[str, Result]:
    """Return one aggregate of all methods, and which of them are best."""
    statistic = aggregate.statistic(suite)
    assert statistic is not None
    scores = {m.name: aggregate.of(m.scores[suite.name]) for m in material.methods}
    alone = {name: by_run(statistic, matrix) for name, matrix in scores.items()}
    best, is_tested = compare(alone, higher_is_better=aggregate.higher_is_better)
    return {
        name: Result(estimate(statistic, matrix, seed=seed), alone[name], name in best, is_tested)
        for name, matrix in scores.items()
    }


def estimate(
    statistic: Statistic, scores: Float[np.ndarray, "run level"], *, seed: int = 0
) -> Estimate:
    """Return a statistic with intervals from resampled runs, as `summarise` with `whole_runs`."""
    intervals = stratified_bootstrap(
        of_drawn_runs(statistic, scores), numbers_of(scores), seed=seed, whole_runs=True
    )
    return Estimate(float(statistic(scores)), deviation(by_run(statistic, scores)), intervals)


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
    """Return P(X > Y) with intervals from resampled runs of both."""
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
    return Estimate(float(wins.mean()), float("nan"), intervals)


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
