"""What a run has saved: its networks and its buffers of levels."""

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from dred import checkpoint
from dred.agents.network import ActorCritic
from dred.agents.ppo import Learner
from dred.errors import CheckpointError
from dred.generators import GENERATORS
from dred.levels.dataset import LevelDataset
from dred.levels.level import Level
from dred.replay.buffer import Buffer
from dred.replay.distribution import probabilities, scheduled
from dred.runs import Run
from dred.training.state import new_learner, new_setup, run_key


class JustLearner(NamedTuple):
    """The first part of a `TrainState`, which is all that a policy needs."""

    learner: Learner[ActorCritic]


def policies_of(run: Run) -> list[ActorCritic]:
    """The network of each seed, from the newest checkpoint that is whole."""
    setup = new_setup(run.config)
    keys = jnp.stack([run_key(seed) for seed in run.seeds])
    blank = JustLearner(jax.eval_shape(jax.vmap(lambda key: new_learner(setup, key=key)), keys))
    found = checkpoint.load_latest(run.checkpoints, blank)
    if found is None:
        raise nothing_saved(run)
    states, _ = found
    networks = states.learner.network
    return [
        jax.tree.map(lambda leaf, index=index: leaf[index], networks)
        for index in range(len(run.seeds))
    ]


def newest_update(run: Run) -> int:
    """The number of updates in the newest checkpoint that is whole."""
    arrays = checkpoint.read_latest(run.checkpoints)
    if arrays is None:
        raise nothing_saved(run)
    found = next(array for name, array in arrays.items() if name.endswith(".num_updates"))
    return int(found[0])


class SavedBuffer(NamedTuple):
    """The levels of a buffer, the likeliest first, and what is known of each."""

    levels: LevelDataset  # `structure` says what made each
    probability: Float[np.ndarray, " level"]
    score: Float[np.ndarray, " level"]
    best: Float[np.ndarray, " level"]  # highest return so far
    number: Int[np.ndarray, " level"]
    parent: Int[np.ndarray, " level"]  # number of the level it was made from, or −1
    generation: Int[np.ndarray, " level"]
    birth: Int[np.ndarray, " level"]  # updates done when it was admitted


def buffers_of(run: Run) -> list[SavedBuffer]:
    """The buffer of each seed, from the newest checkpoint that is whole."""
    arrays = checkpoint.read_latest(run.checkpoints)
    if arrays is None:
        raise nothing_saved(run)
    by_path = {name.lstrip("0123456789"): array for name, array in arrays.items()}
    columns = [field.name for field in dataclasses.fields(Buffer) if field.name != "levels"]
    saved: list[SavedBuffer] = []
    for index in range(len(run.seeds)):
        level = Level(*(by_path[f".buffer.levels.level.{part}"][index] for part in Level._fields))
        known: dict[str, Any] = {name: by_path[f".buffer.{name}"][index] for name in columns}
        buffer = Buffer(levels=level, **jax.tree.map(jnp.asarray, known))
        progress = by_path[".num_updates"][index] / run.config.num_updates
        eta = scheduled(run.config.method.eta, jnp.asarray(progress))
        eta = eta * by_path.get(".eta_scale", np.ones(index + 1))[index]
        weight = np.asarray(probabilities(buffer, run.config.method, eta))
        saved.append(in_order(buffer, level, weight))
    return saved


def in_order(
    buffer: Buffer, level: Level, weight: Float[np.ndarray, " slot"], *, most: int | None = None
) -> SavedBuffer:
    """The slots with a level, the likeliest first, and at most so many."""
    order = np.argsort(-weight, kind="stable")
    order = order[np.asarray(buffer.is_used)[order]][:most]

    def pick(column: Any) -> Any:  # noqa: ANN401  (an array)
        return np.asarray(column)[order]

    makers = np.array(["dataset", *GENERATORS])[pick(buffer.made_by)]
    return SavedBuffer(
        levels=LevelDataset(*(pick(part) for part in level), structure=makers),
        probability=weight[order],
        score=pick(buffer.primary),
        best=pick(buffer.best),
        number=pick(buffer.number),
        parent=pick(buffer.parent),
        generation=pick(buffer.generation),
        birth=pick(buffer.birth),
    )


def save_levels(path: Path, saved: SavedBuffer) -> None:
    """Write levels as a set that `dred.levels.load` reads; what is known of them is in its meta."""
    facts = {
        name: [None if not np.isfinite(value) else value for value in column.tolist()]
        for name, column in saved._asdict().items()
        if name != "levels"
    }
    path.parent.mkdir(exist_ok=True)
    replace(saved.levels, meta=facts).save(path)


def nothing_saved(run: Run) -> CheckpointError:
    """What to say of a run without a checkpoint."""
    return CheckpointError(
        f"{run.path} has no checkpoint yet. Train it further with `dred resume {run.path}`."
    )
