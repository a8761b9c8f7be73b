"""What the runs of the Procgen study came to: one record a run, and simple tables of them.

Games, strategies and seeds may be missing, and so may be single measurements, which are NaN then.
The names of measurements are those of `Outcome`, with `normalised_` before them for the scores of
`normalised`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.errors import DatasetError

UNIFORM = "uniform"
STRATEGIES = (UNIFORM, "value-l1", "mi", "value-l1+uniform", "value-l1+mi")
NORMALISED = "normalised_"


class RunName(NamedTuple):
    """Which run: no two of a study are alike in all of this."""

    game: str
    strategy: str
    num_levels: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What one training came to; NaN for what was not measured."""

    game: str
    strategy: str
    num_levels: int  # |L|: training levels
    seed: int
    train: float  # mean return on the training levels, in the game's own points
    test: float  # ... on levels that were never trained on
    information: float = math.nan  # I(L; b), nats
    accuracy: float = math.nan  # share of observations whose level the classifier names
    shift_gap: float = math.nan  # in the game's own points
    effective_levels: float = math.nan  # e to the entropy of the distribution it is about
    value_loss: float = math.nan  # mean |advantage|, in rewards as the agent's critic sees them
    untrained_train: float = math.nan  # the same of the agent before it learned anything
    untrained_test: float = math.nan
    untrained_information: float = math.nan
    untrained_accuracy: float = math.nan

    @property
    def run(self) -> RunName:
        """Which run this is of."""
        return RunName(self.game, self.strategy, self.num_levels, self.seed)

    @property
    def gen_gap(self) -> float:
        """What the agent gets more on training levels than on others."""
        return self.train - self.test

    @property
    def untrained_gen_gap(self) -> float:
        """What it got more there before it learned anything: training levels may be easier."""
        return self.untrained_train - self.untrained_test

    @property
    def learned_gen_gap(self) -> float:
        """What training has added to the difference."""
        return self.gen_gap - self.untrained_gen_gap

    @property
    def learned_information(self) -> float:
        """What training has added to the information; below 0 if it has taken some away."""
        return self.information - self.untrained_information


class Measure(NamedTuple):
    """A measurement that has a table of its own."""

    key: str
    label: str
    over_games: str  # which measurement has a meaning as a mean over games
    over_games_label: str
    higher: bool = False  # is better
    percent: bool = False
    printed_digits: int = 1  # behind the point, in the paper

    @property
    def table(self) -> str:
        """What its table and figures are called."""
        return self.key.replace("_", "-")


MEASURES = (
    Measure("train", "Train score", "normalised_train", "normalised train score", higher=True),
    Measure("test", "Test score", "normalised_test", "normalised test score", higher=True),
    Measure("gen_gap", "GenGap", "normalised_gen_gap", "normalised GenGap"),
    Measure("information", "I(L; b), nats", "information", "I(L; b), nats", printed_digits=2),
    Measure(
        "accuracy",
        "Accuracy of the level classifier",
        "accuracy",
        "classifier accuracy",
        percent=True,
    ),
)


class Spread(NamedTuple):
    """A few runs in short."""

    runs: int
    mean: float
    deviation: float  # population (÷ n), as in the paper's tables; NaN for fewer than two runs

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.runs - 1) if self.runs > 1 else math.nan


ByGame = dict[str, dict[str, Float[np.ndarray, "_"]]]  # by game and strategy, one number a run


def check(outcomes: Sequence[Outcome]) -> None:
    """Stop if there is nothing to analyse, or if it cannot be what a study found."""
    if not outcomes:
        raise DatasetError("There are no outcomes to analyse: give those of at least one run.")
    seen: set[RunName] = set()
    for one in outcomes:
        which = f"{one.strategy} in {one.game} with {one.num_levels} levels and seed {one.seed}"
        if one.run in seen:
            raise DatasetError(
                f"There are two outcomes of {which}. Give one for each run, the last if a run was "
                "measured again."
            )
        if one.num_levels < 1:
            raise DatasetError(f"{which}: an agent needs at least one training level.")
        if any(math.isinf(value) for value in vars(one).values() if isinstance(value, float)):
            raise DatasetError(
                f"{which} has an infinite measurement. Leave this run out, or pass NaN for what "
                "could not be measured."
            )
        seen.add(one.run)


def usual_size(outcomes: Sequence[Outcome]) -> int:
    """The number of training levels that most runs have; of several, the smallest."""
    sizes = [one.num_levels for one in outcomes]
    return max(set(sizes), key=lambda size: (sizes.count(size), -size))


def strategies_of(outcomes: Iterable[Outcome]) -> list[str]:
    """The strategies that occur: the paper's first and in its order, then others by name."""
    return sorted({one.strategy for one in outcomes}, key=order_of)


def order_of(strategy: str) -> tuple[int, str]:
    """Where a strategy stands among others."""
    return (STRATEGIES.index(strategy) if strategy in STRATEGIES else len(STRATEGIES), strategy)


def scales(outcomes: Iterable[Outcome]) -> dict[tuple[str, int], float]:
    """Uniform's mean test score, by game and number of levels; only where that is above 0."""
    scores: dict[tuple[str, int], list[float]] = {}
    for one in outcomes:
        if one.strategy == UNIFORM and math.isfinite(one.test):
            scores.setdefault((one.game, one.num_levels), []).append(one.test)
    means = {where: sum(some) / len(some) for where, some in scores.items()}
    return {where: scale for where, scale in means.items() if scale > 0}


def normalised(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """All scores and gaps, divided by uniform's mean test score in their game.

    This makes games comparable. NaN where uniform was not run, or got nothing.
    """
    scale = scales(outcomes)
    return [
        replace(one, train=one.train / by, test=one.test / by, shift_gap=one.shift_gap / by)
        for one in outcomes
        for by in [scale.get((one.game, one.num_levels), math.nan)]
    ]


def measured(outcomes: Sequence[Outcome], measure: str) -> dict[RunName, float]:
    """One measurement of every run that has it."""
    some = normalised(outcomes) if measure.startswith(NORMALISED) else outcomes
    values = {one.run: float(getattr(one, measure.removeprefix(NORMALISED))) for one in some}
    return {run: value for run, value in values.items() if math.isfinite(value)}


def by_game(outcomes: Sequence[Outcome], measure: str) -> ByGame:
    """One measurement by game and strategy, in the order of seeds; what nobody has is left out."""
    sizes = sorted({one.num_levels for one in outcomes})
    if len(sizes) > 1:
        raise DatasetError(
            f"Runs with {' and '.join(map(str, sizes))} training levels do not go into one table: "
            "give those of one number of levels."
        )
    found: dict[str, dict[str, list[float]]] = {}
    values = measured(outcomes, measure)
    for run in sorted(values, key=lambda run: (run.game, order_of(run.strategy), run.seed)):
        found.setdefault(run.game, {}).setdefault(run.strategy, []).append(values[run])
    return {
        game: {strategy: np.array(some) for strategy, some in here.items()}
        for game, here in found.items()
    }


def spread_of(values: Float[np.ndarray, "_"]) -> Spread:
    """Mean and population standard deviation over runs."""
    if not len(values):
        return Spread(0, math.nan, math.nan)
    deviation = float(values.std()) if len(values) > 1 else math.nan
    return Spread(len(values), float(values.mean()), deviation)
