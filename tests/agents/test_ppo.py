from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dred.agents.advantage import advantages
from dred.agents.categorical import entropy, gumbel_noise, log_prob, sample
from dred.agents.ppo import (
    Learner,
    estimate_advantages,
    learn,
    make_optimiser,
    normalise,
    policy_loss,
    value_loss,
)
from dred.agents.rollout import Rollout
from dred.config import PPOConfig
from dred.errors import ConfigError
from dred.presets import BUDGETS
from dred.tasks.gridworld.encoders import at_each_place
from dred.tasks.gridworld.view import View
from tests.agents.making import new_agent_of
from tests.oracles import learning as oracle


def floats(*numbers):
    return jnp.array(numbers, jnp.float32)


def column(*numbers):
    return floats(*numbers)[:, None]


def test_advantage_of_a_single_reward_fades_by_discount_times_lambda():
    got = advantages(column(0, 0, 1), column(0.5, 0.5, 0), column(0, 0, 0, 0), gae_lambda=0.5)
    np.testing.assert_allclose(got[:, 0], [0.0625, 0.25, 1])


@given(seed=st.integers(0, 300), gae_lambda=st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_advantages_equal_the_sum_written_out(seed, gae_lambda):
    random = np.random.default_rng(seed)
    reward, value = random.normal(size=(9, 2)), random.normal(size=(10, 2))
    discount = np.where(random.random((9, 2)) < 0.3, 0.0, 0.99)
    fast = advantages(
        *(jnp.asarray(a, jnp.float32) for a in (reward, discount, value)), gae_lambda=gae_lambda
    )
    np.testing.assert_allclose(
        fast, oracle.advantages(reward, discount, value, gae_lambda), rtol=1e-4, atol=1e-4
    )


def test_lambda_0_means_one_step_and_lambda_1_the_whole_return():
    reward, discount, value = column(1, 2, 4), column(0.5, 0.5, 0.5), column(1, 1, 1, 8)
    one_step = advantages(reward, discount, value, gae_lambda=0.0)
    np.testing.assert_allclose(one_step[:, 0], [0.5, 1.5, 7.0])
    whole = advantages(reward, discount, value, gae_lambda=1.0)
    assert float(whole[0, 0]) == pytest.approx(1 + 0.5 * 2 + 0.25 * 4 + 0.125 * 8 - 1)


def rollout_of(reward, terminated, truncated, value, end_value):
    """A rollout of one agent of which only what advantages need matters."""
    terminated, truncated = (jnp.array(a, jnp.bool_)[:, None] for a in (terminated, truncated))
    nothing = jnp.zeros((len(reward), 1), jnp.int32)
    return Rollout(
        observation=None,
        begins=terminated,
        level=nothing,
        action=nothing,
        log_prob=column(*reward),
        entropy=column(*reward),
        reward=column(*reward),
        terminated=terminated,
        truncated=truncated,
        value=column(*value),
        end_value=column(*end_value),
    )


ROLLOUT = rollout_of(
    reward=[0, 0, 0],
    terminated=[0, 0, 0],
    truncated=[0, 1, 0],
    value=[0, 0, 0, 4],
    end_value=[0, 2, 0],
)


def test_as_released_time_outs_and_the_end_of_the_rollout_are_worth_nothing():
    config = PPOConfig(discount=0.5, gae_lambda=1.0)
    got = estimate_advantages(ROLLOUT, config)
    np.testing.assert_allclose(got[:, 0], [0, 0, 0])


def test_with_bootstrap_they_are_worth_what_the_critic_expects():
    config = PPOConfig(discount=0.5, gae_lambda=1.0, bootstrap=True)
    got = estimate_advantages(ROLLOUT, config)
    # Step 1 ends by time with an expected 2: ½·2. Step 0 sees half of that. Step 2 sees ½·4.
    np.testing.assert_allclose(got[:, 0], [0.5, 1.0, 2.0])


def test_normalised_advantages_have_mean_zero_and_unbiased_deviation_one():
    got = normalise(jax.random.normal(jax.random.key(0), (40, 6)) * 3 + 2)
    assert float(got.mean()) == pytest.approx(0, abs=1e-5)
    assert float(got.std(ddof=1)) == pytest.approx(1, abs=1e-4)


def test_the_policy_gains_nothing_beyond_the_clip_range():
    up, down = jnp.log(floats(1.5)), jnp.log(floats(0.5))
    assert float(policy_loss(up, floats(1), clip=0.2)) == pytest.approx(-1.2)
    assert float(policy_loss(up, floats(-1), clip=0.2)) == pytest.approx(1.5)
    assert float(policy_loss(down, floats(1), clip=0.2)) == pytest.approx(-0.5)
    assert float(policy_loss(down, floats(-1), clip=0.2)) == pytest.approx(0.8)


def test_the_value_loss_takes_the_worse_of_moved_and_held_values():
    assert float(value_loss(floats(1.0), floats(0.0), floats(1.0), clip=0.2)) == pytest.approx(0.32)
    assert float(value_loss(floats(0.1), floats(0.0), floats(1.0), clip=0.2)) == pytest.approx(
        0.405
    )


@given(seed=st.integers(0, 100))
def test_the_whole_loss_equals_the_one_written_out(seed):
    random = np.random.default_rng(seed)
    log_ratio, advantage = random.normal(size=20) * 0.3, random.normal(size=20)
    value, old, target = random.normal(size=(3, 20))
    logits = random.normal(size=(20, 7))
    fast = (
        policy_loss(jnp.float32(log_ratio), jnp.float32(advantage), clip=0.2)
        + 0.5 * value_loss(jnp.float32(value), jnp.float32(old), jnp.float32(target), clip=0.2)
        - 0.01 * entropy(jnp.float32(logits)).mean()
    )
    slow = oracle.ppo_loss(
        log_ratio, advantage, value, old, target, logits, clip=0.2, c_value=0.5, c_entropy=0.01
    )
    assert float(fast) == pytest.approx(slow, abs=1e-5)


def test_actions_are_drawn_by_their_probabilities():
    logits = jnp.log(floats(0.5, 0.3, 0.2))
    noise = gumbel_noise((20_000, 3), key=jax.random.key(0))
    counts = np.bincount(sample(jnp.broadcast_to(logits, (20_000, 3)), noise), minlength=3)
    np.testing.assert_allclose(counts / 20_000, [0.5, 0.3, 0.2], atol=0.012)
    np.testing.assert_allclose(jnp.exp(log_prob(logits, jnp.int32(1))), 0.3, atol=1e-6)


def test_the_network_has_the_published_size_and_first_outputs():
    network = new_agent_of(7, key=jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(network)) == 432_929
    image = jax.random.randint(jax.random.key(1), (4, 5, 5, 3), 0, 10).astype(jnp.uint8)
    view = View(image, jnp.arange(4))
    assert network.encoder(view).shape == (4, 149)
    _, output = network.step(network.initial_memory(4), view)
    assert jnp.abs(output.logits).max() < 0.05  # nearly uniform at first


def test_the_kernel_at_each_place_makes_the_convolution_that_jax_knows():
    image = jax.random.randint(jax.random.key(1), (2, 5, 5, 3), 0, 10).astype(jnp.uint8)
    weight = jax.random.normal(jax.random.key(2), (27, 16))
    flat = image.reshape(2, 75).astype(jnp.float32) / 10
    ours = (flat @ at_each_place(weight)).reshape(2, 3, 3, 16)
    theirs = jax.lax.conv_general_dilated(
        image.astype(jnp.float32) / 10,
        weight.reshape(3, 3, 3, 16),
        (1, 1),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_minibatches_must_divide_the_environments():
    with pytest.raises(ConfigError, match="must divide the number of segments"):
        replace(PPOConfig(), num_minibatches=5)


@pytest.mark.parametrize("size", [2, 3])
def test_a_minibatch_in_pieces_teaches_the_same_as_in_one(size):
    num_envs, length = 12, 4
    random = np.random.default_rng(0)
    shape = (length, num_envs)
    network = new_agent_of(7, hidden_size=8, key=jax.random.key(0))
    image = jnp.asarray(random.integers(0, 4, size=(*shape, 5, 5, 3)), jnp.uint8)
    rollout = Rollout(
        observation=View(image, jnp.zeros(shape, jnp.int32)),
        begins=jnp.asarray(random.random(shape) < 0.2),
        level=jnp.zeros(shape, jnp.int32),
        action=jnp.asarray(random.integers(7, size=shape), jnp.int32),
        log_prob=jnp.full(shape, -np.log(7.0), jnp.float32),
        entropy=jnp.ones(shape),
        reward=jnp.zeros(shape),
        terminated=jnp.zeros(shape, jnp.bool_),
        truncated=jnp.zeros(shape, jnp.bool_),
        value=jnp.zeros((length + 1, num_envs)),
        end_value=jnp.zeros(shape),
    )
    advantage = jnp.asarray(random.normal(size=shape), jnp.float32)

    def learned(size):
        config = PPOConfig(num_envs=12, epochs=2, num_minibatches=2, cpu_microbatch_size=size)
        optimiser = make_optimiser(config, 1)
        learner = Learner(network, optimiser.init(eqx.filter(network, eqx.is_array)))
        return learn(learner, rollout, advantage, config, optimiser, key=jax.random.key(1))

    for one, other in zip(*map(jax.tree.leaves, (learned(0), learned(size))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=2e-6)


def test_pieces_must_divide_a_minibatch():
    ppo = PPOConfig(num_envs=36, num_minibatches=4, cpu_microbatch_size=2)
    with pytest.raises(ConfigError, match="cpu_microbatch_size"):
        replace(BUDGETS["smoke"], ppo=ppo)
