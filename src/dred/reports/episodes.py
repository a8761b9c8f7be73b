"""Agents in levels, as moving pictures."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.choices import chosen, noise_for
from dred.agents.episodes import Start, begin
from dred.agents.protocol import Agent
from dred.environment import Environment
from dred.host import HostEnvironment
from dred.reports.kit.pictures import gif_of, png_of
from dred.reports.pictures import SIDE
from dred.task import LevelSet, Task

MOST_FRAMES = 120


class Episode(NamedTuple):
    """An agent in a level."""

    level: int
    gif: bytes
    still: bytes  # its last moment, for readers who want no motion
    solved: bool
    steps: int
    cut: bool  # it went on after what is shown


def telling_levels(rate: Float[np.ndarray, " level"], count: int) -> list[int]:
    """Return levels in which agents differ most: about half of the runs solve them.

    If every level is either always or never solved, of both kinds in turn.
    """
    order = np.argsort(np.abs(rate - 0.5), kind="stable")
    if np.abs(rate[order[0]] - 0.5) < 0.5:
        return [int(i) for i in order[:count]]
    kinds = [np.flatnonzero(rate > 0.5), np.flatnonzero(rate < 0.5)]
    turns = [int(kind[i]) for i in range(count) for kind in kinds if i < len(kind)]
    return turns[:count]


def play_levels(
    agent: Agent, levels: LevelSet, numbers: Sequence[int], task: Task, *, seed: int = 0
) -> list[Episode]:
    """One episode in each of these levels; none if the task has no pictures of states."""
    pictures, environment = task.pictures, task.environment
    if pictures is None or isinstance(environment, HostEnvironment):
        return []
    chosen = levels[list(numbers)]
    world = environment.prepare(chosen.levels)
    key = jax.random.key(seed)
    recorded = record(agent, environment, world, len(numbers), MOST_FRAMES, key=key)
    played, solved = jax.device_get((recorded, task.is_solved(recorded.returned)))
    episodes: list[Episode] = []
    for place, number in enumerate(numbers):
        steps = int(played.steps[place])
        frames = [
            pictures.draw_state(
                chosen[place],
                jax.tree.map(lambda leaf, t=t, place=place: leaf[t, place], played.states),
                size=SIDE,
            )
            for t in range(min(steps, MOST_FRAMES) + 1)
        ]
        gif, still = gif_of(frames, fps=10.0), png_of(frames[-1])
        episodes.append(
            Episode(number, gif, still, bool(solved[place]), steps, steps > MOST_FRAMES)
        )
    return episodes


class Recorded(NamedTuple):
    """A batch of episodes."""

    states: Any  # leaves [frame, level, …]: before each step and after the last
    steps: Int[Array, " level"]
    returned: Float[Array, " level"]


class _Now(NamedTuple):
    state: Any
    memory: Any
    over: Bool[Array, " level"]
    steps: Int[Array, " level"]
    returned: Float[Array, " level"]
    time: Int[Array, ""]


@eqx.filter_jit
def record(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    count: int,
    frames: int,
    *,
    key: PRNGKeyArray,
) -> Recorded:
    """Play the first levels of a world to the end, and keep the states of so many steps."""
    key_begin, key_act = jax.random.split(key)
    start = Start(jnp.arange(count), jax.random.bits(key_begin, (count,)))

    def step(now: _Now) -> _Now:
        seen = jax.vmap(lambda one: environment.observe(world, one))(now.state)
        memory, output = agent.step(now.memory, seen)
        noise = noise_for(output, key=jax.random.fold_in(key_act, now.time))
        action = chosen(output, noise)
        after = jax.vmap(lambda one, a: environment.step(world, one, a))(now.state, action)
        return _Now(
            after.state,
            memory,
            now.over | after.terminated | after.truncated,
            now.steps + jnp.where(now.over, 0, 1),
            now.returned + jnp.where(now.over, 0.0, after.reward),
            now.time + 1,
        )

    def keep(now: _Now, _: None) -> tuple[_Now, Any]:
        after = step(now)
        return after, after.state

    state = begin(environment, world, start)
    first = _Now(
        state,
        agent.initial_memory(count),
        jnp.zeros(count, jnp.bool_),
        jnp.zeros(count, jnp.int32),
        jnp.zeros(count),
        jnp.zeros((), jnp.int32),
    )
    shown, kept = jax.lax.scan(keep, first, None, length=frames)
    end = jax.lax.while_loop(lambda now: ~now.over.all(), step, shown)
    states = jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), state, kept)
    return Recorded(states, end.steps, end.returned)
