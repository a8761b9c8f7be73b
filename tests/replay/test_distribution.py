"""Which level next: the rules of P_Λ, by hand, by a slow oracle, and for any scores at all."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dred.config import MethodConfig, ScheduleConfig, TermConfig
from dred.errors import ConfigError
from dred.replay.buffer import EMPTY, new_buffer, note_draws
from dred.replay.distribution import (
    average_probabilities,
    averaged,
    by_power,
    by_rank,
    capped,
    drawn_from,
    effective_number,
    probabilities,
    scaled_down,
    scheduled,
)
from tests.strategies import lists_of_sizes

PLR = MethodConfig("plr")
JUST_SCORE = dataclasses.replace(PLR, staleness=0.0)


def a_buffer(scores, *, dataset=None, capacity=None, secondary=None, ages=None):
    """A buffer of numbered levels with these scores, the first `dataset` of them from a dataset."""
    count = len(scores)
    capacity = capacity or count
    blank = new_buffer(jnp.arange(count), jnp.ones(count), capacity)
    room = jnp.zeros(capacity - count)

    def wide(values):
        return jnp.concatenate([jnp.asarray(values, jnp.float32), room])

    ages = wide(ages if ages is not None else np.ones(count)).astype(jnp.int32)
    return eqx.tree_at(
        lambda b: (b.primary, b.secondary, b.is_scored, b.from_dataset, b.last_drawn, b.num_draws),
        blank,
        (
            wide(scores),
            wide(secondary if secondary is not None else scores),
            blank.is_used,
            jnp.arange(capacity) < (count if dataset is None else dataset),
            1000 - ages,
            jnp.int32(1000),
        ),
    )


def oracle_ranks(scores, support, temperature):
    """Sort, give the k-th place k^(−1/T), and let equal scores share."""
    places = sorted((i for i in range(len(scores)) if support[i]), key=lambda i: -scores[i])
    weights = np.zeros(len(scores))
    for place, index in enumerate(places, start=1):
        weights[index] = place ** (-1.0 / temperature)
    shared = weights.copy()
    for index in places:
        ties = [i for i in places if scores[i] == scores[index]]
        shared[index] = np.mean([weights[i] for i in ties])
    return shared


def p_of(buffer, method=PLR, progress=0.0):
    eta = scheduled(method.eta, jnp.asarray(progress))
    return np.asarray(probabilities(buffer, method, eta))


def test_rank_weights_with_temperature_a_tenth_give_0_99901_to_the_first_of_many():
    scores = np.arange(4000.0)
    p = p_of(a_buffer(scores), JUST_SCORE)
    assert p.argmax() == 3999
    assert p.max() == pytest.approx(0.99901, abs=1e-5)


def test_ranks_begin_with_one_and_temperature_is_an_exponent_not_a_divisor():
    # minimax #7: weights were divided by a rank of zero, and by the temperature.
    p = p_of(
        a_buffer([3.0, 2.0, 1.0]),
        dataclasses.replace(JUST_SCORE, primary=TermConfig(temperature=0.5)),
    )
    expected = np.array([1.0, 1 / 4, 1 / 9])
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-6)
    assert np.isfinite(p).all()


def test_a_coefficient_of_0_3_spreads_0_3_by_staleness():
    p = p_of(a_buffer([9.0, 1.0, 1.0, 1.0], ages=[1, 2, 3, 4]))
    by_score = np.array([1.0, *[np.mean([2.0**-10, 3.0**-10, 4.0**-10])] * 3])
    expected = 0.7 * by_score / by_score.sum() + 0.3 * np.array([1, 2, 3, 4]) / 10
    np.testing.assert_allclose(p, expected, rtol=1e-5)


def test_equal_scores_have_equal_probability_wherever_they_are():
    # The released settings of U put 70 % on one level, as argsort broke ties.
    p = p_of(a_buffer(np.ones(512)), JUST_SCORE)
    np.testing.assert_allclose(p, 1 / 512, rtol=1e-5)


@given(
    lists_of_sizes(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), 1, 2, 7, 30),
    st.sampled_from([0.1, 0.3, 1.0, 5.0]),
    st.randoms(),
)
def test_rank_weights_agree_with_a_slow_oracle(scores, temperature, random):
    support = np.array([random.random() < 0.7 for _ in scores])
    ours = by_rank(jnp.array(scores), jnp.array(support), temperature)
    theirs = oracle_ranks(scores, support, temperature)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-30)


@given(
    scores=lists_of_sizes(st.floats(-5, 5, width=32), 0, 1, 5, 12),
    dataset=st.integers(0, 12),
    unscored=st.integers(0, 12),
    transform=st.sampled_from(["rank", "power", "proportional"]),
    over=st.sampled_from(["dataset", "buffer"]),
    staleness=st.sampled_from([0.0, 0.3, 1.0]),
    progress=st.floats(0, 1),
)
def test_the_distribution_always_sums_to_one(
    scores, dataset, unscored, transform, over, staleness, progress
):
    buffer = a_buffer(scores, dataset=min(dataset, len(scores)), capacity=12)
    seen = buffer.is_scored & (jnp.arange(12) >= unscored)
    buffer = eqx.tree_at(lambda b: b.is_scored, buffer, seen)
    method = MethodConfig(
        "any",
        primary=TermConfig(over=over, transform=transform, temperature=0.3),
        secondary=TermConfig(transform=transform, temperature=1.0),
        eta=ScheduleConfig(0.0, 1.0),
        staleness=staleness,
        staleness_over=over,
    )
    p = p_of(buffer, method, progress)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    if seen.any():
        assert p[~np.asarray(seen & buffer.is_used)].max(initial=0.0) == 0


def test_a_buffer_of_zeros_is_drawn_uniformly_and_an_empty_one_still_sums_to_one():
    np.testing.assert_allclose(p_of(a_buffer(np.zeros(8)), JUST_SCORE), 1 / 8, rtol=1e-6)
    proportional = dataclasses.replace(JUST_SCORE, primary=TermConfig(transform="proportional"))
    np.testing.assert_allclose(p_of(a_buffer(np.zeros(8)), proportional), 1 / 8, rtol=1e-6)
    assert p_of(a_buffer([], capacity=5)).sum() == pytest.approx(1.0)


def test_a_support_never_leaks():
    scores = np.array([1.0, 2.0, 3.0, 100.0, 200.0])
    on_dataset = dataclasses.replace(
        PLR, primary=TermConfig(over="dataset"), staleness_over="dataset"
    )
    p = p_of(a_buffer(scores, dataset=3, ages=[1, 1, 1, 500, 500]), on_dataset)
    assert p[3:].sum() == 0
    draw = jax.vmap(drawn_from(jnp.asarray(p)))
    everything = jnp.concatenate(
        [jnp.array([0, 2**32 - 1], jnp.uint32), jax.random.bits(jax.random.key(0), (100_000,))]
    )
    assert set(np.unique(draw(everything))) <= {0, 1, 2}
    inner = drawn_from(jnp.array([0.0, 0.25, 0.0, 0.75, 0.0]))
    assert set(np.unique(jax.vmap(inner)(everything))) == {1, 3}


def test_eta_moves_the_mass_from_the_dataset_to_the_whole_buffer():
    method = MethodConfig(
        "dred",
        primary=TermConfig(over="dataset"),
        secondary=TermConfig(temperature=1.0),
        eta=ScheduleConfig(0.0, 1.0),
        staleness=0.0,
    )
    buffer = a_buffer([3.0, 2.0, 1.0, 5.0], dataset=3)
    assert p_of(buffer, method, 0.0)[3] == 0
    whole = np.array([1 / 2, 1 / 3, 1 / 4, 1.0])
    np.testing.assert_allclose(p_of(buffer, method, 1.0), whole / whole.sum(), rtol=1e-5)
    halfway = p_of(buffer, method, 0.5)
    np.testing.assert_allclose(
        halfway, (p_of(buffer, method, 0.0) + p_of(buffer, method, 1.0)) / 2, rtol=1e-5
    )


@pytest.mark.parametrize("transform", ["rank", "power", "proportional"])
def test_draws_match_the_exact_probabilities(transform):
    scores = np.random.default_rng(0).uniform(0.1, 1.0, 40)
    term = TermConfig(transform=transform, temperature=1.0)
    p = probabilities(
        a_buffer(scores), dataclasses.replace(JUST_SCORE, primary=term), jnp.zeros(())
    )
    number = 200_000
    slots = jax.vmap(drawn_from(p))(jax.random.bits(jax.random.key(1), (number,)))
    counts = np.bincount(slots, minlength=40)
    expected = np.asarray(p, np.float64)
    assert chisquare(counts, number * expected / expected.sum()).pvalue > 0.001


def test_draws_over_many_slots_are_as_exact_as_their_probabilities():
    p = jnp.full(400_000, 1 / 400_000)
    slots = np.asarray(jax.vmap(drawn_from(p))(jax.random.bits(jax.random.key(1), (400_000,))))
    counts = np.bincount(slots // 10_000, minlength=40)
    assert chisquare(counts).pvalue > 0.001


def test_power_ignores_what_is_not_positive_and_does_not_overflow():
    weights = by_power(jnp.array([-1.0, 0.0, 1e20, 1e20]), jnp.ones(4, bool), 0.1)
    np.testing.assert_allclose(weights, [0, 0, 1, 1])


def test_staleness_is_the_draws_since_the_last():
    buffer = new_buffer(jnp.arange(4), jnp.ones(4), 4)
    drawn = jnp.array([2, 0, 2, 3])
    buffer = note_draws(buffer, drawn, jnp.array([True, True, True, False]))
    assert buffer.num_draws == 3
    np.testing.assert_array_equal(buffer.staleness, [1, 3, 0, 3])
    buffer = note_draws(buffer, jnp.array([3]), jnp.array([True]))
    np.testing.assert_array_equal(buffer.staleness, [2, 4, 1, 0])


def test_schedules_begin_and_end_where_they_should():
    for shape in ("linear", "cosine", "step"):
        config = ScheduleConfig(0.2, 0.8, begins=0.25, ends=0.75, shape=shape)
        values = [float(scheduled(config, jnp.asarray(x))) for x in (0.0, 0.25, 0.5, 0.75, 1.0)]
        assert values[0] == values[1] == pytest.approx(0.2)
        assert values[-1] == values[-2] == pytest.approx(0.8)
        assert values == sorted(values)
    with pytest.raises(ConfigError, match="in this order"):
        ScheduleConfig(begins=0.9, ends=0.1)


def test_the_effective_number_counts_equally_likely_levels():
    assert effective_number(jnp.full(50, 0.02)) == pytest.approx(50, rel=1e-4)
    assert effective_number(jnp.array([1.0, 0.0])) == pytest.approx(1)


def test_empty_slots_have_no_number():
    assert int(a_buffer([1.0], capacity=3).number[2]) == EMPTY


def test_a_slot_without_probability_is_never_drawn_at_any_point():
    random = np.random.default_rng(0)
    p = np.where(random.random(4000) < 0.7, 0.0, random.random(4000)).astype(np.float32)
    p /= p.sum()
    points = (jnp.arange(2**20, dtype=jnp.uint32) << 12) | jnp.uint32(0xABC)
    slots = np.asarray(jax.vmap(drawn_from(jnp.asarray(p)))(points))
    assert (p[slots] > 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_scaling_down_is_exact(bits, total):
    ours = int(scaled_down(jnp.uint32(bits), jnp.uint32(total)))
    assert ours == bits * total >> 32


def test_the_running_mean_is_the_plain_mean_over_the_first_window_and_then_forgets():
    random = np.random.default_rng(0)
    values = random.dirichlet(np.ones(5), size=12).astype(np.float32)
    window, mean = 4, jnp.zeros(5)
    for count, value in enumerate(values, start=1):
        before, mean = mean, averaged(mean, jnp.asarray(value), jnp.int32(count), window)
        if count <= window:
            np.testing.assert_allclose(mean, values[:count].mean(axis=0), atol=1e-6)
        else:
            expected = 0.75 * np.asarray(before) + 0.25 * value
            np.testing.assert_allclose(mean, expected, atol=1e-6)
        assert float(mean.sum()) == pytest.approx(1.0, abs=1e-5)


def test_the_average_is_over_levels_that_are_there_and_a_new_level_begins_at_nothing():
    buffer = a_buffer([1.0, 2.0, 3.0], capacity=5, dataset=2)
    kept = eqx.tree_at(lambda b: b.average, buffer, jnp.array([0.2, 0.2, 0.4, 0.2, 0.0]))
    found = np.asarray(average_probabilities(kept))  # two of the slots have no level now
    np.testing.assert_allclose(found, [0.25, 0.25, 0.5, 0.0, 0.0], atol=1e-6)


def oracle_cap(chances, most):
    """Cap whoever is above, share the rest out in proportion, and look again until nobody is."""
    most = max(most, 1.0 / np.count_nonzero(chances))
    capped_ones, shares = set(), np.array(chances, float)
    while True:
        over = {i for i in range(len(shares)) if shares[i] > most + 1e-9}
        if not over:
            return shares
        capped_ones |= over
        free = [i for i in range(len(shares)) if i not in capped_ones]
        left = 1.0 - most * len(capped_ones)
        total = sum(chances[i] for i in free)
        for i in range(len(shares)):
            shares[i] = most if i in capped_ones else chances[i] * left / total


@given(lists_of_sizes(st.integers(0, 40), 1, 2, 5, 12), st.floats(0.01, 1.0))
def test_no_level_takes_more_than_the_largest_share(weights, most):
    if not any(weights):
        weights = [1, *weights[1:]]
    chances = np.array(weights, float) / sum(weights)
    found = np.asarray(capped(jnp.asarray(chances, jnp.float32), most))
    np.testing.assert_allclose(found, oracle_cap(chances, most), atol=2e-5)
    assert found.sum() == pytest.approx(1.0, abs=1e-5)
    assert (found[chances == 0] == 0).all()


def test_the_largest_share_holds_for_the_whole_distribution():
    buffer = a_buffer(np.arange(20.0))
    sharp = probabilities(buffer, JUST_SCORE, jnp.zeros(()))
    assert float(sharp.max()) > 0.99
    method = dataclasses.replace(JUST_SCORE, largest_share=0.25)
    held = np.asarray(probabilities(buffer, method, jnp.zeros(())))
    assert held.max() == pytest.approx(0.25, abs=1e-5)
    assert (np.argsort(held, kind="stable")[-4:] >= 16).all()  # the best four are full


@pytest.mark.parametrize(
    "changes",
    [{"largest_share": 0.0}, {"largest_share": 1.5}, {"smoothing": 1.0}, {"score_gae_lambda": 1.5}],
)
def test_options_of_the_sampler_that_make_no_sense_are_refused(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        dataclasses.replace(PLR, **changes)
