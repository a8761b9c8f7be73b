"""Policies for elsewhere: a run's agent as plain arrays, which `dred.exported_policy` reads."""

from pathlib import Path

import jax
import numpy as np

from dred.agents.network import ActorCritic
from dred.errors import ConfigError
from dred.runs import Run
from dred.storage import Column, write_file
from dred.tasks.gridworld.encoders import Convolution, Tiles
from dred.tasks.gridworld.view import OBJECT_NUMBERS
from dred.training.saved import newest_update

ENCODERS: dict[type[object], str] = {Tiles: "tiles", Convolution: "convolution"}


def export_policy(
    run: Run, out: Path, *, seed: int | None = None, update: int | None = None
) -> str:
    """Write a run's policy, of a seed or the first, newest or after an update; its digest."""
    agent = run.policy(seed, update=update)
    if not isinstance(agent, ActorCritic) or type(agent.encoder) not in ENCODERS:
        raise ConfigError(
            f"{run.path} has an agent of its task's own, which cannot be exported. Agents of the "
            "gridworld can; others are arrays in the checkpoints of the run."
        )
    meta = {
        "kind": "policy",
        "task": run.record.task,
        "method": run.config.method.name,
        "seed": run.seeds[0] if seed is None else seed,
        "update": newest_update(run) if update is None else update,
        "encoder": ENCODERS[type(agent.encoder)],
        "objects": list(OBJECT_NUMBERS),
        "memory": run.config.agent.memory,
        "size": run.config.agent.hidden_size,
    }
    return write_file(out, columns_of(agent), meta)


def columns_of(agent: ActorCritic) -> dict[str, Column]:
    """Return the weights of an agent by their dotted names."""
    leaves = jax.tree.flatten_with_path(agent)[0]
    arrays = {jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves}
    return {name: Column(one.dtype, one.shape, [one]) for name, one in arrays.items()}
