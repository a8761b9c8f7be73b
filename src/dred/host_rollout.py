"""Rollouts in simulators on the host: only the agent is compiled."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.protocol import Agent
from dred.agents.rollout import Rollout
from dred.devices import on_device
from dred.host import Choice, Levels, Moment, Ongoing, Slots, choose, noise_of_steps, rows
from dred.host_parts import SplitSlots


class Played(NamedTuple):
    """A rollout, what the agents made of each observation, and what goes on."""

    rollout: Rollout[Any]
    features: Float[Array, "time env feature"]
    ongoing: Ongoing


class Part(NamedTuple):
    """What agents in some of the slots went through."""

    steps: list[tuple[Any, ...]]  # the first fields of a rollout, one tuple for each step
    choices: list[Choice]
    memories: list[Any]  # where segments begin
    level: Int[np.ndarray, " env"]  # in which it goes on
    memory: Any
    last_value: Float[np.ndarray, " env"]


def roll_out_on_host(
    agent: Agent,
    slots: Slots,
    world: Levels,
    ongoing: Ongoing,
    next_levels: Int[np.ndarray, "time env"],
    *,
    segment_length: int = 0,
    keep_observations: bool = True,
    key: PRNGKeyArray,
) -> Played:
    """Go on from where the slots are, as many steps as there are rows of `next_levels`.

    Where an episode ends at step t, the level of the world at the place in row t is begun.
    Observations are most of a rollout's memory: without them it cannot be learned from. Time-outs
    of which a simulator does not show the last state count as ends. Parts of slots are played side
    by side, each with the agent on a device of its own.
    """
    length = next_levels.shape[0]
    noise = noise_of_steps(agent, ongoing.memory, slots.observe(), length, key)
    play = partial(
        play_part,
        world=jax.tree.map(np.asarray, world),
        segment_length=segment_length or length,
        keep_observations=keep_observations,
    )
    level = np.array(ongoing.level)
    if isinstance(slots, SplitSlots):
        parts = play_parts(agent, slots, level, ongoing.memory, next_levels, noise, play)
        memory = _joined([part.memory for part in parts])
    else:
        here = on_device(agent, 0), slots, level, ongoing.memory
        parts = [play(*here, next_levels, noise)]
        memory = parts[0].memory
    return together(parts, memory, ongoing.returned)


def play_parts(
    agent: Agent,
    slots: SplitSlots,
    level: Int[np.ndarray, " env"],
    memory: Any,  # noqa: ANN401  (the agent's)
    next_levels: Int[np.ndarray, "time env"],
    noise: Float[np.ndarray, "time env action"],
    play: Any,  # noqa: ANN401  (`play_part` with what is the same for all)
) -> list[Part]:
    """Play all parts at once."""

    def one(place: int) -> Part:
        share = slots.shares[place]
        own = jax.tree.map(lambda leaf: np.asarray(leaf)[share], memory)
        there = on_device(agent, place), slots.parts[place], level[share], own
        return play(*there, next_levels[:, share], noise[:, share])

    return slots.in_threads(one)


def play_part(
    agent: Agent,
    slots: Slots,
    level: Int[np.ndarray, " env"],
    memory: Any,  # noqa: ANN401  (the agent's)
    next_levels: Int[np.ndarray, "time env"],
    noise: Float[np.ndarray, "time env action"],
    *,
    world: Levels,
    segment_length: int,
    keep_observations: bool,
) -> Part:
    """Play as many steps as there are rows of `next_levels`."""
    now = slots.observe()
    steps: list[tuple[Any, ...]] = []
    choices: list[Choice] = []
    memories: list[Any] = []
    for t, drawn in enumerate(next_levels):
        if t % segment_length == 0:
            memories.append(memory)
        begins, before = now.ended, level.copy()
        choice = choose(agent, memory, now.observation, begins, noise[t])
        seen = now.observation if keep_observations else ()
        now = slots.step(
            np.asarray(choice.action), lambda ended, drawn=drawn: rows(world, drawn[ended])
        )
        level = np.where(now.ended, drawn, level)
        memory = choice.memory
        end_value = value_of_ends(agent, memory, now, noise[t])
        steps.append((seen, begins, before, now.reward, now.terminated, now.truncated, end_value))
        choices.append(choice._replace(memory=()))
    last = choose(agent, memory, now.observation, now.ended, noise[0]).value
    return Part(steps, choices, memories, level, memory, np.asarray(last))


def together(
    parts: Sequence[Part],
    memory: Any,  # noqa: ANN401  (that goes on, of all)
    returned: Float[Array, " env"],
) -> Played:
    """Return what all parts went through as one rollout."""
    observation, begins, levels_played, reward, terminated, truncated, end_value = _stacked(
        [part.steps for part in parts]
    )
    _, action, log_probs, entropies, value, features = _stacked([part.choices for part in parts])
    last = np.concatenate([part.last_value for part in parts])
    rollout = Rollout(
        observation=observation,
        begins=begins,
        level=levels_played,
        action=action,
        log_prob=log_probs,
        entropy=entropies,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        value=jnp.concatenate([value, last[None]]),
        end_value=end_value,
        memory=_stacked([part.memories for part in parts]),
    )
    level = jnp.asarray(np.concatenate([part.level for part in parts]))
    so_far = left_over(returned, reward, rollout.ended)
    return Played(rollout, features, Ongoing(level, memory, so_far))


def value_of_ends(
    agent: Agent,
    memory: Any,  # noqa: ANN401  (after the last step)
    now: Moment,
    noise: Float[np.ndarray, "env action"],
) -> Float[np.ndarray, " env"]:
    """Return what the critic expects of states in which episodes ran out of time; 0 elsewhere."""
    ran_out = now.truncated & ~now.terminated
    if now.last is None or not ran_out.any():
        return np.zeros(ran_out.shape, np.float32)
    goes_on = np.zeros(ran_out.shape, np.bool_)
    value = choose(agent, memory, now.last, goes_on, noise).value
    return np.where(ran_out, np.asarray(value), np.float32(0.0))


def left_over(so_far: Float[Array, " env"], reward: Array, ended: Array) -> Float[Array, " env"]:
    """Return what the episodes that go on after a rollout have got."""
    total = np.array(so_far, np.float32)
    for reward_t, ended_t in zip(np.asarray(reward), np.asarray(ended), strict=True):
        total = np.where(ended_t, np.float32(0.0), total + reward_t)
    return jnp.asarray(total)


def _stacked(parts: Sequence[Sequence[Any]]) -> Any:  # noqa: ANN401  (a pytree)
    """Return pytrees of each part and step as one, leaves [time, env, …]; copied once."""
    flat = [[jax.tree.leaves(step) for step in steps] for steps in parts]
    count = len(flat[0][0])
    columns = [[[step[leaf] for step in steps] for steps in flat] for leaf in range(count)]
    leaves = [jnp.asarray(_side_by_side(column)) for column in columns]
    return jax.tree.unflatten(jax.tree.structure(parts[0][0]), leaves)


def _side_by_side(parts: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return the arrays [env, …] of each part and step as one [time, env, …]."""
    if len(parts) == 1:
        return np.stack(parts[0])
    first = [np.asarray(steps[0]) for steps in parts]
    num_envs = sum(len(array) for array in first)
    whole = np.empty((len(parts[0]), num_envs, *first[0].shape[1:]), first[0].dtype)
    begin = 0
    for steps, array in zip(parts, first, strict=True):
        np.stack(steps, out=whole[:, begin : begin + len(array)])
        begin += len(array)
    return whole


def _joined(memories: Sequence[Any]) -> Any:  # noqa: ANN401  (a pytree, leaves [env, …])
    return jax.tree.map(
        lambda *leaves: jnp.asarray(np.concatenate([np.asarray(leaf) for leaf in leaves])),
        *memories,
    )
