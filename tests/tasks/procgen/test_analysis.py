"""What the analysis of the Procgen study says, against the paper's tables and against hand work."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr
from scipy.stats import t as student

from dred.errors import DatasetError
from dred.reports.correlations import Correlation, Points, correlation
from dred.reports.paper import Printed
from dred.tasks.procgen import GAMES
from dred.tasks.procgen.analysis import (
    PAIRS,
    aggregates,
    analyse,
    best_of,
    by_size,
    improvements,
    points_of,
)
from dred.tasks.procgen.outcomes import (
    STRATEGIES,
    Outcome,
    Spread,
    by_game,
    check,
    measured,
    normalised,
    spread_of,
    strategies_of,
    usual_size,
)
from dred.tasks.procgen.paper import ALL, printed, printed_means, table

FEW = {"repeats": 200}
nan = math.nan


def outcome(game="maze", strategy="uniform", seed=0, train=1.0, test=1.0, size=200, **more):
    return Outcome(game, strategy, size, seed, float(train), float(test), **more)


def series(x, y, games=None):
    games = games or [f"game {i}" for i in range(len(x))]
    return Points(tuple((g, "uniform") for g in games), np.array(x, float), np.array(y, float))


def slow_kendall(x, y):
    """τ-b, pair by pair."""
    pairs = list(combinations(range(len(x)), 2))
    sign = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in pairs]
    agree = sum(a * b for a, b in sign)
    untied_x, untied_y = sum(a != 0 for a, _ in sign), sum(b != 0 for _, b in sign)
    return agree / math.sqrt(untied_x * untied_y)


# The paper's tables


def test_the_paper_has_sixteen_games_five_strategies_and_four_measurements():
    games = {game for game, _, _ in table()} - {ALL}
    assert games == set(GAMES)
    for measure in ("train", "test", "information", "accuracy"):
        there = {(g, s) for g, s, m in table() if m == measure and g != ALL}
        assert there == {(game, strategy) for game in GAMES for strategy in STRATEGIES}
    assert len(table()) == 4 * 16 * 5 + 4 * 5
    assert all(one.mean >= 0 and one.spread >= 0 for one in table().values())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("bigfish", "value-l1+mi", "test"), (12.4, 3.4)),
        (("heist", "uniform", "information"), (3.68, 0.36)),
        (("fruitbot", "mi", "train"), (23.1, 0.7)),
        (("miner", "value-l1", "accuracy"), (0.855, 0.011)),
        (("starpilot", "value-l1+uniform", "test"), (25.2, 2.3)),
        (("all", "mi", "normalised_test"), (0.970, 0.040)),
        (("all", "value-l1", "information"), (2.61, 0.05)),
    ],
)
def test_some_of_its_numbers_by_eye(where, expected):
    assert table()[where] == Printed(*expected)


@pytest.mark.parametrize("measure", ["information", "accuracy"])
def test_its_means_over_games_are_those_of_its_games(measure):
    for strategy, one in aggregates(printed_means(), measure, **FEW).items():
        assert one.value == pytest.approx(printed(ALL, strategy, measure).mean, abs=0.006)
        assert one.games == 16


@pytest.mark.parametrize("measure", ["normalised_train", "normalised_test"])
def test_its_normalised_scores_follow_from_its_scores(measure):
    # Scores are printed with one digit behind the point, and dodgeball's are near 1.
    for strategy, one in aggregates(printed_means(), measure, **FEW).items():
        assert one.value == pytest.approx(printed(ALL, strategy, measure).mean, abs=0.012)


def test_its_gap_is_the_difference_of_its_scores():
    assert printed("bigfish", "uniform", "gen_gap") == Printed(10.5 - 4.2, None)
    assert printed(ALL, "mi", "normalised_gen_gap") == Printed(1.131 - 0.970, None)
    assert printed("bigfish", "plr", "gen_gap") is None
    assert printed("bigfish", "uniform", "value_loss") is None


@pytest.mark.parametrize(
    ("y", "pearson", "kendall"), [("gen_gap", 0.741, 0.645), ("normalised_gen_gap", 0.548, 0.584)]
)
def test_correlations_of_its_printed_means(y, pearson, kendall):
    found = correlation(points_of(printed_means(), "information", y))
    assert found.points == 80
    assert found.pearson == pytest.approx(pearson, abs=0.0015)
    assert found.kendall == pytest.approx(kendall, abs=0.0015)
    assert found.pearson_p < 1e-6 and found.kendall_p < 1e-13


def test_within_games_too():
    found = correlation(points_of(printed_means(), "information", "gen_gap"))
    assert found.within == pytest.approx(0.59, abs=0.006)
    assert found.within_p < 1e-6


# Single numbers


def test_spread_is_that_of_the_population():
    assert spread_of(np.array([1.0, 3.0])) == Spread(2, 2.0, 1.0)
    assert spread_of(np.array([1.0, 3.0])).error == 1.0  # √2 / √2
    runs, mean, deviation = spread_of(np.array([7.0]))
    assert (runs, mean) == (1, 7.0) and math.isnan(deviation)
    assert math.isnan(spread_of(np.array([7.0])).error)
    assert spread_of(np.array([]))[0] == 0 and math.isnan(spread_of(np.array([])).mean)


def test_normalised_is_in_units_of_uniforms_mean_test_score():
    first, second, mi = normalised(
        [
            outcome(seed=0, train=6, test=3),
            outcome(seed=1, train=6, test=5),  # the mean test score is 4
            outcome(strategy="mi", train=8, test=2, shift_gap=1.0, information=2.5),
        ]
    )
    assert (first.train, first.test, first.gen_gap) == (1.5, 0.75, 0.75)
    assert second.test == 1.25
    assert (mi.train, mi.test, mi.gen_gap, mi.shift_gap) == (2.0, 0.5, 1.5, 0.25)
    assert mi.information == 2.5


def test_each_number_of_levels_is_normalised_by_its_own_uniform():
    outcomes = [outcome(test=2), outcome(test=4, size=500), outcome("maze", "mi", test=2, size=500)]
    assert [one.test for one in normalised(outcomes)] == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("uniform", [[], [0.0], [-1.0, 0.5], [nan]])
def test_nothing_is_normalised_by_a_score_that_is_missing_or_not_above_zero(uniform):
    outcomes = [outcome(seed=i, test=score) for i, score in enumerate(uniform)]
    outcomes.append(outcome(strategy="mi", train=3, test=2))
    assert math.isnan(normalised(outcomes)[-1].test)
    assert measured(outcomes, "normalised_train") == {}
    assert aggregates(outcomes, "normalised_test", **FEW) == {}
    assert len(measured(outcomes, "train")) == len(outcomes)  # raw scores stay


def test_a_table_has_what_was_measured_in_the_order_of_seeds():
    outcomes = [
        outcome(seed=2, test=20),
        outcome(seed=1, test=nan),
        outcome(seed=0, test=10),
        outcome("coinrun", "mi", test=1),
        outcome("coinrun", "own", test=2),
        outcome("coinrun", "uniform", test=nan),
    ]
    found = by_game(outcomes, "test")
    assert list(found) == ["coinrun", "maze"]
    assert found["maze"]["uniform"].tolist() == [10.0, 20.0]
    assert list(found["coinrun"]) == ["mi", "own"]
    assert strategies_of(outcomes) == ["uniform", "mi", "own"]


# Over games


def test_means_over_games_by_hand():
    outcomes = [
        *(outcome("maze", "uniform", seed, test=test) for seed, test in enumerate([1, 3])),
        *(outcome("heist", "uniform", seed, test=test) for seed, test in enumerate([5, 5])),
    ]
    (found,) = aggregates(outcomes, "test", **FEW).values()
    assert found.value == 3.5 and found.games == 2
    assert found.by_run.tolist() == [3.0, 4.0]
    low, high = found.intervals[0.95]
    assert (low, high) == (3.0, 4.0)  # maze alone varies, and its mean is 1, 2 or 3
    assert aggregates(outcomes, "normalised_test", **FEW)["uniform"].value == 1.0


def test_all_strategies_are_judged_by_the_same_games():
    outcomes = [
        outcome("maze", "uniform", test=2),
        outcome("maze", "mi", test=4),
        outcome("heist", "uniform", test=100),
    ]
    found = aggregates(outcomes, "test", **FEW)
    assert {name: (one.value, one.games) for name, one in found.items()} == {
        "uniform": (2.0, 1),
        "mi": (4.0, 1),
    }
    nothing_shared = [outcome("maze", "uniform"), outcome("heist", "mi")]
    assert aggregates(nothing_shared, "test", **FEW) == {}


def test_games_with_fewer_seeds_set_how_many_count():
    outcomes = [outcome("maze", seed=seed, test=seed) for seed in range(5)]
    outcomes += [outcome("heist", seed=seed, test=10) for seed in (3, 4)]
    (found,) = aggregates(outcomes, "test", **FEW).values()
    assert found.by_run.tolist() == [5.0, 5.5]  # seeds 0 and 1 of maze


def test_one_seed_has_no_interval():
    (found,) = aggregates([outcome(test=3)], "test", **FEW).values()
    assert found.value == 3.0 and math.isnan(found.intervals[0.95].low)


def test_probabilities_of_improvement_by_hand():
    scores = {
        ("maze", "value-l1"): [1, 2],
        ("maze", "uniform"): [0, 2],  # 1 > 0, 1 < 2, 2 > 0, 2 = 2: 2.5 of 4
        ("heist", "value-l1"): [9, 9],
        ("heist", "uniform"): [1, 1],  # always
        ("miner", "uniform"): [1, 1],  # nobody to compare with
    }
    outcomes = [
        outcome(game, strategy, seed, test=test)
        for (game, strategy), tests in scores.items()
        for seed, test in enumerate(tests)
    ]
    (found,) = improvements(outcomes, "test", **FEW)
    assert (found.strategy, found.other) == ("value-l1", "uniform") == PAIRS[2]
    assert found.value == pytest.approx((2.5 / 4 + 1) / 2) and found.games == 2
    low, high = found.intervals[0.95]
    assert 0.5 <= low < found.value < high <= 1.0
    (gap,) = improvements(outcomes, "gen_gap", **FEW)  # train is 1 everywhere
    assert gap.value == pytest.approx(1 - found.value)


def test_the_best_and_those_like_it():
    groups = {
        "good": np.array([9.0, 10.0, 11.0]),
        "as good": np.array([8.0, 10.0, 11.0]),
        "bad": np.array([1.0, 1.1, 0.9]),
    }
    assert best_of(groups, higher=True) == {"good", "as good"}
    assert best_of(groups, higher=False) == {"bad"}
    assert best_of({"good": groups["good"], "not run": np.array([])}, higher=True) == frozenset()
    assert best_of({}, higher=True) == frozenset()


# What goes with what


def test_correlation_by_hand():
    found = correlation(series([1, 2, 3, 4], [2, 1, 4, 3]))
    assert found.points == 4
    assert found.pearson == pytest.approx(0.6)  # 3 / 5
    assert found.kendall == pytest.approx(1 / 3)  # 4 pairs agree, 2 do not
    assert found.pearson_p == pytest.approx(0.4)
    assert math.isnan(found.within)  # a game each


def test_within_games_what_games_have_in_common_is_taken_away():
    # Over all, a game with more x has more y; within each game it is the other way round.
    found = correlation(series([1, 2, 3, 11, 12, 13], [3, 2, 1, 13, 12, 11], list("aaabbb")))
    assert found.pearson > 0.9
    assert found.within == pytest.approx(-1.0)
    assert found.within_p == pytest.approx(0.0, abs=1e-12)


def test_the_chance_of_a_correlation_within_games_is_that_of_a_slope_with_an_offset_a_game():
    x = np.array([1.0, 2.0, 4.0, 11.0, 12.0, 14.0, 5.0, 7.0])
    y = np.array([3.0, 2.0, 5.0, 13.0, 11.0, 17.0, 4.0, 4.5])
    games = list("aaabbbcc")
    offsets = np.array([[float(game == which) for which in "abc"] for game in games])
    design = np.column_stack([x, offsets])
    slope, *_ = np.linalg.lstsq(design, y, rcond=None)[0]
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    freedom = 8 - 4
    error = math.sqrt(left @ left / freedom * np.linalg.inv(design.T @ design)[0, 0])
    assert correlation(series(x, y, games)).within_p == pytest.approx(
        2 * student.sf(slope / error, freedom)
    )


def test_a_game_with_one_point_says_nothing_within_games():
    x, y = [1, 2, 4, 11, 12, 14, 50], [3, 2, 2, 13, 11, 11, -50]
    alone = correlation(series(x, y, list("aaabbbc")))
    without = correlation(series(x[:-1], y[:-1], list("aaabbb")))
    assert (alone.within, alone.within_p) == (without.within, without.within_p)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([1.0], [1.0]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([0.1, 0.1, 0.1], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]),
    ],
)
def test_too_few_points_and_constant_ones_have_no_correlation(x, y):
    found = correlation(series(x, y))
    assert found.points == len(x)
    assert all(math.isnan(value) for value in found[1:])


def test_what_is_constant_within_each_game_has_no_correlation_there():
    found = correlation(series([0.1] * 3 + [0.7] * 3, [1, 2, 3, 4, 5, 6], list("aaabbb")))
    assert found.pearson > 0.8 and math.isnan(found.within)


def test_points_need_both_measurements():
    outcomes = [
        outcome(seed=0, train=3, test=1, information=4.0),
        outcome(seed=1, train=5, test=1, information=6.0),
        outcome(seed=2, train=99, test=1),  # information was not measured
        outcome("heist", seed=0, train=nan, test=1, information=1.0),
    ]
    runs = points_of(outcomes, "information", "gen_gap")
    assert runs.x.tolist() == [4.0, 6.0] and runs.y.tolist() == [2.0, 4.0]
    means = points_of(outcomes, "information", "gen_gap", seed_means=True)
    assert means.name == (("maze", "uniform"),)
    assert (means.x.tolist(), means.y.tolist()) == ([5.0], [3.0])
    nothing = points_of(outcomes, "information", "value_loss")
    assert nothing.name == () and correlation(nothing)[0] == 0


few = st.integers(-3, 3)
pairs_with_ties = st.lists(st.tuples(few, few), min_size=3, max_size=25)


def varies(pairs):
    return len({x for x, _ in pairs}) > 1 and len({y for _, y in pairs}) > 1


@given(pairs_with_ties.filter(varies))
def test_correlations_are_those_of_slower_ways(pairs):
    x, y = np.array(pairs, float).T
    found = correlation(series(x, y))
    assert found.kendall == pytest.approx(slow_kendall(x, y))
    # The chance of a line depends on the last digit of 1: 10⁻⁸ with three points, or 0.
    assert (found.pearson, found.pearson_p) == pytest.approx(tuple(pearsonr(x, y)), abs=1e-7)


@given(pairs_with_ties.filter(varies), st.sampled_from([0.5, 2.0, 8.0]), few, st.data())
def test_units_and_order_do_not_matter(pairs, scale, shift, data):
    games = data.draw(st.lists(st.sampled_from("abc"), min_size=len(pairs), max_size=len(pairs)))
    x, y = np.array(pairs, float).T
    order = data.draw(st.permutations(range(len(pairs))))
    found = correlation(series(x, y, games))
    other = correlation(series(scale * x[order] + shift, y[order], [games[i] for i in order]))
    swapped = correlation(series(y, x, games))
    against = correlation(series(x, -y, games))
    same = pytest.approx(tuple(found), abs=1e-9, nan_ok=True)
    assert tuple(other) == same and tuple(swapped) == same
    signs = np.array([1, -1, 1, -1, 1, -1, 1])
    assert tuple(signs * np.array(against)) == same


runs = st.lists(st.integers(0, 9), min_size=1, max_size=4)


def study(cells):
    return [
        outcome(game, strategy, seed, train=10 + test, test=test)
        for (game, strategy), tests in cells.items()
        for seed, test in enumerate(tests)
    ]


cells = st.dictionaries(
    st.tuples(st.sampled_from(["maze", "heist", "miner"]), st.sampled_from(STRATEGIES)),
    runs,
    min_size=1,
)


@given(cells, st.randoms(), st.sampled_from([0.5, 4.0]))
def test_points_of_a_game_and_the_order_of_runs_do_not_matter(cells, random, scale):
    outcomes = study(cells)
    other = [
        replace(one, train=scale * one.train, test=scale * one.test) if one.game == "maze" else one
        for one in outcomes
    ]
    random.shuffle(other)
    for measure in ("normalised_train", "normalised_gen_gap"):
        ours, theirs = (aggregates(some, measure, repeats=20) for some in (outcomes, other))
        assert list(ours) == list(theirs)
        for name in ours:
            assert ours[name].value == pytest.approx(theirs[name].value)
    for one, same in zip(
        improvements(outcomes, "test", repeats=20),
        improvements(other, "test", repeats=20),
        strict=True,
    ):
        assert one[:4] == same[:4]


@given(cells)
def test_one_of_two_wins(cells):
    pairs = [("value-l1", "uniform"), ("uniform", "value-l1")]
    found = improvements(study(cells), "test", pairs=pairs, repeats=20)
    if found:
        assert sum(one.value for one in found) == pytest.approx(1.0)


@given(cells)
def test_any_study_can_be_analysed(cells):
    outcomes = study(cells)
    findings = analyse(outcomes, repeats=10, pair_repeats=10)
    assert findings.size == 200 and findings.usual == outcomes and findings.sizes == []
    for measure in ("information", "accuracy"):
        assert findings.over[measure] == {}
    uniform = findings.over["normalised_test"].get("uniform")
    if uniform is not None and {len(tests) for tests in cells.values()} == {1}:
        assert uniform.value == pytest.approx(1.0)


# More levels


def test_the_number_of_levels_by_hand():
    outcomes = [
        outcome("miner", "uniform", 0, train=12, test=9),
        outcome("miner", "uniform", 1, train=14, test=9),
        outcome("miner", "value-l1", 0, train=11, test=9, shift_gap=1.5),
        outcome("miner", "value-l1", 1, train=11, test=10),
        outcome("miner", "value-l1", 7, train=50, test=50, size=500),
        outcome("miner", "uniform", 0, train=12, test=11, size=500),
        outcome("miner", "mi", 0),  # only one number of levels
        outcome("maze", "uniform", 0),
    ]
    found = by_size(outcomes)
    assert [(row.game, row.strategy, row.num_levels) for row in found] == [
        ("miner", "uniform", 200),
        ("miner", "uniform", 500),
        ("miner", "value-l1", 200),
        ("miner", "value-l1", 500),
    ]
    few = found[2]
    assert few.train == Spread(2, 11.0, 0.0) and few.test == Spread(2, 9.5, 0.5)
    assert few.gen_gap.mean == 1.5 and few.shift_gap[:2] == (1, 1.5)
    assert few.train_deficit == Spread(2, 2.0, 1.0)  # 1 and 3
    assert found[3].train_deficit.runs == 0  # uniform has no seed 7
    assert usual_size(outcomes) == 200
    assert usual_size([outcome(size=500), outcome(seed=1, size=200)]) == 200


# What cannot be


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([], "no outcomes to analyse"),
        (
            [outcome(), outcome(test=2)],
            "two outcomes of uniform in maze with 200 levels and seed 0",
        ),
        ([outcome(train=math.inf)], "infinite measurement"),
        ([outcome(information=-math.inf)], "infinite measurement"),
        ([outcome(size=0)], "at least one training level"),
    ],
)
def test_outcomes_that_cannot_be(outcomes, message):
    with pytest.raises(DatasetError, match=message) as caught:
        check(outcomes)
    assert "\n" not in str(caught.value)
    with pytest.raises(DatasetError, match=message):
        analyse(outcomes)


def test_runs_on_different_numbers_of_levels_do_not_mix():
    with pytest.raises(DatasetError, match="200 and 500 training levels do not go into one table"):
        by_game([outcome(), outcome(size=500)], "test")
    with pytest.raises(
        DatasetError, match=r"No run has 7 training levels\. There are runs with 200\."
    ):
        analyse([outcome()], size=7)


def test_nothing_measured_is_nothing_found():
    found = analyse([outcome(train=nan, test=nan)], **FEW)
    assert all(over == {} for over in found.over.values())
    assert correlation(points_of(found.usual, "information", "gen_gap")) == Correlation(0)
