"""Information about the level, where it is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.probe import Examples, information
from dred.config import ProbeConfig

LEVELS = 8
CONFIG = ProbeConfig(epochs=60, batch_size=128, learning_rate=0.05)
LABELS = jnp.tile(jnp.arange(LEVELS), 64)


def measured(features, labels=LABELS, key=0):
    examples = Examples(features, labels)
    return information(examples, examples, LEVELS, CONFIG, key=jax.random.key(key))


def test_a_representation_that_names_the_level_has_all_the_information():
    found = measured(jax.nn.one_hot(LABELS, LEVELS))
    assert float(found.nats) == pytest.approx(np.log(LEVELS), abs=0.02)
    assert float(found.accuracy) == 1.0
    assert float(found.nats) == pytest.approx(np.log(LEVELS) - float(found.cross_entropy))


def test_a_representation_that_is_always_the_same_has_none():
    found = measured(jnp.ones((len(LABELS), 5)))
    assert float(found.nats) == pytest.approx(0.0, abs=0.01)
    assert float(found.accuracy) == pytest.approx(1 / LEVELS)


def test_a_representation_that_tells_two_halves_apart_has_one_bit():
    found = measured(jax.nn.one_hot(LABELS % 2, 2))
    assert float(found.nats) == pytest.approx(np.log(2), abs=0.02)
    assert float(found.accuracy) == pytest.approx(2 / LEVELS)


def test_noise_that_was_learned_by_heart_counts_for_nothing():
    keys = jax.random.split(jax.random.key(3), 2)
    seen, unseen = (Examples(jax.random.normal(key, (len(LABELS), 300)), LABELS) for key in keys)
    found = information(seen, unseen, LEVELS, CONFIG, key=keys[0])
    assert float(found.nats) == 0.0  # the guesses are worse than none, which tells nothing
    by_heart = information(seen, seen, LEVELS, CONFIG, key=keys[0])
    assert float(by_heart.nats) > 1.0


def test_no_gradient_reaches_the_representation():
    def nats(features):
        return measured(features).nats

    gradient = jax.grad(nats)(jax.nn.one_hot(LABELS, LEVELS))
    np.testing.assert_array_equal(gradient, 0.0)
