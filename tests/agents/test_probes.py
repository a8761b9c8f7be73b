"""Probe environments: tiny worlds with a known answer, each for one part of the learner."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.episodes import Start, next_level, uniform
from dred.agents.ppo import Learner, estimate_advantages, learn, make_optimiser
from dred.agents.rollout import roll_out
from dred.config import PPOConfig
from dred.environment import Environment, Transition
from dred.tasks.gridworld.view import View
from tests.agents.making import new_agent_of

CONFIG = PPOConfig(num_envs=16, num_steps=16, learning_rate=5e-3, discount=0.9, epochs=4)


class Probe(Environment):
    """Level k is seen as k; what pays is for each probe to say."""

    length: int = eqx.field(static=True, default=1)
    num_actions: int = eqx.field(static=True, default=2)

    def reset(self, world, level, *, bits):
        return Place(level, jnp.int32(0))

    def observe(self, world, state):
        image = jnp.zeros((5, 5, 3), jnp.uint8).at[:, :, 0].set(self.shown(state).astype(jnp.uint8))
        return View(image, jnp.int32(0))

    def shown(self, state):
        return 10 * state.level

    def step(self, world, state, action):
        over = state.time + 1 >= self.length
        after = Place(state.level, state.time + 1)
        reward = jnp.where(over, self.pays(state, action), 0.0)
        return Transition(after, reward.astype(jnp.float32), over, jnp.zeros((), bool))


class Place(eqx.Module):
    level: jax.Array
    time: jax.Array


class AlwaysPays(Probe):
    def pays(self, state, action):
        return jnp.float32(1.0)


class PaysBySight(Probe):
    def pays(self, state, action):
        return state.level.astype(jnp.float32)


class PaysByAction(Probe):
    def pays(self, state, action):
        return jnp.where(action == state.level, 1.0, 0.0)


class PaysByMemory(PaysByAction):
    """The level is only seen at first; the last action of three must tell it."""

    def shown(self, state):
        return jnp.where(state.time == 0, 5 + 10 * state.level, 0)


def trained(env, updates):
    world = env.prepare(jnp.array([0, 1]))
    assert env.num_levels(world) == 2
    optimiser = make_optimiser(CONFIG, updates)
    network = new_agent_of(2, hidden_size=16, key=jax.random.key(0))
    learner = Learner(network, optimiser.init(eqx.filter(network, eqx.is_array)))

    def rollout_of(network, key):
        levels = jnp.arange(CONFIG.num_envs) % 2
        return roll_out(
            network,
            env,
            world,
            Start(levels, jnp.zeros_like(levels, jnp.uint32)),
            length=CONFIG.num_steps,
            next_start=next_level(uniform(2)),
            value_ends=False,
            key=key,
        )

    def step(learner, key):
        key_play, key_learn = jax.random.split(key)
        rollout = rollout_of(learner.agent, key_play)
        advantage = estimate_advantages(rollout, CONFIG)
        return learn(learner, rollout, advantage, CONFIG, optimiser, key=key_learn)[0], None

    keys = jax.random.split(jax.random.key(1), updates)
    learner, _ = jax.jit(lambda learner: jax.lax.scan(step, learner, keys))(learner)
    return jax.jit(rollout_of)(learner.agent, jax.random.key(2))


def mean_value(rollout, where):
    return float(jnp.where(where, rollout.value[:-1], 0.0).sum() / where.sum(dtype=float))


def test_the_critic_learns_a_constant():
    rollout = trained(AlwaysPays(), 60)
    assert mean_value(rollout, jnp.ones_like(rollout.begins)) == pytest.approx(1.0, abs=0.05)


def test_the_critic_learns_what_it_sees():
    rollout = trained(PaysBySight(), 250)
    for level in (0, 1):
        assert mean_value(rollout, rollout.level == level) == pytest.approx(level, abs=0.1)


def test_the_critic_discounts_what_comes_later():
    rollout = trained(AlwaysPays(length=2), 120)
    complete = jnp.arange(CONFIG.num_steps)[:, None] < CONFIG.num_steps - 1
    assert mean_value(rollout, rollout.begins & complete) == pytest.approx(0.9, abs=0.05)
    assert mean_value(rollout, ~rollout.begins & complete) == pytest.approx(1.0, abs=0.05)


def test_the_actor_learns_what_to_do_where():
    rollout = trained(PaysByAction(), 80)
    assert float(rollout.reward.mean()) > 0.95


def test_the_agent_learns_to_remember():
    rollout = trained(PaysByMemory(length=3), 300)
    ended = np.asarray(rollout.ended)
    assert np.asarray(rollout.reward)[ended].mean() > 0.95
