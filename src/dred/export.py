"""Policies for elsewhere: a run's agent as plain arrays, which `dred.exported_policy` reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from dred import pretrained
from dred.agents.network import ActorCritic
from dred.errors import CheckpointError, ConfigError
from dred.exported_policy import Policy, load
from dred.runs import Run, open_run
from dred.storage import Column, write_file
from dred.tasks.gridworld.encoders import Convolution, Tiles
from dred.tasks.gridworld.view import OBJECT_NUMBERS
from dred.training.saved import newest_update

ENCODERS: dict[type[object], str] = {Tiles: "tiles", Convolution: "convolution"}


def export_policy(
    run: Run,
    out: Path,
    *,
    seed: int | None = None,
    update: int | None = None,
    half: bool = False,
) -> str:
    """Write a run's policy, of a seed or the first, newest or after an update; its digest."""
    policy = policy_of(run, seed=seed, update=update)
    weights = {
        name: one.astype(np.float16) if half else one for name, one in policy.weights.items()
    }
    return write_file(out, columns_of(weights), policy.meta)


def columns_of(weights: Mapping[str, NDArray[Any]]) -> dict[str, Column]:
    """Return weights as columns of a file."""
    return {name: Column(one.dtype, one.shape, [one]) for name, one in weights.items()}


def policy_of(run: Run, *, seed: int | None = None, update: int | None = None) -> Policy:
    """Return a run's policy, of a seed or the first, as one that needs NumPy alone."""
    agent = run.policy(seed, update=update).agent
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
    return Policy(weights_of(agent), meta)


def weights_of(agent: ActorCritic) -> dict[str, NDArray[Any]]:
    """Return the weights of an agent by their dotted names."""
    leaves = jax.tree.flatten_with_path(agent)[0]
    return {jax.tree_util.keystr(path).lstrip("."): np.asarray(leaf) for path, leaf in leaves}


def find_policy(said: str) -> Policy:
    """Return a policy: one that comes with dred, a file of `dred export`, or that of a run."""
    path = Path(said)
    if path.is_dir():
        return policy_of(open_run(path))
    if path.suffix != ".npz":
        return pretrained.load(said)
    try:
        return load(path)
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"{path} cannot be read as a policy: {error}. Give a file that `dred export` wrote, a "
            f"run folder, or one of {', '.join(pretrained.catalogue())}."
        ) from error
