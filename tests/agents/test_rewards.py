"""Rewards on a common scale, against a plain loop over all that was seen."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dred.agents.rewards import RewardScale, new_scale, scaled


def random_steps(seed, length, envs):
    random = np.random.default_rng(seed)
    reward = random.choice([0.0, 0.0, 1.0, -2.0, 10.0], size=(length, envs))
    return reward, random.random((length, envs)) < 0.2


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 12]), st.sampled_from([1, 4]))
def test_rewards_are_divided_by_the_spread_of_all_discounted_sums_so_far(seed, length, envs):
    reward, ended = random_steps(seed, length, envs)
    running = np.zeros(envs)
    seen, expected = [], []
    for reward_t, ended_t in zip(reward, ended, strict=True):
        running = 0.99 * running + reward_t
        seen.extend(running)
        # What stands at the start: a ten-thousandth of an observation with mean 0 and variance 1.
        weight = np.array([1e-4] + [1.0] * len(seen))
        values = np.array([0.0, *seen])
        mean = (weight * values).sum() / weight.sum()
        square = (weight * (values - mean) ** 2).sum() + 1e-4
        spread = np.sqrt(square / weight.sum() + 1e-8)
        expected.append(np.clip(reward_t / spread, -10, 10))
        running = np.where(ended_t, 0, running)
    after, found = scaled(new_scale(envs), jnp.asarray(reward, "float32"), jnp.asarray(ended))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(after.running, running, rtol=1e-4, atol=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 12]))
def test_two_halves_are_scaled_like_the_whole(seed, length):
    reward, ended = random_steps(seed, length, 3)
    reward, ended, half = jnp.asarray(reward, "float32"), jnp.asarray(ended), length // 2
    whole_scale, whole = scaled(new_scale(3), reward, ended)
    scale, first = scaled(new_scale(3), reward[:half], ended[:half])
    scale, second = scaled(scale, reward[half:], ended[half:])
    np.testing.assert_array_equal(jnp.concatenate([first, second]), whole)
    assert isinstance(scale, RewardScale) and scale.variance == whole_scale.variance


def test_scaled_rewards_lie_within_ten():
    reward = jnp.zeros((50, 1)).at[-1, 0].set(1e6)
    _, found = scaled(new_scale(1), reward, jnp.zeros((50, 1), jnp.bool_))
    assert 0 < found[-1, 0] <= 10
