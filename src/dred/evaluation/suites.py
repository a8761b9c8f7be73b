"""Evaluating a run on sets of levels, and the files that come of it."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dred.agents.network import ActorCritic
from dred.envs.gridworld import Gridworld
from dred.envs.view import World
from dred.evaluation.evaluate import evaluate_compiled
from dred.files import write_text
from dred.levels.dataset import LevelDataset
from dred.runs import Run

HEADER = "seed,suite,level,episode,solved,return,steps"


class Row(NamedTuple):
    """One episode."""

    seed: int
    suite: str
    level: int
    episode: int
    solved: bool
    returned: float
    steps: int


def evaluate_run(
    run: Run,
    networks: Sequence[ActorCritic],
    dataset: LevelDataset,
    name: str,
    *,
    episodes: int = 1,
    seed: int = 0,
) -> list[Row]:
    """Play every level with each seed's agent and write `evaluation/NAME.csv`."""
    env = Gridworld()
    world = env.prepare(dataset.levels)
    rows: list[Row] = []
    for run_seed, network in zip(run.seeds, networks, strict=True):
        for episode in range(episodes):
            key = jax.random.fold_in(jax.random.key(seed), episode)
            rows += _episode_rows(network, env, world, key, run_seed, name, episode)
    (run.path / "evaluation").mkdir(exist_ok=True)
    lines = [
        f"{row.seed},{row.suite},{row.level},{row.episode},{int(row.solved)},{row.returned:.6f},"
        f"{row.steps}"
        for row in rows
    ]
    write_text(run.path / "evaluation" / f"{name}.csv", "\n".join([HEADER, *lines]) + "\n")
    return rows


def _episode_rows(
    network: ActorCritic,
    env: Gridworld,
    world: World,
    key: jax.Array,
    seed: int,
    name: str,
    episode: int,
) -> list[Row]:
    levels = jnp.arange(world.start.shape[0])
    played = jax.device_get(evaluate_compiled(network, env, world, levels, key=key))
    return [
        Row(seed, name, level, episode, bool(solved), float(returned), int(steps))
        for level, (solved, returned, steps) in enumerate(
            zip(np.asarray(played.solved), played.returned, played.steps, strict=True)
        )
    ]
