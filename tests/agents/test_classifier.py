"""The level classifier: what it measures, and that guesses come before learning."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.classifier import (
    FeatureScale,
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


def drifting_levels(*, updates=150, num_levels=20, size=24, scale=0.3, seed=0):
    """What the classifier sees beside an agent: few levels at a time, each for several updates.

    Features are small and positive; each episode shifts them as a whole, so levels overlap.
    """
    random = np.random.default_rng(seed)
    centre = 0.35 * random.normal(size=(num_levels, size))
    level, left = random.integers(num_levels, size=8), random.integers(1, 6, size=8)
    episode = random.normal(size=(8, size))
    for _ in range(updates):
        over = left == 0
        level = np.where(over, random.integers(num_levels, size=8), level)
        fresh = random.normal(size=(8, size))
        episode = np.where(over[:, None], fresh, episode)
        left = np.where(over, 6, left - 1)
        noise = random.normal(size=(16, 8, size))
        seen = scale * np.maximum(centre[level] + 0.3 * episode + 0.5 * noise + 0.3, 0.0)
        yield (
            Examples(
                jnp.asarray(seen.reshape(128, size), jnp.float32), jnp.asarray(np.tile(level, 16))
            ),
            jnp.asarray(np.tile(over, 16)),
        )


def found_online(config):
    """Mean of ln p in episodes that are new, over the second half."""
    classifier = new_classifier(config, 24, 20, key=jax.random.key(0))
    learn = jax.jit(lambda now, some, key: guess_and_learn(now, some, config, key=key))
    nats = []
    for number, (examples, is_new) in enumerate(drifting_levels()):
        classifier, guesses = learn(classifier, examples, jax.random.key(number))
        if number >= 75 and is_new.any():
            nats.append(float(information_in(guesses, is_new, 20).unfloored))
    return np.mean(nats), classifier


def test_features_of_any_scale_are_learned_from_once_they_are_standardised():
    """Small features move an online classifier hardly at all, though they tell as much."""
    config = ClassifierConfig(num_envs=8, num_steps=16, num_minibatches=4)
    as_they_are, _ = found_online(config)
    standardised, classifier = found_online(replace(config, standardise=True))
    assert standardised > 2 * max(as_they_are, 0.1)
    examples, _ = next(drifting_levels(seed=0))
    shown = np.asarray(classifier.standardised(examples).features)
    assert np.abs(shown.mean()) < 0.5 and 0.5 < shown.std() < 2.0


def test_running_means_are_those_of_all_batches_at_first():
    scale = FeatureScale(jnp.zeros(2), jnp.ones(2), jnp.zeros(()))
    one, other = jnp.array([[1.0, 5.0], [3.0, 5.0]]), jnp.array([[6.0, 7.0], [6.0, 7.0]])
    scale = scale.after(one)
    np.testing.assert_allclose(scale.mean, [2.0, 5.0])
    np.testing.assert_allclose(scale.variance, [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(scale(one), [[-1.0, 0.0], [1.0, 0.0]], atol=1e-4)
    scale = scale.after(other)
    np.testing.assert_allclose(scale.mean, [4.0, 6.0])
    assert np.abs(scale(jnp.array([[1e6, 0.0]]))).max() == 10.0
