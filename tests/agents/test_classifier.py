"""The level classifier: what it measures, and that guesses come before learning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.classifier import (
    Guesses,
    guess,
    guess_and_learn,
    information_in,
    new_classifier,
)
from dred.agents.probe import Examples
from dred.config import ClassifierConfig

EACH = jnp.ones(64, jnp.bool_)
CONFIG = ClassifierConfig(num_envs=4, num_steps=16, num_minibatches=2, learning_rate=0.05)


def telling_examples(count, num_levels, size, seed=0):
    """Features from which the level can be read off."""
    level = np.random.default_rng(seed).integers(num_levels, size=count)
    return Examples(
        jnp.asarray(5.0 * np.eye(num_levels, size)[level], jnp.float32), jnp.array(level)
    )


def test_a_classifier_that_has_learned_nothing_knows_nothing():
    fresh = new_classifier(CONFIG, 16, 8, key=jax.random.key(0))
    found = information_in(guess(fresh.layer, telling_examples(64, 8, 16)), EACH, 8)
    assert found.nats < 0.01
    assert found.cross_entropy == pytest.approx(np.log(8), abs=0.01)


def test_what_can_be_read_off_is_learned_and_guesses_come_before_learning():
    classifier = new_classifier(CONFIG, 16, 8, key=jax.random.key(0))
    examples = telling_examples(64, 8, 16)
    classifier, first = guess_and_learn(classifier, examples, CONFIG, key=jax.random.key(1))
    assert information_in(first, EACH, 8).nats < 0.01
    for step in range(20):
        key = jax.random.key(step)
        classifier, last = guess_and_learn(classifier, examples, CONFIG, key=key)
    found = information_in(last, EACH, 8)
    assert found.nats > 0.9 * np.log(8)
    assert found.accuracy == 1.0


def test_no_gradient_reaches_the_features():
    layer = new_classifier(CONFIG, 16, 8, key=jax.random.key(0)).layer
    level = jnp.zeros(4, jnp.int32)
    gradient = jax.grad(lambda features: guess(layer, Examples(features, level)).log_prob.sum())(
        jnp.ones((4, 16))
    )
    assert not gradient.any()


def test_information_is_the_log_of_the_levels_minus_the_cross_entropy():
    guesses = Guesses(jnp.log(jnp.array([0.5, 0.01, 0.25])), jnp.array([1.0, 1.0, 0.0]))
    found = information_in(guesses, jnp.array([True, False, True]), 8)
    assert found.cross_entropy == pytest.approx(1.5 * np.log(2))
    assert found.nats == pytest.approx(np.log(8) - 1.5 * np.log(2))
    assert found.accuracy == 0.5


def test_information_is_never_below_nothing():
    guesses = Guesses(jnp.array([-50.0]), jnp.array([0.0]))
    assert information_in(guesses, jnp.array([True]), 8).nats == 0.0
    assert np.isnan(information_in(guesses, jnp.array([False]), 8).nats)  # none that counts
