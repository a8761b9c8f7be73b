"""Slots in parts: the same play as in one piece, whoever is faster."""

from threading import Event

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import new_flat_encoder
from dred.agents.network import keys_for_agent, new_agent
from dred.config import AgentConfig
from dred.devices import mesh_of, on_device, placed
from dred.host import Slots, new_ongoing
from dred.host_parts import SplitSlots, names_saved, open_parts
from dred.host_rollout import roll_out_on_host
from dred.training.update import update
from tests.pretend import PretendEnvironment, PretendSlots, begun

KEY = jax.random.key(0)
WORLD = {"level": np.arange(20, dtype=np.int32)}
FIRST = np.array([4, 3, 1, 2])


class SlowSlots(PretendSlots):
    """The first part takes its time."""

    def step(self, actions, next_levels):
        if self.level[0] == 4:
            Event().wait(0.01)  # however long that is: the other part is done first
        return super().step(actions, next_levels)


def split(kind=PretendSlots):
    slots = SplitSlots([kind(2), kind(2)])
    slots.reset_to({"level": FIRST})
    return slots


def an_agent():
    config = AgentConfig(memory="gru", hidden_size=8, head_size=4)
    for_encoder, rest = keys_for_agent(KEY)
    shape = jax.ShapeDtypeStruct((64, 64, 3), jnp.uint8)
    return new_agent(config, new_flat_encoder(shape, 8, key=for_encoder[0]), 15, keys=rest)


def roll(agent, slots, length=8):
    next_levels = np.random.default_rng(2).integers(20, size=(length, 4)).astype(np.int32)
    ongoing = new_ongoing(agent, jnp.asarray(FIRST))
    return roll_out_on_host(agent, slots, WORLD, ongoing, next_levels, segment_length=4, key=KEY)


@pytest.mark.parametrize("kind", [PretendSlots, SlowSlots])
def test_a_rollout_in_parts_is_that_of_all_slots_together(kind):
    agent, whole = an_agent(), PretendSlots(4)
    whole.reset_to({"level": FIRST})
    in_one, in_parts = roll(agent, whole), roll(placed(agent, mesh_of(2)), split(kind))
    for one, other in zip(jax.tree.leaves(in_one), jax.tree.leaves(in_parts), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_array_equal(in_one.rollout.action, in_parts.rollout.action)
    np.testing.assert_array_equal(in_one.rollout.level, in_parts.rollout.level)
    assert in_parts.rollout.ended.any()


def test_parts_are_slots_like_others():
    whole, slots = PretendSlots(4), split()
    whole.reset_to({"level": FIRST})
    assert isinstance(slots, Slots) and slots.num_envs == 4

    def next_levels(ended):
        return {"level": 10 + ended}

    for _ in range(4):
        one, other = (some.step(np.zeros(4, int), next_levels) for some in (whole, slots))
        np.testing.assert_array_equal(one.observation, other.observation)
        np.testing.assert_array_equal(one.reward, other.reward)
        np.testing.assert_array_equal(one.ended, other.ended)


def test_parts_go_on_from_what_they_have_saved():
    slots = split()
    slots.step(np.zeros(4, int), lambda ended: {"level": ended})
    saved, seen = slots.save(), slots.observe()
    assert sorted(saved) == sorted(names_saved(PretendEnvironment(), slots))
    again = split()
    restored = again.restore(saved)
    np.testing.assert_array_equal(restored.observation, seen.observation)
    np.testing.assert_array_equal(again.observe().ended, seen.ended)


@pytest.mark.parametrize(("num_envs", "num_parts"), [(4, 1), (3, 2)])
def test_slots_that_cannot_be_shared_out_stay_together(num_envs, num_parts):
    slots = open_parts(PretendEnvironment(), num_envs, num_parts, seed=0)
    assert isinstance(slots, PretendSlots) and slots.num_envs == num_envs
    assert names_saved(PretendEnvironment(), slots) == ["level", "at", "ended"]


def test_what_is_the_same_on_all_devices_is_taken_from_one():
    tree = {"weight": placed(jnp.arange(3.0), mesh_of(2)), "size": 3}
    for place in range(2):
        found = on_device(tree, place)
        assert found["weight"].devices() == {jax.devices()[place]} and found["size"] == 3
        np.testing.assert_array_equal(found["weight"], [0, 1, 2])


@pytest.mark.long
def test_an_update_on_two_devices_is_that_on_one_but_for_rounding():
    found = []
    for devices in (1, 2):
        state, context, setup = begun("value-l1+mi", devices=devices)
        assert isinstance(context.simulators["play"], SplitSlots) == (devices == 2)
        found.append(update(state, context=context, setup=setup, key=KEY))
    for one, other in zip(*map(jax.tree.leaves, found), strict=True):
        if jnp.issubdtype(one.dtype, jnp.floating):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)
        elif not jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(one, other)
