"""What the runs of the Procgen study say: aggregates, improvements and correlations.

Section 3 and appendix B of the paper, for outcomes of any games, strategies and seeds; what cannot
be told from them is left out or NaN. Each entry of a matrix of runs and games is a training of its
own, so bootstraps draw runs for each game anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.errors import DatasetError
from dred.evaluation.comparison import compare
from dred.evaluation.statistics import (
    Interval,
    by_run,
    mean,
    probability_of_improvement,
    stratified_bootstrap,
)
from dred.reports.correlations import Points
from dred.tasks.procgen.outcomes import (
    MEASURES,
    UNIFORM,
    ByGame,
    RunName,
    Spread,
    by_game,
    check,
    measured,
    order_of,
    spread_of,
    strategies_of,
    usual_size,
)
from dred.tasks.procgen.outcomes import Outcome as Outcome

PAIRS = (
    ("value-l1+uniform", "value-l1"),
    ("value-l1+mi", "value-l1"),
    ("value-l1", UNIFORM),
    ("mi", UNIFORM),
)
REPEATS = 50_000  # of bootstraps of means; both as the paper's scripts have it
PAIR_REPEATS = 2_000


class Aggregate(NamedTuple):
    """A measurement of one strategy, over games."""

    games: int
    value: float
    by_run: Float[np.ndarray, " run"]  # the mean over games of each run
    intervals: dict[float, Interval]  # by confidence


class Improvement(NamedTuple):
    """How likely a run of one strategy has more of something than a run of another."""

    strategy: str
    other: str
    games: int
    value: float
    intervals: dict[float, Interval]  # by confidence


class AtSize(NamedTuple):
    """A strategy in one game with so many training levels."""

    game: str
    strategy: str
    num_levels: int
    train: Spread
    test: Spread
    gen_gap: Spread
    shift_gap: Spread
    effective_levels: Spread
    train_deficit: Spread  # uniform's train score − this one's, seed by seed


@dataclass(frozen=True)
class Findings:
    """All that is said about a study."""

    outcomes: Sequence[Outcome]
    size: int  # number of training levels of the runs that games and strategies are compared by
    usual: Sequence[Outcome]  # these runs
    over: Mapping[str, Mapping[str, Aggregate]]  # by measurement and strategy
    improvements: Mapping[str, Sequence[Improvement]]  # by measurement
    sizes: Sequence[AtSize]


def analyse(
    outcomes: Sequence[Outcome],
    *,
    size: int | None = None,
    repeats: int = REPEATS,
    pair_repeats: int = PAIR_REPEATS,
    seed: int = 0,
) -> Findings:
    """Everything that takes work; `size` is the number of levels that most runs have."""
    check(outcomes)
    size = usual_size(outcomes) if size is None else size
    usual = [one for one in outcomes if one.num_levels == size]
    if not usual:
        known = ", ".join(map(str, sorted({one.num_levels for one in outcomes})))
        raise DatasetError(f"No run has {size} training levels. There are runs with {known}.")
    keys = dict.fromkeys(measure.over_games for measure in MEASURES)
    return Findings(
        outcomes,
        size,
        usual,
        {key: aggregates(usual, key, repeats=repeats, seed=seed) for key in keys},
        {
            key: improvements(usual, key, repeats=pair_repeats, seed=seed)
            for key in ("test", "gen_gap")
        },
        by_size(outcomes),
    )


def best_of(groups: Mapping[str, Float[np.ndarray, "_"]], *, higher: bool) -> frozenset[str]:
    """Return the best strategy and those that do not differ from it, if that can be tested."""
    there = {name: runs for name, runs in groups.items() if len(runs)}
    return compare(there, higher_is_better=higher)[0]


def matrix_of(table: ByGame, strategy: str, games: Sequence[str]) -> Float[np.ndarray, "run game"]:
    """Runs × games of one strategy; as many runs as the game with the fewest has, by seed."""
    columns = [table[game][strategy] for game in games]
    runs = min(map(len, columns))
    return np.stack([column[:runs] for column in columns], axis=1)


def aggregates(
    outcomes: Sequence[Outcome], measure: str, *, repeats: int = REPEATS, seed: int = 0
) -> dict[str, Aggregate]:
    """Return the mean over games of each strategy, with intervals.

    Only games in which all strategies were measured count, so that all are judged by the same
    ones. Empty if there is no such game.
    """
    table = by_game(outcomes, measure)
    strategies = sorted({name for here in table.values() for name in here}, key=order_of)
    games = [game for game, here in table.items() if len(here) == len(strategies)]
    if not games:
        return {}
    found: dict[str, Aggregate] = {}
    for strategy in strategies:
        matrix = matrix_of(table, strategy, games)
        intervals = stratified_bootstrap(mean, matrix, repeats=repeats, seed=seed)
        found[strategy] = Aggregate(
            len(games), float(mean(matrix)), by_run(mean, matrix), intervals
        )
    return found


def improvements(
    outcomes: Sequence[Outcome],
    measure: str,
    *,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    repeats: int = PAIR_REPEATS,
    seed: int = 0,
) -> list[Improvement]:
    """For each pair that has a game in common: how likely the first has more than the second.

    For a score, more is an improvement; for a gap, less is.
    """
    table = by_game(outcomes, measure)
    found: list[Improvement] = []
    for one, other in pairs:
        games = [game for game, here in table.items() if one in here and other in here]
        if games:
            ours, theirs = (matrix_of(table, name, games) for name in (one, other))
            value = float(probability_of_improvement(ours, theirs))
            intervals = stratified_bootstrap(
                probability_of_improvement, ours, theirs, repeats=repeats, seed=seed
            )
            found.append(Improvement(one, other, len(games), value, intervals))
    return found


def points_of(outcomes: Sequence[Outcome], x: str, y: str, *, seed_means: bool = False) -> Points:
    """Two measurements of each run that has both, or their means over the seeds of each game."""
    all_x, all_y = measured(outcomes, x), measured(outcomes, y)
    groups: dict[RunName, list[tuple[float, float]]] = {}
    for run in sorted(set(all_x) & set(all_y)):
        group = run._replace(seed=0) if seed_means else run
        groups.setdefault(group, []).append((all_x[run], all_y[run]))
    pairs = np.array([np.mean(group, axis=0) for group in groups.values()]).reshape(-1, 2)
    return Points(tuple((run.game, run.strategy) for run in groups), pairs[:, 0], pairs[:, 1])


def by_size(outcomes: Sequence[Outcome]) -> list[AtSize]:
    """A row for each strategy, game and number of levels, where there are several numbers."""
    rows: list[AtSize] = []
    for game in sorted({one.game for one in outcomes}):
        here = [one for one in outcomes if one.game == game]
        for strategy in strategies_of(here):
            mine = sorted({one.num_levels for one in here if one.strategy == strategy})
            if len(mine) > 1:
                rows += [at_size(here, game, strategy, size) for size in mine]
    return rows


def at_size(outcomes: Sequence[Outcome], game: str, strategy: str, num_levels: int) -> AtSize:
    """Return one strategy in one game with one number of levels."""
    there = [one for one in outcomes if (one.game, one.num_levels) == (game, num_levels)]
    mine = sorted((one for one in there if one.strategy == strategy), key=lambda one: one.seed)
    uniform = {one.seed: one.train for one in there if one.strategy == UNIFORM}
    deficit = [uniform[one.seed] - one.train for one in mine if one.seed in uniform]

    def spread(values: list[float]) -> Spread:
        some = np.array(values, np.float64)
        return spread_of(some[np.isfinite(some)])

    return AtSize(
        game,
        strategy,
        num_levels,
        *(
            spread([getattr(one, measure) for one in mine])
            for measure in ("train", "test", "gen_gap", "shift_gap", "effective_levels")
        ),
        train_deficit=spread(deficit),
    )
