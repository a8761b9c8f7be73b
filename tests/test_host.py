"""Rollouts and evaluations on the host, in a game of which everything is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import Linear, new_flat_encoder
from dred.agents.network import keys_for_agent, new_agent
from dred.config import AgentConfig, ProbeConfig
from dred.evaluation.gaps import examples_on_host, level_information_compiled
from dred.host import HostEnvironment, Slots, new_ongoing, play_each
from dred.host_rollout import roll_out_on_host
from dred.tasks.procgen.network import ImageAgent, new_image_agent
from tests.pretend import PretendEnvironment, PretendSlots

KEY = jax.random.key(0)
WORLD = {"level": np.arange(200, dtype=np.int32)}


@pytest.fixture(scope="module")
def network():
    return new_image_agent("patches", hidden_size=16, key=KEY)


@pytest.fixture(scope="module")
def played(network):
    slots = PretendSlots(3)
    first = np.array([0, 2, 4])
    slots.reset_to({"level": first})
    next_levels = np.random.default_rng(0).integers(200, size=(12, 3)).astype(np.int32)
    ongoing = new_ongoing(network, jnp.asarray(first))
    return roll_out_on_host(network, slots, WORLD, ongoing, next_levels, key=KEY), (
        next_levels,
        slots,
    )


def test_the_pretended_game_follows_the_protocols():
    assert isinstance(PretendEnvironment(), HostEnvironment)
    assert isinstance(PretendSlots(1), Slots)


def test_every_level_is_that_of_its_observation(played):
    rollout = played[0].rollout
    np.testing.assert_array_equal(rollout.level, rollout.observation[:, :, 0, 0, 0])


def test_an_episode_begins_where_the_last_ended_and_in_the_level_that_was_drawn(played):
    (rollout, _, _), (next_levels, _) = played
    for t in range(11):
        for env in range(3):
            ended = bool(rollout.ended[t, env])
            assert ended == (int(rollout.observation[t, env, 0, 0, 1]) == rollout.level[t, env] % 5)
            assert rollout.begins[t + 1, env] == ended
            expected = next_levels[t, env] if ended else rollout.level[t, env]
            assert rollout.level[t + 1, env] == expected


def test_a_reward_belongs_to_the_level_in_which_it_was_earned(played):
    rollout = played[0].rollout
    earned = np.where(rollout.ended, np.asarray(rollout.level) + 1.0, 0.0)
    np.testing.assert_array_equal(rollout.reward, earned)


def test_features_values_and_probabilities_are_those_of_the_observations(network, played):
    (rollout, features, _), (_, slots) = played
    flat = rollout.observation.reshape(-1, 64, 64, 3)
    again = network.features(flat)
    np.testing.assert_allclose(features.reshape(again.shape), again, atol=1e-5)
    output = network.heads(again)
    np.testing.assert_allclose(rollout.value[:-1].reshape(-1), output.value, atol=1e-5)
    logs = np.asarray(jax.nn.log_softmax(output.logits))
    chosen = logs[np.arange(36), np.asarray(rollout.action).reshape(-1)]
    np.testing.assert_allclose(rollout.log_prob.reshape(-1), chosen, atol=1e-5)
    np.testing.assert_array_equal(rollout.action, np.stack(slots.actions))
    last = network.heads(network.features(jnp.asarray(slots.observe().observation))).value
    np.testing.assert_allclose(rollout.value[-1], last, atol=1e-5)


def test_two_rollouts_go_on_from_each_other_like_one(network):
    next_levels = np.random.default_rng(1).integers(200, size=(14, 3)).astype(np.int32)

    def play(parts):
        slots = PretendSlots(3)
        slots.reset_to({"level": np.array([3, 2, 4])})
        ongoing = new_ongoing(network, jnp.array([3, 2, 4]))
        rewards = []
        for part in parts:
            found = roll_out_on_host(network, slots, WORLD, ongoing, part, key=KEY)
            ongoing = found.ongoing
            rewards.append(np.asarray(found.rollout.reward))
        return np.concatenate(rewards), ongoing

    whole, after = play([next_levels])
    parts, other = play([next_levels[:6], next_levels[6:]])
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_array_equal(after.level, other.level)
    np.testing.assert_array_equal(after.returned, other.returned)


def test_what_an_episode_has_got_before_a_rollout_counts_when_it_ends(network):
    slots = PretendSlots(1)
    slots.reset_to({"level": np.array([3])})
    ongoing = new_ongoing(network, jnp.array([3]))
    part = np.zeros((2, 1), np.int32)
    first = roll_out_on_host(network, slots, WORLD, ongoing, part, key=KEY).ongoing
    assert first.returned.tolist() == [0.0] and first.level.tolist() == [3]
    second = roll_out_on_host(network, slots, WORLD, first, part, key=KEY)
    assert np.asarray(second.rollout.reward)[:, 0].tolist() == [0.0, 4.0]
    assert second.ongoing.level.tolist() == [0]


@pytest.mark.parametrize("memory", ["lstm", "gru"])
def test_an_agent_with_a_memory_learns_from_the_memories_it_had(memory):
    """Unrolling each segment from its first memory gives the values that were expected in play."""
    config = AgentConfig(memory=memory, hidden_size=8, head_size=4)
    for_encoder, rest = keys_for_agent(KEY)
    shape = jax.ShapeDtypeStruct((64, 64, 3), jnp.uint8)
    agent = new_agent(config, new_flat_encoder(shape, 8, key=for_encoder[0]), 15, keys=rest)
    slots = PretendSlots(3)
    slots.reset_to({"level": np.array([4, 3, 1])})
    ongoing = new_ongoing(agent, jnp.array([4, 3, 1]))
    next_levels = np.random.default_rng(2).integers(200, size=(8, 3)).astype(np.int32)
    found = roll_out_on_host(
        agent, slots, WORLD, ongoing, next_levels, segment_length=4, key=KEY
    ).rollout
    for number, part in enumerate((slice(0, 4), slice(4, 8))):
        first = jax.tree.map(lambda leaf, number=number: leaf[number], found.memory)
        seen = jax.tree.map(lambda leaf, part=part: leaf[part], found.observation)
        value = agent.unroll(seen, found.begins[part], first).value
        np.testing.assert_allclose(value, found.value[:-1][part], atol=1e-5)


@pytest.mark.parametrize("slots", [1, 3, 16])
def test_an_evaluation_plays_each_level_once_to_its_end_however_long_others_take(
    network, slots, monkeypatch
):
    monkeypatch.setattr("dred.host.SIDE_BY_SIDE", slots)
    levels = np.array([4, 3, 0, 1, 2, 7, 4], np.int32)
    told = []
    found = play_each(network, PretendEnvironment(), WORLD, levels, key=KEY, advance=told.append)
    np.testing.assert_array_equal(found.returned, levels + 1)
    np.testing.assert_array_equal(found.steps, levels % 5 + 1)
    assert sum(told) == len(levels)


def test_examples_for_the_probe_are_of_the_level_they_name(network, monkeypatch):
    monkeypatch.setattr("dred.evaluation.gaps.SIDE_BY_SIDE", 3)
    config = ProbeConfig(length=8, stride=2)
    found = examples_on_host(network, PretendEnvironment(), WORLD, jnp.arange(7), config, key=KEY)
    assert found.features.shape == (7 * 4, 16)
    image = np.zeros((28, 64, 64, 3), np.uint8)
    image[:, 0, 0, 0] = np.asarray(found.level)
    # Steps 0, 2, 4 and 6 of repeated episodes: the step within an episode of k % 5 + 1 steps.
    step = np.concatenate([np.repeat([0, 2, 4, 6], len(some)) for some in ([0] * 3, [0] * 3, [0])])
    image[:, 0, 0, 1] = step % (np.asarray(found.level) % 5 + 1)
    np.testing.assert_allclose(found.features, network.features(jnp.asarray(image)), atol=1e-5)


class SeesPairs(ImageAgent):
    """An agent whose representation says which pair of levels it is in, and nothing else."""

    def features(self, image):
        return jax.nn.one_hot(image[:, 0, 0, 0].astype(jnp.int32) // 2, self.num_features)


def nothing(inputs, outputs):
    return Linear(jnp.zeros((inputs, outputs)), jnp.zeros(outputs))


def test_information_is_what_a_representation_is_known_to_tell():
    """Of 8 levels it tells four pairs apart: ln 4 nats, and half of the guesses are right."""
    config = ProbeConfig(length=8, stride=1, epochs=4, batch_size=32)
    agent = SeesPairs((), shared=nothing(1, 4), actor=nothing(4, 15), critic=nothing(4, 1))
    found = level_information_compiled(
        agent, PretendEnvironment(), WORLD, jnp.arange(8), config, key=KEY
    )
    assert found.nats == pytest.approx(np.log(4), abs=0.05)
    assert found.accuracy == pytest.approx(0.5)
