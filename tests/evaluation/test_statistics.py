"""Aggregates, intervals, tests: by hand, by slow oracles, by published values, for any scores."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import mannwhitneyu, trim_mean, ttest_ind

from dred.errors import ConfigError, DatasetError
from dred.evaluation import statistics
from dred.evaluation.comparison import compare, not_worse_than_best, welch, welch_interval
from dred.evaluation.statistics import (
    Interval,
    bootstrap_values,
    by_run,
    check,
    conditional_value_at_risk,
    interquartile_mean,
    mean,
    one_by_one,
    optimality_gap,
    probability_of_improvement,
    solved_rate,
    stratified_bootstrap,
    summarise,
)

# The score matrices of rliable's own tests, and what those tests expect of them.
RLIABLE_X = np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 1.0], [2.0, 1.0]])
RLIABLE_Y = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])

# With many ties, and without.
values = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(-2.0, 2.0, width=32)


def matrices(min_runs=1):
    shapes = array_shapes(min_dims=2, max_dims=2, max_side=6)
    return shapes.filter(lambda shape: shape[0] >= min_runs).flatmap(
        lambda shape: arrays(np.float64, shape, elements=values, fill=st.nothing())
    )


@st.composite
def pairs(draw):
    levels = draw(st.integers(1, 5))
    return tuple(
        draw(
            arrays(
                np.float64, (draw(st.integers(1, 6)), levels), elements=values, fill=st.nothing()
            )
        )
        for _ in range(2)
    )


ONE_SAMPLE = {
    "mean": mean,
    "interquartile_mean": interquartile_mean,
    "gap": optimality_gap,
    "worst_third": partial(conditional_value_at_risk, share=1 / 3),
}


# Slow and obvious.


def oracle_interquartile_mean(scores):
    ordered = sorted(float(score) for row in scores for score in row)
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


def oracle_gap(scores, best):
    gaps = [max(best[i] - score, 0.0) for row in scores for i, score in enumerate(row)]
    return sum(gaps) / len(gaps)


def oracle_worst(scores, number):
    means = sorted(sum(column) / len(column) for column in scores.T.tolist())
    return sum(means[:number]) / number


def oracle_improvement(x, y):
    levels = []
    for level in range(x.shape[1]):
        won = 0.0
        for ours in x[:, level]:
            for theirs in y[:, level]:
                won += 1.0 if ours > theirs else 0.5 if ours == theirs else 0.0
        levels.append(won / (len(x) * len(y)))
    return sum(levels) / len(levels)


def oracle_bootstrap(statistic, samples, *, repeats, seed, whole_runs=False):
    """Entry by entry, with the indices that the docstring promises."""
    results = []
    drawn = []
    for place, matrix in enumerate(samples):
        runs, levels = matrix.shape
        size = (repeats, runs) if whole_runs else (repeats, runs, levels)
        drawn.append(np.random.default_rng([seed, place]).integers(runs, size=size))
    for repeat in range(repeats):
        resamples = []
        for matrix, index in zip(samples, drawn, strict=True):
            resample = np.empty_like(matrix)
            for run in range(matrix.shape[0]):
                for level in range(matrix.shape[1]):
                    source = index[repeat, run] if whole_runs else index[repeat, run, level]
                    resample[run, level] = matrix[source, level]
            resamples.append(resample)
        results.append(float(statistic(*resamples)))
    return np.array(results)


def oracle_interval(results, confidence):
    """The percentiles, with a straight line between neighbours."""
    ordered = sorted(results)

    def at(share):
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return Interval(at((1 - confidence) / 2), at((1 + confidence) / 2))


# Aggregates.


def test_rliable_s_own_test_values():
    assert mean(RLIABLE_X) == interquartile_mean(RLIABLE_X) == 1.5
    assert mean(RLIABLE_Y) == interquartile_mean(RLIABLE_Y) == 2.0
    assert probability_of_improvement(RLIABLE_X, RLIABLE_Y) == pytest.approx(1 / 3)


def test_the_interquartile_mean_drops_a_quarter_at_both_ends_of_all_scores_together():
    scores = np.array([[100.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, -100.0]])
    assert interquartile_mean(scores) == (2 + 3 + 4 + 5) / 4
    # Of seven, ⌊7 / 4⌋ = 1 goes at each end.
    assert interquartile_mean(np.array([[0.0, 1.0, 1.0, 2.0, 4.0, 7.0, 99.0]])) == 15 / 5
    # Of three, none does.
    assert interquartile_mean(np.array([[0.0], [1.0], [8.0]])) == 3.0


@given(matrices())
def test_the_interquartile_mean_agrees_with_sorting_and_with_scipy(scores):
    ours = interquartile_mean(scores)
    assert ours == pytest.approx(oracle_interquartile_mean(scores), abs=1e-12)
    assert ours == pytest.approx(trim_mean(scores, 0.25, axis=None), abs=1e-12)


def test_the_gap_is_to_the_optimum_of_each_level_and_never_negative():
    scores = np.array([[0.5, 0.9], [0.75, 0.2]])
    # 0.75 − 0.5, floored 0.5 − 0.9, 0, 0.5 − 0.2
    assert optimality_gap(scores, np.array([0.75, 0.5])) == pytest.approx((0.25 + 0.3) / 4)
    assert optimality_gap(scores, np.array([0.5, 0.75])) == pytest.approx(0.55 / 4)


@given(matrices(), st.floats(-1.0, 1.0))
def test_the_gap_to_one_threshold_is_that_of_rliable(scores, gamma):
    by_definition = gamma - np.minimum(scores, gamma).mean()
    assert optimality_gap(scores, gamma) == pytest.approx(by_definition, abs=1e-12)
    assert optimality_gap(scores, gamma) == pytest.approx(
        oracle_gap(scores, [gamma] * scores.shape[1]), abs=1e-12
    )


def test_the_threshold_is_one_unless_another_is_given():
    assert optimality_gap(np.array([[0.25, 3.0]])) == 0.375


def test_the_solved_rate_counts_episodes_or_shares_of_them():
    assert solved_rate(np.array([[True, False, True], [True, True, True]])) == 5 / 6
    assert solved_rate(np.array([[0.5, 1.0], [0.0, 0.5]])) == 0.5


def test_the_worst_levels_are_those_with_the_lowest_mean_over_runs():
    scores = np.array([[0.0, 0.5, 0.9, 0.2], [1.0, 0.1, 0.9, 0.2]])  # means .5, .3, .9, .2
    assert conditional_value_at_risk(scores, 0.25) == pytest.approx(0.2)
    assert conditional_value_at_risk(scores, 0.5) == pytest.approx((0.2 + 0.3) / 2)
    assert conditional_value_at_risk(scores, 0.75) == pytest.approx((0.2 + 0.3 + 0.5) / 3)


@pytest.mark.parametrize(
    ("share", "levels", "number"),
    [
        (0.001, 10, 1),  # at least one
        (0.1, 14, 1),  # 1.4
        (0.1, 15, 2),  # 1.5: a half goes up
        (0.1, 25, 3),  # 2.5: not to the even one
        (0.1, 448, 45),  # 44.8
        (0.07, 100, 7),  # 7.000000000000001
        (0.29, 100, 29),  # 28.999999999999996
        (1.0, 7, 7),
    ],
)
def test_the_number_of_worst_levels_is_the_nearest(share, levels, number):
    scores = np.arange(float(levels))[None, ::-1] ** 2
    expected = oracle_worst(scores, number)
    assert conditional_value_at_risk(scores, share) == pytest.approx(expected, rel=1e-12)


def test_a_tenth_of_the_levels_counts_unless_another_share_is_given():
    assert conditional_value_at_risk(np.arange(20.0)[None]) == 0.5


@given(matrices(), st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_the_tail_grows_to_the_mean(scores, one_share, other_share):
    low, high = sorted([one_share, other_share])
    smaller, larger = (conditional_value_at_risk(scores, share) for share in (low, high))
    assert smaller <= larger + 1e-12
    assert conditional_value_at_risk(scores, 1.0) == pytest.approx(mean(scores), abs=1e-12)
    number = max(1, math.floor(low * scores.shape[1] + 0.5))
    assert smaller == pytest.approx(oracle_worst(scores, number), abs=1e-12)


def test_improvement_by_hand():
    x = np.array([[1.0, 5.0], [3.0, 5.0]])
    y = np.array([[0.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    # First level: 1 beats 0; 3 beats 0 and 2 and ties with 3. Second: two ties of six.
    assert probability_of_improvement(x, y) == pytest.approx((3.5 / 6 + 1 / 6) / 2)
    assert probability_of_improvement(x, x) == 0.5
    assert probability_of_improvement(x + 10, x) == 1.0


@given(pairs())
def test_improvement_agrees_with_counting_pairs_and_with_mann_and_whitney(pair):
    x, y = pair
    ours = probability_of_improvement(x, y)
    assert ours == pytest.approx(oracle_improvement(x, y), abs=1e-12)
    statistic = mannwhitneyu(x, y, method="asymptotic", axis=0).statistic
    assert ours == pytest.approx(statistic.mean() / (len(x) * len(y)), abs=1e-12)


@given(pairs())
def test_either_method_is_better_or_they_tie(pair):
    x, y = pair
    forth, back = probability_of_improvement(x, y), probability_of_improvement(y, x)
    assert forth + back == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= forth <= 1.0


@given(matrices(), st.randoms())
def test_the_order_of_runs_does_not_matter(scores, random):
    order = list(range(len(scores)))
    random.shuffle(order)
    for statistic in ONE_SAMPLE.values():
        assert statistic(scores[order]) == pytest.approx(statistic(scores), abs=1e-12)
    improvement = probability_of_improvement(scores[order], scores)
    assert improvement == pytest.approx(0.5, abs=1e-12)


@given(matrices())
def test_aggregates_lie_among_the_scores(scores):
    for name in ("mean", "interquartile_mean", "worst_third"):
        value = ONE_SAMPLE[name](scores)
        assert scores.min() - 1e-12 <= value <= scores.max() + 1e-12


@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_a_stack_of_matrices_gives_what_each_gives_alone(name):
    stack = np.random.default_rng(0).random((3, 2, 5, 7))
    together = ONE_SAMPLE[name](stack)
    assert together.shape == (3, 2)
    for place in np.ndindex(3, 2):
        assert together[place] == pytest.approx(ONE_SAMPLE[name](stack[place]), abs=1e-12)


def test_stacks_of_two_methods_are_compared_one_with_one():
    random = np.random.default_rng(0)
    x, y = random.random((4, 3, 2)), random.random((4, 5, 2))
    together = probability_of_improvement(x, y)
    alone = [float(probability_of_improvement(*pair)) for pair in zip(x, y, strict=True)]
    np.testing.assert_allclose(together, alone)


def test_scores_of_single_precision_are_summed_in_double():
    scores = np.full((5, 20_000), 0.1, np.float32)
    for statistic in ONE_SAMPLE.values():
        expected = float(statistic(scores[:1, :1].astype(np.float64)))
        assert statistic(scores) == pytest.approx(expected, rel=1e-12)


# Intervals.


@pytest.mark.parametrize("whole_runs", [False, True])
@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_the_bootstrap_agrees_with_loops_over_the_same_draws(name, whole_runs):
    scores = np.random.default_rng(3).random((4, 6))
    settings = {"repeats": 50, "seed": 7, "whole_runs": whole_runs}
    theirs = oracle_bootstrap(ONE_SAMPLE[name], [scores], **settings)
    ours = bootstrap_values([ONE_SAMPLE[name]], scores, **settings)
    np.testing.assert_allclose(ours[0], theirs, rtol=1e-12)
    found = stratified_bootstrap(ONE_SAMPLE[name], scores, confidences=(0.5, 0.95), **settings)
    for confidence, interval in found.items():
        assert interval == pytest.approx(oracle_interval(theirs, confidence), rel=1e-9)
    assert list(found) == [0.5, 0.95]


@pytest.mark.parametrize("whole_runs", [False, True])
def test_the_bootstrap_of_two_methods_agrees_with_loops_over_the_same_draws(whole_runs):
    random = np.random.default_rng(4)
    samples = [random.random((3, 4)), random.random((5, 4))]
    settings = {"repeats": 50, "seed": 11, "whole_runs": whole_runs}
    theirs = oracle_bootstrap(oracle_improvement, samples, **settings)
    found = stratified_bootstrap(probability_of_improvement, *samples, **settings)
    for confidence, interval in found.items():
        assert interval == pytest.approx(oracle_interval(theirs, confidence), rel=1e-9)
    assert list(found) == [0.95, 0.99]


def test_two_runs_of_one_level_give_the_quarters_one_can_count():
    # The mean of two draws from {0, 1} is 0, ½, 1 with chances ¼, ½, ¼.
    scores = np.array([[0.0], [1.0]])
    found = stratified_bootstrap(mean, scores, confidences=(0.4, 0.95), repeats=4000)
    assert found == {0.4: Interval(0.5, 0.5), 0.95: Interval(0.0, 1.0)}
    chances = [(bootstrap_values([mean], scores, repeats=4000) == x).mean() for x in (0, 0.5, 1)]
    np.testing.assert_allclose(chances, [0.25, 0.5, 0.25], atol=0.03)


def test_levels_are_drawn_apart_unless_whole_runs_are():
    # Two levels that are always equal: apart, the mean is that of four draws, of which no tenth
    # of the chance is at 0 (1/16); together, that of two, with a quarter there.
    scores = np.array([[0.0, 0.0], [1.0, 1.0]])
    apart = stratified_bootstrap(mean, scores, confidences=(0.8,), repeats=4000)
    together = stratified_bootstrap(mean, scores, confidences=(0.8,), repeats=4000, whole_runs=True)
    assert apart[0.8] == Interval(0.25, 0.75)
    assert together[0.8] == Interval(0.0, 1.0)


def test_a_score_stays_in_its_level():
    scores = np.array([[0.0, 10.0, 20.0], [1.0, 11.0, 21.0], [2.0, 12.0, 22.0]])
    seen = []

    def watch(stack):
        seen.append(stack)
        return mean(stack)

    for whole_runs in (False, True):
        stratified_bootstrap(watch, scores, repeats=200, whole_runs=whole_runs)
    for stack in seen:
        assert stack.shape == (200, 3, 3)
        np.testing.assert_array_equal(stack // 10, np.broadcast_to([0, 1, 2], stack.shape))
    apart, together = (stack % 10 for stack in seen)
    assert (apart[..., 0] != apart[..., 1]).any()
    np.testing.assert_array_equal(together, together[..., :1].repeat(3, axis=-1))


def test_the_interval_of_a_mean_is_as_wide_as_theory_says():
    scores = np.random.default_rng(0).normal(size=(100, 4))
    found = stratified_bootstrap(mean, scores, repeats=4000)
    error = np.sqrt(scores.var(axis=0).sum() / 100) / 4
    for confidence, quantile in ((0.95, 1.960), (0.99, 2.576)):
        low, high = found[confidence]
        assert low == pytest.approx(scores.mean() - quantile * error, abs=0.2 * error)
        assert high == pytest.approx(scores.mean() + quantile * error, abs=0.2 * error)


def test_two_methods_are_drawn_independently():
    # If both used the same draws, a method would always tie with itself.
    scores = np.array([[0.0], [1.0]])
    found = bootstrap_values([probability_of_improvement], scores, scores, repeats=4000)[0]
    # 1 needs (1, 1) against (0, 0): a sixteenth.
    assert (found == 1.0).mean() == pytest.approx(1 / 16, abs=0.015)
    assert (found == 0.0).mean() == pytest.approx(1 / 16, abs=0.015)


def test_the_point_lies_strictly_inside_as_in_rliable_s_tests():
    x = np.arange(80.0).reshape(5, 16)
    y = x[::-1]
    for statistic in (mean, interquartile_mean):
        low, high = stratified_bootstrap(statistic, x, repeats=100)[0.95]
        assert low < statistic(x) < high
    low, high = stratified_bootstrap(probability_of_improvement, x, y, repeats=100)[0.95]
    assert low < probability_of_improvement(x, y) < high


@given(matrices(min_runs=2), st.integers(0, 1000), st.booleans())
def test_intervals_are_ordered_nested_and_among_the_scores(scores, seed, whole_runs):
    for name in ("mean", "interquartile_mean", "worst_third"):
        found = stratified_bootstrap(
            ONE_SAMPLE[name], scores, repeats=40, seed=seed, whole_runs=whole_runs
        )
        inner, outer = found[0.95], found[0.99]
        assert scores.min() - 1e-12 <= outer.low <= inner.low
        assert inner.low <= inner.high
        assert inner.high <= outer.high <= scores.max() + 1e-12


def test_a_seed_means_one_thing_and_another_another():
    scores = np.random.default_rng(1).random((5, 8))
    first, again, other = (
        stratified_bootstrap(mean, scores, repeats=200, seed=seed) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


def test_results_do_not_depend_on_how_many_resamples_fit_in_memory(monkeypatch):
    random = np.random.default_rng(1)
    x, y = random.random((3, 7)), random.random((5, 7))
    whole = bootstrap_values([probability_of_improvement], x, y, repeats=103)
    for entries in (1, 500, 56 * 103):
        monkeypatch.setattr(statistics, "ENTRIES_AT_ONCE", entries)
        found = bootstrap_values([probability_of_improvement], x, y, repeats=103)
        np.testing.assert_array_equal(found, whole)


def test_several_statistics_see_the_same_resamples():
    scores = np.random.default_rng(1).random((4, 3))
    found = bootstrap_values([mean, interquartile_mean, mean], scores, repeats=30)
    assert found.shape == (3, 30)
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(
        found[1], bootstrap_values([interquartile_mean], scores, repeats=30)[0]
    )


def test_a_statistic_of_single_matrices_can_be_used_one_by_one():
    random = np.random.default_rng(2)
    x, y = random.random((4, 3)), random.random((3, 3))
    slow = one_by_one(oracle_improvement)
    np.testing.assert_allclose(
        bootstrap_values([slow], x, y, repeats=25),
        bootstrap_values([probability_of_improvement], x, y, repeats=25),
        rtol=1e-12,
    )
    with pytest.raises(ConfigError, match=r"gave an array of shape \[\].*one_by_one"):
        stratified_bootstrap(lambda scores: np.array(scores.max()), x, repeats=25)


def test_one_run_says_nothing_about_others():
    one, two = np.ones((1, 3)), np.ones((2, 3))
    assert np.isnan(stratified_bootstrap(mean, one, repeats=10)[0.95]).all()
    both = stratified_bootstrap(probability_of_improvement, two, one, repeats=10)
    assert np.isnan(both[0.99]).all()
    assert stratified_bootstrap(mean, two, repeats=10)[0.95] == Interval(1.0, 1.0)


# Tests of significance.


def test_welch_by_hand():
    # Means 2 and 4; squared errors 1/3 and 4/3; t = −2 / √(5/3); ν = (5/3)² / (1/18 + 16/18).
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    # What is left of the density of Student's t outside ±t, added up in small steps.
    freedom, statistic = (25 / 9) / (17 / 18), 2 / math.sqrt(5 / 3)
    steps = np.linspace(-statistic, statistic, 200_001)
    density = (1 + steps**2 / freedom) ** (-(freedom + 1) / 2)
    density *= math.gamma((freedom + 1) / 2)
    density /= math.sqrt(freedom * math.pi) * math.gamma(freedom / 2)
    assert welch(x, y) == pytest.approx(1 - np.trapezoid(density, steps), abs=1e-8)


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=8),
    st.lists(st.integers(-50, 50), min_size=2, max_size=8),
)
def test_welch_agrees_with_scipy_and_is_symmetric(x, y):
    x, y = np.array(x) / 7, np.array(y) / 7
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    p = welch(x, y)
    assert p == pytest.approx(ttest_ind(x, y, equal_var=False).pvalue, rel=1e-6, abs=1e-12)
    assert p == pytest.approx(welch(y, x), rel=1e-9)
    assert 0.0 <= p <= 1.0


def test_welch_interval_by_hand():
    # Means 4 and 1, variances 4 and 1, three runs each: the error is √(5/3), with
    # (4/3 + 1/3)² / ((4/3)²/2 + (1/3)²/2) = 50/17 degrees of freedom; t.975 of these is 3.2188.
    low, high = welch_interval(np.array([2.0, 4.0, 6.0]), np.array([0.0, 1.0, 2.0]))
    assert (low + high) / 2 == pytest.approx(3)
    assert (high - low) / 2 == pytest.approx(3.2188 * math.sqrt(5 / 3), abs=1e-4)
    # One side alone: the mean 4, error 2/√3, 2 degrees of freedom, whose t.975 is 4.3027.
    low, high = welch_interval(np.array([2.0, 4.0, 6.0]), np.zeros(0))
    assert (low, high) == pytest.approx(
        (4 - 4.3027 * 2 / 3**0.5, 4 + 4.3027 * 2 / 3**0.5), abs=1e-3
    )


def test_welch_interval_holds_zero_just_when_the_test_sees_no_difference():
    generator = np.random.default_rng(0)
    for _ in range(200):
        x, y = generator.normal(0, 1, 4), generator.normal(1.5, 2, 5)
        low, high = welch_interval(x, y)
        assert (low <= 0 <= high) == (welch(x, y) >= 0.05)


def test_welch_interval_without_variance_or_without_runs():
    assert welch_interval(np.full(3, 0.5), np.full(4, 0.25)) == (0.25, 0.25)
    assert all(map(math.isnan, welch_interval(np.array([1.0]), np.array([1.0, 2.0]))))
    assert all(map(math.isnan, welch_interval(np.zeros(0), np.zeros(0))))


def test_welch_without_variance_or_without_runs():
    # Three tenths sum to more than 0.3: a plain variance would not be 0, nor the means be equal.
    assert welch(np.full(3, 0.1), np.full(7, 0.1)) == 1.0
    assert welch(np.full(3, 0.1), np.full(7, 0.7)) == 0.0
    assert 0.0 < welch(np.full(3, 0.1), np.array([0.1, 0.2])) < 1.0
    assert math.isnan(welch(np.array([1.0]), np.array([1.0, 2.0])))
    assert math.isnan(welch(np.array([1.0, 2.0]), np.array([1.0])))


def test_welch_survives_tiny_and_huge_spreads():
    assert welch(np.array([0.0, 1e-150]), np.array([1.0, 1.0 + 1e-15])) < 1e-6
    assert welch(np.array([0.0, 1e100]), np.array([0.0, 1e-100])) == pytest.approx(0.5)


def five_runs(average, deviation):
    """Five runs with just this mean and this standard deviation."""
    pattern = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    return average + deviation * pattern / pattern.std(ddof=1)


METHODS = ("VAE-DRED", "EL-DRED", "PLR", "U", "DR", "ACCEL-D", "ACCEL", "RPLR")


@pytest.mark.parametrize(
    ("higher_is_better", "row", "bold"),
    [
        pytest.param(
            True,
            "0.82 0.02 0.77 0.05 0.68 0.03 0.67 0.03 0.38 0.22 0.49 0.16 0.29 0.14 0.24 0.06",
            {"VAE-DRED", "EL-DRED"},
            id="score, test",
        ),
        pytest.param(
            True,
            "0.74 0.05 0.67 0.11 0.35 0.11 0.32 0.04 0.37 0.21 0.34 0.17 0.25 0.14 0.17 0.05",
            {"VAE-DRED", "EL-DRED"},
            id="score, edge cases",
        ),
        pytest.param(
            True,
            "0.95 0.01 0.89 0.06 0.79 0.03 0.77 0.02 0.49 0.26 0.57 0.20 0.36 0.19 0.29 0.08",
            {"VAE-DRED", "EL-DRED"},
            id="solved, test",
        ),
        pytest.param(
            True,
            "0.87 0.06 0.80 0.14 0.45 0.12 0.40 0.05 0.46 0.25 0.41 0.22 0.31 0.19 0.19 0.06",
            {"VAE-DRED", "EL-DRED"},
            id="solved, edge cases",
        ),
        pytest.param(
            True,
            "0.46 0.07 0.34 0.10 0.10 0.05 0.13 0.05 0.16 0.13 0.13 0.14 0.06 0.07 0.02 0.03",
            {"VAE-DRED", "EL-DRED"},
            id="solved, hardcore",
        ),
        pytest.param(
            False,
            "0.09 0.01 0.14 0.03 0.24 0.03 0.25 0.02 0.00 0.01 0.08 0.05 -0.02 0.02 -0.01 0.01",
            {"DR", "ACCEL", "RPLR"},
            id="GenGap",
        ),
        pytest.param(
            False,
            "0.00 0.04 -0.08 0.11 -0.07 0.14 nan nan 0.16 0.20 0.25 0.16 0.66 0.17 0.18 0.45",
            {"VAE-DRED", "EL-DRED", "PLR", "DR", "RPLR"},
            id="ShiftGap",
        ),
        pytest.param(
            False,
            "0.11 0.01 0.16 0.02 0.29 0.05 nan nan 0.42 0.00 0.29 0.03 0.38 0.06 0.46 0.04",
            {"VAE-DRED"},
            id="JSD",
        ),
    ],
)
def test_the_methods_that_the_paper_prints_bold(higher_is_better, row, bold):
    # Its Minigrid tables: mean and standard deviation of five runs. Left out are the train rows,
    # whose deviations are printed as 0.00, and the Hardcore scores, where what is printed gives
    # p = 0.04 for a method that is bold: rounding decides.
    numbers = np.array(row.split(), float).reshape(-1, 2)
    groups = {
        name: five_runs(*pair)
        for name, pair in zip(METHODS, numbers, strict=True)
        if np.isfinite(pair).all()
    }
    found = not_worse_than_best(groups, higher_is_better=higher_is_better, none_if_all=True)
    assert found == bold


def test_the_best_is_the_highest_or_the_lowest_and_the_level_decides_who_joins():
    groups = {"a": five_runs(0.0, 0.1), "b": five_runs(0.15, 0.1), "c": five_runs(1.0, 0.1)}
    assert not_worse_than_best(groups) == {"c"}
    assert not_worse_than_best(groups, higher_is_better=False) == {"a"}
    p = welch(groups["a"], groups["b"])
    assert 0.02 < p < 0.05
    assert not_worse_than_best(groups, p + 1e-9, higher_is_better=False) == {"a"}
    assert not_worse_than_best(groups, p, higher_is_better=False) == {"a", "b"}


def test_if_all_are_alike_the_paper_prints_none_bold():
    groups = {"a": five_runs(0.5, 0.1), "b": five_runs(0.5, 0.2)}
    assert not_worse_than_best(groups) == {"a", "b"}
    assert not_worse_than_best(groups, none_if_all=True) == set()
    apart = {**groups, "c": five_runs(0.0, 0.1)}
    assert not_worse_than_best(apart, none_if_all=True) == {"a", "b"}


def test_a_method_with_one_run_cannot_be_told_apart():
    groups = {"a": five_runs(0.5, 0.01), "b": five_runs(0.1, 0.01), "c": np.array([0.0])}
    assert not_worse_than_best(groups) == {"a", "c"}


# Summaries.


def test_a_summary_holds_each_statistic_with_its_own_interval():
    random = np.random.default_rng(0)
    scores, best = random.random((5, 12)), random.random(12)
    solved = scores > 0.4
    settings = {"repeats": 300, "seed": 9, "confidences": (0.9,)}
    for whole_runs in (False, True):
        found = summarise(
            scores, best=best, solved=solved, share=0.25, whole_runs=whole_runs, **settings
        )
        assert (found.runs, found.levels) == (5, 12)
        for estimate, statistic, matrix in (
            (found.mean, mean, scores),
            (found.interquartile_mean, interquartile_mean, scores),
            (found.optimality_gap, partial(optimality_gap, best=best), scores),
            (
                found.conditional_value_at_risk,
                partial(conditional_value_at_risk, share=0.25),
                scores,
            ),
            (found.solved_rate, solved_rate, solved),
        ):
            assert estimate.value == float(statistic(matrix))
            assert estimate.intervals == stratified_bootstrap(
                statistic, matrix, whole_runs=whole_runs, **settings
            )
            alone = [float(statistic(matrix[run : run + 1])) for run in range(5)]
            assert estimate.deviation == pytest.approx(np.std(alone, ddof=1))


def test_a_summary_of_one_run_has_values_but_no_spread():
    found = summarise(np.array([[0.25, 0.75]]), repeats=10)
    assert found.mean.value == found.optimality_gap.value == 0.5
    assert found.solved_rate is None
    assert math.isnan(found.mean.deviation)
    assert np.isnan(found.mean.intervals[0.95]).all()


def test_each_run_alone_gives_what_tables_and_tests_need():
    scores = np.array([[0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(by_run(mean, scores), [0.5, 1.0])
    np.testing.assert_array_equal(by_run(solved_rate, scores > 0), [0.5, 1.0])


# Bad input.

HOLED = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, np.nan]])


@pytest.mark.parametrize("statistic", [*ONE_SAMPLE.values(), solved_rate])
def test_statistics_refuse_empty_and_holed_scores(statistic):
    for empty in (np.zeros((0, 3)), np.zeros((3, 0))):
        with pytest.raises(DatasetError, match="a row for each run and a column for each level"):
            statistic(empty)
    with pytest.raises(DatasetError, match=r"1 of 6 are not.*nan in run 1, level 2"):
        statistic(HOLED)
    with pytest.raises(DatasetError, match="run 1, level 2"):
        statistic(np.stack([np.zeros((2, 3)), HOLED]))
    with pytest.raises(DatasetError, match="finite"):
        statistic(np.array([[np.inf]]))


def test_the_bootstrap_refuses_them_whatever_the_statistic():
    for scores in (HOLED, np.zeros((0, 3)), np.zeros((3, 0))):
        with pytest.raises(DatasetError, match="scores must"):
            stratified_bootstrap(one_by_one(lambda _: 0.0), scores, repeats=5)


def test_comparisons_refuse_what_does_not_fit():
    full = np.zeros((2, 3))
    with pytest.raises(DatasetError, match="x has 3 and y has 4"):
        probability_of_improvement(full, np.zeros((2, 4)))
    for pair, name in (((HOLED, full), "x"), ((full, HOLED), "y")):
        with pytest.raises(DatasetError, match=f"^{name} must all be finite"):
            probability_of_improvement(*pair)
    for pair, name in (((HOLED[1], HOLED[0]), "x"), ((HOLED[0], HOLED[1]), "y")):
        with pytest.raises(DatasetError, match=f"^{name} must all be finite"):
            welch(*pair)
    with pytest.raises(DatasetError, match="shape"):
        welch(np.zeros(0), np.zeros(3))
    with pytest.raises(DatasetError, match="no methods"):
        not_worse_than_best({})
    with pytest.raises(DatasetError, match=r"^PLR must all be finite"):
        not_worse_than_best({"PLR": HOLED[1]})


def test_only_a_matrix_or_a_stack_is_a_matrix():
    with pytest.raises(DatasetError, match=r"shape \[3\]"):
        check(np.zeros(3))
    check(np.zeros((1, 1)))
    check(np.zeros((2, 1, 1)))


def test_optima_must_fit_the_levels():
    for best in (np.ones(2), np.array([1.0, np.nan, 1.0]), float("inf")):
        with pytest.raises(DatasetError, match="each of the 3 levels"):
            optimality_gap(np.zeros((2, 3)), best)


def test_what_was_solved_is_not_a_score():
    with pytest.raises(DatasetError, match="values from 0 to 7"):
        solved_rate(np.array([[0.0, 7.0]]))
    with pytest.raises(DatasetError, match="values from -1 to 0"):
        solved_rate(np.array([[0.0, -1.0]]))
    with pytest.raises(DatasetError, match=r"\[2, 3\]; found \[3, 3\]"):
        summarise(np.zeros((2, 3)), solved=np.ones((3, 3), bool))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_of_levels_is_above_zero_and_at_most_one(share):
    with pytest.raises(ConfigError, match="share"):
        conditional_value_at_risk(np.zeros((2, 3)), share)


def test_settings_of_the_bootstrap_are_checked():
    scores = np.zeros((2, 3))
    for confidences in ((0.95, 1.0), (0.0,), (95.0,)):
        with pytest.raises(ConfigError, match="confidences"):
            stratified_bootstrap(mean, scores, confidences=confidences, repeats=5)
    with pytest.raises(ConfigError, match="repeats=0"):
        stratified_bootstrap(mean, scores, repeats=0)
    with pytest.raises(ConfigError, match="seed=-1"):
        stratified_bootstrap(mean, scores, seed=-1)
    with pytest.raises(ConfigError, match="found 0 matrices"):
        stratified_bootstrap(mean)


@pytest.mark.parametrize(
    ("runs", "tested"),
    [
        ({"a": [1.0, 1.1, 1.2], "b": [0.1, 0.2, 0.3]}, True),
        ({"a": [1.0, 1.1], "b": [0.1, 0.2, 0.3]}, False),  # too few of one
        ({"a": [1.0, 1.0, 1.0], "b": [0.1, 0.2, 0.3]}, False),  # no variance
        ({"a": [1.0, 1.1, 1.2]}, False),  # nothing to compare with
        ({}, False),
    ],
)
def test_methods_are_compared_only_if_all_of_them_can_be_tested(runs, tested):
    groups = {name: np.array(values) for name, values in runs.items()}
    assert compare(groups) == (frozenset("a" if tested else ""), tested)
    assert compare(groups, higher_is_better=False) == (frozenset("b" if tested else ""), tested)


def test_methods_that_are_all_alike_were_tested_but_none_is_marked():
    groups = {"a": np.array([1.0, 1.1, 1.2]), "b": np.array([1.0, 1.1, 1.25])}
    assert compare(groups) == (frozenset(), True)
