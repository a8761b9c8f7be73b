"""Agents in levels, as moving pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.categorical import gumbel_noise, sample
from dred.agents.network import ActorCritic
from dred.reports.pictures import cell_of, png_of
from dred.tasks.gridworld.environment import Gridworld
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.pictures import Pose, draw_agent, save_episode
from dred.tasks.gridworld.view import World

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
    """Levels in which agents differ most: about half of the runs solve them.

    If every level is either always or never solved, of both kinds in turn.
    """
    order = np.argsort(np.abs(rate - 0.5), kind="stable")
    if np.abs(rate[order[0]] - 0.5) < 0.5:
        return [int(i) for i in order[:count]]
    kinds = [np.flatnonzero(rate > 0.5), np.flatnonzero(rate < 0.5)]
    turns = [int(kind[i]) for i in range(count) for kind in kinds if i < len(kind)]
    return turns[:count]


def play_levels(
    network: ActorCritic,
    levels: LevelDataset,
    numbers: Sequence[int],
    folder: Path,
    *,
    seed: int = 0,
) -> list[Episode]:
    """One episode in each of these levels; `folder` is for files that are not kept."""
    chosen = levels[list(numbers)]
    env = Gridworld()
    world = env.prepare(chosen.levels)
    poses, alive, returned = jax.device_get(
        record(network, env, world, len(numbers), key=jax.random.key(seed))
    )
    cell = cell_of(levels.shape)
    episodes: list[Episode] = []
    for place, number in enumerate(numbers):
        steps = int(alive[:, place].sum())
        path: list[Pose] = [
            (int(row), int(column), int(heading))
            for row, column, heading in poses[: min(steps, MOST_FRAMES) + 1, place]
        ]
        file = folder / "episode.gif"
        save_episode(file, chosen[place], path, cell=cell, fps=10.0)
        episodes.append(
            Episode(
                number,
                file.read_bytes(),
                png_of(draw_agent(chosen[place], *path[-1], cell=cell)),
                bool(returned[place] > 0),
                steps,
                steps > MOST_FRAMES,
            )
        )
        file.unlink()
    return episodes


@eqx.filter_jit
def record(
    network: ActorCritic, env: Gridworld, world: World, count: int, *, key: PRNGKeyArray
) -> tuple[Int[Array, "frame level 3"], Bool[Array, "time level"], Float[Array, " level"]]:
    """Poses before each step and after the last, whether each step was played, and returns."""
    key_begin, key_act = jax.random.split(key)
    chance = jax.random.bits(key_begin, (count,))
    begun = jax.vmap(lambda level, bits: env.begin(world, level, chance=bits))(
        jnp.arange(count), chance
    )

    def pose(state: Any) -> Int[Array, "level 3"]:  # noqa: ANN401  (a batch of states)
        return jnp.stack([state.row, state.column, state.heading], axis=-1)

    def step(now: Any, time: Int[Array, ""]) -> tuple[Any, Any]:  # noqa: ANN401  (a carry)
        state, memory, over, returned = now
        view = jax.vmap(lambda one: env.look(world, one))(state)
        memory, judged = network.step(memory, view)
        noise = gumbel_noise(judged.logits.shape, key=jax.random.fold_in(key_act, time))
        moves = jax.vmap(lambda one, a: env.move(world, one, a))(
            state, sample(judged.logits, noise)
        )
        returned = returned + jnp.where(over, 0.0, moves.reward)
        ended = over | moves.terminated | moves.truncated
        return (moves.state, memory, ended, returned), (pose(moves.state), ~over)

    start = (begun, network.lstm.empty(count), jnp.zeros(count, jnp.bool_), jnp.zeros(count))
    (_, _, _, returned), (after, played) = jax.lax.scan(
        step, start, jnp.arange(env.time_limit(world))
    )
    return jnp.concatenate([pose(begun)[None], after]), played, returned
