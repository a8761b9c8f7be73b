"""Actions that are numbers: the Gaussian against SciPy, and an agent that learns with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dred
from dred.agents import gaussian
from dred.agents.choices import chosen, entropy_of, log_prob_of, noise_for
from dred.agents.episodes import Start, same_level
from dred.agents.ppo import Learner, estimate_advantages, learn, make_optimiser
from dred.agents.protocol import PolicyOutput
from dred.agents.rollout import roll_out
from dred.config import AgentConfig, PPOConfig
from dred.policy import Policy

MEAN = jnp.array([[0.5, -1.0], [2.0, 0.0], [0.0, 3.0]])
LOG_STD = jnp.array([[-0.5, 0.3], [0.0, 0.0], [1.0, -2.0]])
OUTPUT = PolicyOutput(MEAN, jnp.zeros(3), LOG_STD)


def test_log_probability_and_entropy_of_numbers_are_those_of_scipy():
    action = np.array([[0.1, 0.2], [2.5, -1.0], [-1.0, 3.1]])
    normal = stats.norm(np.asarray(MEAN), np.exp(np.asarray(LOG_STD)))
    found = log_prob_of(OUTPUT, jnp.asarray(action))
    np.testing.assert_allclose(found, normal.logpdf(action).sum(axis=-1), rtol=1e-5)
    np.testing.assert_allclose(entropy_of(OUTPUT), normal.entropy().sum(axis=-1), rtol=1e-5)


def test_by_hand_a_standard_gaussian_at_its_middle():
    zero = jnp.zeros((1, 1))
    assert float(gaussian.log_prob(zero, zero, zero)[0]) == pytest.approx(-0.9189385)  # −½ ln 2π
    assert float(gaussian.entropy(zero)[0]) == pytest.approx(1.4189385)  # ½ ln 2πe


def test_numbers_are_drawn_with_the_mean_and_spread_that_the_policy_says():
    noise = noise_for(OUTPUT, lead=(20_000,), key=jax.random.key(0))
    drawn = np.asarray(jax.vmap(lambda one: chosen(OUTPUT, one))(noise))
    np.testing.assert_allclose(drawn.mean(axis=0), MEAN, atol=0.06)
    np.testing.assert_allclose(drawn.std(axis=0), np.exp(LOG_STD), rtol=0.03)
    np.testing.assert_array_equal(chosen(OUTPUT, jnp.zeros_like(MEAN)), MEAN)


class Target(dred.Environment):
    """One step: the nearer two numbers are to those of the level, the better."""

    num_actions: int = eqx.field(static=True, default=2)

    def reset(self, world, level, *, bits):
        return level

    def observe(self, world, state):
        return world["place"][state]

    def step(self, world, state, action):
        reward = 1.0 - jnp.sum((action - world["place"][state]) ** 2)
        return dred.Transition(state, reward, jnp.bool_(True), jnp.bool_(False))


def test_an_agent_learns_to_say_numbers():
    world = {"place": jnp.array([[0.5, -0.5], [-0.8, 0.3], [0.0, 0.9], [0.2, 0.1]])}
    make = dred.SimpleAgent(Target(), world, continuous=True)
    agent = make(AgentConfig(memory="none", hidden_size=16), jax.random.key(0))
    config = PPOConfig(num_envs=32, num_steps=8, epochs=4, num_minibatches=1, learning_rate=1e-2)
    optimiser = make_optimiser(config, 60)
    learner = Learner(agent, optimiser.init(eqx.filter(agent, eqx.is_array)))

    @jax.jit
    def update(learner, key):
        key_play, key_learn = jax.random.split(key)
        start = Start(jnp.arange(32) % 4, jnp.zeros(32, jnp.uint32))
        rollout = roll_out(
            learner.agent,
            Target(),
            world,
            start,
            length=8,
            next_start=same_level,
            value_ends=False,
            key=key_play,
        )
        advantage = estimate_advantages(rollout, config)
        learner, _ = learn(learner, rollout, advantage, config, optimiser, key=key_learn)
        return learner, rollout

    first = None
    for number in range(60):
        learner, rollout = update(learner, jax.random.fold_in(jax.random.key(1), number))
        first = float(rollout.reward.mean()) if first is None else first
    assert rollout.action.shape == (8, 32, 2)
    assert first < 0.3 < 0.8 < float(rollout.reward.mean())
    policy = Policy(learner.agent)
    _, action = policy.act(policy.initial_memory(4), world["place"])
    np.testing.assert_allclose(action, world["place"], atol=0.25)
    _, drawn = policy.act(policy.initial_memory(), world["place"][0], key=jax.random.key(0))
    assert drawn.shape == (2,)
