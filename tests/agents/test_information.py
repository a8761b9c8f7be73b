"""Information about the level, where it is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.probe import Examples, information, needed_for
from dred.config import ProbeConfig

LEVELS = 8
CONFIG = ProbeConfig(epochs=60, batch_size=128, learning_rate=0.05)
LABELS = jnp.tile(jnp.arange(LEVELS), 64)
information_of = jax.jit(information, static_argnums=(3, 4))  # one program for all tests of a shape


def measured(features, labels=LABELS, key=0):
    examples = Examples(features, labels)
    return information_of(examples, examples, examples, LEVELS, CONFIG, key=jax.random.key(key))


def test_a_representation_that_names_the_level_has_all_the_information():
    found = measured(jax.nn.one_hot(LABELS, LEVELS))
    assert float(found.nats) == pytest.approx(np.log(LEVELS), abs=0.02)
    assert float(found.accuracy) == 1.0
    assert float(found.nats) == pytest.approx(np.log(LEVELS) - float(found.cross_entropy))


def test_a_representation_that_is_always_the_same_has_none():
    found = measured(jnp.ones((len(LABELS), LEVELS)))
    assert float(found.nats) == pytest.approx(0.0, abs=0.01)
    assert float(found.accuracy) == pytest.approx(1 / LEVELS)


def test_a_representation_that_tells_two_halves_apart_has_one_bit():
    found = measured(jax.nn.one_hot(LABELS % 2, LEVELS))
    assert float(found.nats) == pytest.approx(np.log(2), abs=0.02)
    assert float(found.accuracy) == pytest.approx(2 / LEVELS)


def test_noise_that_was_learned_by_heart_counts_for_nothing():
    keys = jax.random.split(jax.random.key(3), 3)
    one, two, three = (Examples(jax.random.normal(k, (len(LABELS), 300)), LABELS) for k in keys)
    found = information_of(one, two, three, LEVELS, CONFIG, key=keys[0])
    assert float(found.nats) < 0.02
    assert float(found.unfloored) == pytest.approx(0.0, abs=0.1)  # it knows that it knows nothing
    by_heart = information_of(one, one, one, LEVELS, CONFIG, key=keys[0])
    assert float(by_heart.nats) > 1.0


def test_the_value_without_floor_is_kept():
    keys = jax.random.split(jax.random.key(4), 2)
    one, two = (Examples(jax.random.normal(k, (len(LABELS), 300)), LABELS) for k in keys)
    found = information_of(
        one, one, two, LEVELS, CONFIG, key=keys[0]
    )  # by heart, judged by another
    assert float(found.unfloored) < -0.5
    assert 0.0 <= float(found.nats) < 0.01  # what its right guesses need, hardly more than chance's


def test_no_gradient_reaches_the_representation():
    def nats(features):
        return measured(features).nats

    gradient = jax.grad(nats)(jax.nn.one_hot(LABELS, LEVELS))
    np.testing.assert_array_equal(gradient, 0.0)


# Gaussians of known information, as large as what is measured in training: 512 levels whose means
# are drawn from N(0, s²), 256 features with noise of 1, 256 steps per level in each of three sets.
GAUSSIAN_LEVELS, FEATURES, STEPS = 512, 256, 256


def gaussians(spread, key):
    """Three sets of examples, the true I(L; b) by the Bayes classifier, and its standard error."""
    key_means, *keys = jax.random.split(key, 4)
    means = spread * jax.random.normal(key_means, (GAUSSIAN_LEVELS, FEATURES))
    level = jnp.repeat(jnp.arange(GAUSSIAN_LEVELS), STEPS)
    noises = (jax.random.normal(key, (len(level), FEATURES)) for key in keys)
    sets = [Examples(means[level] + noise, level) for noise in noises]
    odds = sets[2].features @ means.T - 0.5 * (means**2).sum(axis=1)[None]
    log_p = jnp.take_along_axis(jax.nn.log_softmax(odds), level[:, None], axis=1)
    error = float(log_p.std()) / len(level) ** 0.5
    return sets, float(np.log(GAUSSIAN_LEVELS) + log_p.mean()), error


@pytest.mark.long
def test_the_probe_measures_known_information_of_gaussians():
    config = ProbeConfig(epochs=1)
    measure = jax.jit(
        lambda sets, key: information(*sets, GAUSSIAN_LEVELS, config, key=key).unfloored
    )
    found = []
    for number, spread in enumerate((0.09, 0.125, 0.15, 0.24)):
        sets, true, error = gaussians(spread, jax.random.key(number))
        nats = float(measure(sets, jax.random.key(9)))
        assert nats <= true + 3 * error, (true, nats)  # it is a lower bound
        assert nats >= min(true - 0.5, 0.8 * true), (true, nats)
        found.append((true, nats))
    assert found == sorted(found)
    assert [nats for _, nats in found] == sorted(nats for _, nats in found)
    assert found[0][0] < 1.2
    assert found[-1][0] > 5.0


@pytest.mark.parametrize(
    ("accuracy", "levels", "nats"),
    [
        (0.137, 43, 0.136),  # by hand: ln 43 + 0.137 ln 0.137 + 0.863 ln(0.863 / 42)
        (1.0, 43, np.log(43)),
        (1 / 43, 43, 0.0),
        (0.01, 43, 0.0),  # below chance nothing is needed
        (1.0, 1, 0.0),
    ],
)
def test_no_contradictions_right_guesses_need_information(accuracy, levels, nats):
    assert float(needed_for(accuracy, levels)) == pytest.approx(nats, abs=1e-3)


def test_no_contradictions_the_estimate_is_never_less_than_right_guesses_need():
    # Seen in the first two sets, a feature tells the level; in the third it lies as often as not.
    level = jnp.tile(jnp.arange(8), 64)
    sure = 40.0 * jax.nn.one_hot(level, 8)
    wrong = jnp.roll(sure, 1, axis=1)
    lies = jax.random.bernoulli(jax.random.key(0), 0.5, level.shape)
    judged = Examples(jnp.where(lies[:, None], wrong, sure), level)
    seen = Examples(sure + jax.random.normal(jax.random.key(1), sure.shape), level)
    once = ProbeConfig(epochs=1)
    found = information_of(seen, seen, judged, 8, once, key=jax.random.key(2))
    assert float(found.unfloored) < 0 < 0.3 < float(found.accuracy)
    assert float(found.nats) == pytest.approx(float(needed_for(float(found.accuracy), 8)), rel=1e-4)
    assert 0 < float(found.accuracy_error) < 0.1 and float(found.nats_error) > 0
