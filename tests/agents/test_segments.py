"""Learning from segments with stored memories, against play itself and plain NumPy."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.episodes import Start, begin, next_level, uniform
from dred.agents.lstm import Memory
from dred.agents.memory import forget
from dred.agents.ppo import Learner, cut, estimate_advantages, learn, loss_of, make_optimiser
from dred.agents.rollout import roll_out
from dred.config import PPOConfig
from dred.errors import ConfigError
from dred.levels import make
from dred.tasks.gridworld.environment import GridworldEnvironment
from tests.agents.making import new_agent_of
from tests.oracles import learning as oracle

ENV = GridworldEnvironment(max_steps=10)
WORLD = ENV.prepare(make("cave-escape-train", count=6, size=9).levels)
NETWORK = new_agent_of(7, hidden_size=8, key=jax.random.key(0))
CONFIG = PPOConfig(
    num_envs=3,
    num_steps=24,
    segment_length=8,
    epochs=2,
    num_minibatches=3,
    entropy_coefficient=0.01,
    bootstrap=True,
)

START = Start(jnp.arange(3), jnp.full(3, 5, jnp.uint32))


@pytest.fixture(scope="module")
def rollout():
    return roll_out(
        NETWORK,
        ENV,
        WORLD,
        START,
        length=CONFIG.num_steps,
        segment_length=CONFIG.segment_length,
        next_start=next_level(uniform(6)),
        value_ends=True,
        key=jax.random.key(1),
    )


def test_the_last_view_of_an_episode_that_ran_out_of_time_is_valued(rollout):
    ran_out = np.asarray(rollout.truncated & ~rollout.terminated)
    np.testing.assert_array_equal(np.asarray(rollout.end_value) != 0, ran_out)
    state = begin(ENV, WORLD, START)
    memory, limit = NETWORK.initial_memory(3), 10
    for t in range(limit):  # the first episodes, from play's own actions
        view = jax.tree.map(lambda leaf, t=t: leaf[t], rollout.observation)
        memory, _ = NETWORK.step(memory, view)
        action = rollout.action[t]
        state = jax.vmap(lambda one, a: ENV.step(WORLD, one, a))(state, action).state
    last = jax.vmap(lambda one: ENV.observe(WORLD, one))(state)
    expected = NETWORK.step(memory, last)[1].value
    whole = ran_out[limit - 1] & ~np.asarray(rollout.ended[: limit - 1]).any(axis=0)
    assert whole.any()
    np.testing.assert_allclose(rollout.end_value[limit - 1][whole], expected[whole], atol=1e-6)


def test_memories_are_those_the_agent_had_when_it_played(rollout):
    memory = NETWORK.initial_memory(3)
    assert bool(rollout.begins[1:].any())  # some episodes end on the way
    for t in range(CONFIG.num_steps):
        if t % CONFIG.segment_length == 0:
            stored = jax.tree.map(lambda leaf, t=t: leaf[t // 8], rollout.memory)
            for one, other in zip(stored, memory, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-6)
        view = jax.tree.map(lambda leaf, t=t: leaf[t], rollout.observation)
        memory, output = NETWORK.step(forget(memory, rollout.begins[t]), view)
        np.testing.assert_allclose(output.value, rollout.value[t], atol=1e-6)


def test_a_network_that_has_not_changed_judges_segments_as_it_did_in_play(rollout):
    advantage = estimate_advantages(rollout, CONFIG)
    segments = cut(rollout, advantage, CONFIG.segment_length)
    assert segments.count == 9
    output = NETWORK.unroll(segments.observation, segments.begins, segments.memory)
    np.testing.assert_allclose(output.value, segments.value, atol=1e-6)
    _, losses = loss_of(NETWORK, segments, CONFIG)
    assert float(losses.approx_kl) == pytest.approx(0.0, abs=1e-6)


def written_out(network, rollout, advantage, config):
    """The loss on all segments, one agent, segment and step after the other, in float64."""
    wide = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), network)
    features = np.asarray(network.encoder(rollout.observation), np.float64)
    hidden = np.zeros((*features.shape[:2], wide.cell.size))
    for first in range(0, config.num_steps, config.segment_length):
        part = slice(first, first + config.segment_length)
        memory = [np.asarray(leaf[first // config.segment_length]) for leaf in rollout.memory]
        lstm = (wide.cell.input_weight, wide.cell.recurrent_weight, wide.cell.bias)
        hidden[part] = oracle.lstm(
            features[part], np.asarray(rollout.begins)[part], *lstm, memory=memory
        )

    def head(first, second):
        inner = np.tanh(hidden @ first.weight + first.bias)
        return inner @ second.weight + second.bias

    logits = head(wide.actor_hidden, wide.actor).reshape(-1, 7)
    value = head(wide.critic_hidden, wide.critic).reshape(-1)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    action, gain = np.asarray(rollout.action).reshape(-1), np.asarray(advantage, np.float64)
    normal = (gain - gain.mean()) / (gain.std(ddof=1) + 1e-5)
    old = np.asarray(rollout.value[:-1], np.float64)
    return oracle.ppo_loss(
        logs[np.arange(len(action)), action] - np.asarray(rollout.log_prob).reshape(-1),
        normal.reshape(-1),
        value,
        old.reshape(-1),
        (gain + old).reshape(-1),
        logits,
        clip=config.clip,
        c_value=config.value_coefficient,
        c_entropy=config.entropy_coefficient,
    )


def test_loss_and_gradient_on_segments_equal_those_written_out(rollout):
    advantage = estimate_advantages(rollout, CONFIG)
    changed = jax.tree.map(lambda leaf: leaf + 0.02 * jnp.sin(100 * leaf), NETWORK)
    segments = cut(rollout, advantage, CONFIG.segment_length)
    gradient, losses = jax.grad(loss_of, has_aux=True)(changed, segments, CONFIG)
    assert float(losses.total) == pytest.approx(
        written_out(changed, rollout, advantage, CONFIG), abs=1e-5
    )
    for place in (
        lambda n: n.cell.recurrent_weight,
        lambda n: n.cell.input_weight,
        lambda n: n.cell.bias,
        lambda n: n.critic.weight,
    ):
        slope, leaf = place(gradient), place(changed)
        steepest = int(jnp.abs(slope).argmax())
        for index in (steepest, leaf.size // 2):
            sides = []
            for step in (0.01, -0.01):
                moved = leaf.reshape(-1).at[index].add(step).reshape(leaf.shape)
                there = eqx.tree_at(place, changed, moved)
                sides.append(written_out(there, rollout, advantage, CONFIG))
            expected = (sides[0] - sides[1]) / 0.02
            assert float(slope.reshape(-1)[index]) == pytest.approx(expected, rel=0.02, abs=2e-5)


def test_the_gradient_stops_at_the_stored_memory(rollout):
    advantage = estimate_advantages(rollout, CONFIG)

    def loss(memory):
        segments = cut(replace(rollout, memory=memory), advantage, CONFIG.segment_length)
        return loss_of(NETWORK, segments, CONFIG)[0]

    for leaf in jax.grad(loss)(rollout.memory):
        np.testing.assert_array_equal(leaf, 0.0)


def learned(rollout, config):
    optimiser = make_optimiser(config, 1)
    learner = Learner(NETWORK, optimiser.init(eqx.filter(NETWORK, eqx.is_array)))
    advantage = estimate_advantages(rollout, config)
    return learn(learner, rollout, advantage, config, optimiser, key=jax.random.key(2))


def test_one_segment_per_sequence_teaches_exactly_what_whole_sequences_do(rollout):
    whole = replace(CONFIG, segment_length=0)
    first = jax.tree.map(lambda leaf: leaf[:1], rollout.memory)
    as_one = replace(rollout, memory=first)
    one = learned(as_one, replace(CONFIG, segment_length=CONFIG.num_steps))
    without = learned(replace(rollout, memory=None), whole)
    for some in (learned(as_one, whole), without):
        for ours, other in zip(jax.tree.leaves(one), jax.tree.leaves(some), strict=True):
            np.testing.assert_array_equal(ours, other)


def test_minibatches_take_each_segment_once_with_its_own_memory(rollout):
    segments = cut(rollout, estimate_advantages(rollout, CONFIG), CONFIG.segment_length)
    numbers = jnp.arange(segments.count, dtype=jnp.float32)
    marked = eqx.tree_at(
        lambda s: (s.advantage, s.memory),
        segments,
        (
            jnp.broadcast_to(numbers, segments.advantage.shape),
            Memory(*(jnp.broadcast_to(numbers[:, None], leaf.shape) for leaf in segments.memory)),
        ),
    )
    some = marked.pick(jnp.array([7, 2, 5]))
    np.testing.assert_array_equal(some.advantage[0], [7, 2, 5])
    np.testing.assert_array_equal(some.memory.hidden[:, 0], [7, 2, 5])


@pytest.mark.parametrize("length", [-1, 5, 48])
def test_segments_must_divide_a_rollout(length):
    with pytest.raises(ConfigError, match="segment_length"):
        replace(CONFIG, segment_length=length)
