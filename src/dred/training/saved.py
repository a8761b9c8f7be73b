"""What a run has saved: its networks and its buffers of levels."""

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from dred import checkpoint
from dred.agents.ppo import Learner
from dred.agents.protocol import Agent
from dred.errors import CheckpointError
from dred.replay.buffer import Buffer
from dred.replay.distribution import average_probabilities, probabilities, scheduled
from dred.run_folder import RunFolder
from dred.task import LevelFormat, Levels, LevelSet
from dred.training.state import new_learner, new_setup, run_key


class JustLearner(NamedTuple):
    """The first part of a `TrainState`, which is all that a policy needs."""

    learner: Learner[Agent]


class JustAgent(NamedTuple):
    """What `policies/` holds: the agents of all seeds, with a leading axis."""

    agent: Agent


def policies_of(run: RunFolder, update: int | None = None) -> list[Agent]:
    """The agent of each seed, from the newest checkpoint that is whole or after an update."""
    setup = new_setup(replace(run.config, devices=1), run.task)
    keys = jnp.stack([run_key(seed) for seed in run.seeds])
    blank = JustLearner(jax.eval_shape(jax.vmap(lambda key: new_learner(setup, key=key)), keys))
    agents = newest_agents(run, blank) if update is None else kept_agents(run, blank, update)
    return [
        jax.tree.map(lambda leaf, index=index: leaf[index], agents)
        for index in range(len(run.seeds))
    ]


def newest_agents(run: RunFolder, blank: JustLearner) -> Agent:
    """The agents in the newest checkpoint that is whole, with a leading axis for seeds."""
    found = checkpoint.load_latest(run.checkpoints, blank)
    if found is None:
        raise nothing_saved(run)
    return found[0].learner.agent


def kept_agents(run: RunFolder, blank: JustLearner, update: int) -> Agent:
    """The agents after an update, if they were kept."""
    kept = kept_updates(run)
    if update not in kept:
        raise CheckpointError(
            f"{run.path} has no policies after {update} updates. It kept those after "
            f"{', '.join(map(str, kept))}."
        )
    path = checkpoint.path_of(run.policies, update)
    if not path.exists():
        return newest_agents(run, blank)
    try:
        return checkpoint.load(path, JustAgent(blank.learner.agent)).agent
    except CheckpointError as error:
        raise CheckpointError(f"{error} Remove it to do without that update.") from None


def save_policies(run: RunFolder, update: int, agents: Agent) -> None:
    """Keep the agents of all seeds, as they are after an update, in `policies/`."""
    checkpoint.write(checkpoint.path_of(run.policies, update), JustAgent(agents))


def kept_updates(run: RunFolder) -> list[int]:
    """After which updates there are policies: those kept for good, and the newest checkpoint."""
    kept = {checkpoint.update_of(path) for path in checkpoint.checkpoints_in(run.policies)}
    if not kept or checkpoint.checkpoints_in(run.checkpoints):
        kept.add(newest_update(run))
    return sorted(kept)


def newest_update(run: RunFolder) -> int:
    """The number of updates in the newest checkpoint that is whole."""
    arrays = checkpoint.read_latest(run.checkpoints)
    if arrays is None:
        raise nothing_saved(run)
    found = next(array for name, array in arrays.items() if name.endswith(".num_updates"))
    return int(found[0])


class SavedBuffer(NamedTuple):
    """The levels of a buffer, most probable first, and what is known of each."""

    levels: LevelSet  # `structure` says what made each
    probability: Float[np.ndarray, " level"]
    score: Float[np.ndarray, " level"]
    best: Float[np.ndarray, " level"]  # highest return so far
    number: Int[np.ndarray, " level"]
    parent: Int[np.ndarray, " level"]  # number of the level it was made from, or −1
    generation: Int[np.ndarray, " level"]
    birth: Int[np.ndarray, " level"]  # updates done when it was admitted
    average: Float[np.ndarray, " level"]  # probability, averaged over the last updates


def buffers_of(run: RunFolder, update: int | None = None) -> list[SavedBuffer]:
    """The buffer of each seed, from the newest checkpoint that is whole or after an update."""
    if update is None:
        arrays = checkpoint.read_latest(run.checkpoints)
    else:
        arrays = checkpoint.read(checkpoint.path_of(run.checkpoints, update))
    if arrays is None:
        raise nothing_saved(run)
    makers = makers_in(arrays)
    by_path = {name.lstrip("0123456789"): array for name, array in arrays.items()}
    saved: list[SavedBuffer] = []
    for index in range(len(run.seeds)):
        level = levels_in(by_path, index, run.task.level_format)
        buffer = buffer_in(by_path, index, level)
        progress = by_path[".num_updates"][index] / run.config.num_updates
        eta = scheduled(run.config.method.eta, jnp.asarray(progress))
        eta = eta * by_path.get(".eta_scale", np.ones(index + 1))[index]
        weight = probabilities(buffer, run.config.method, eta)
        if ".buffer.average" not in by_path:
            buffer = eqx.tree_at(lambda b: b.average, buffer, weight)
        weight = np.asarray(weight)
        saved.append(in_order(buffer, level, weight, makers, run.task.level_format))
    return saved


def levels_in(arrays: checkpoint.Arrays, index: int, level_format: LevelFormat) -> Levels:
    """Return the levels in the buffer of one seed."""
    places = jax.tree.unflatten(level_format.treedef, list(range(level_format.treedef.num_leaves)))
    paths = [path for path, _ in jax.tree.flatten_with_path(places)[0]]
    names = [f".buffer.levels.level{jax.tree_util.keystr(path)}" for path in paths]
    return jax.tree.unflatten(level_format.treedef, [arrays[name][index] for name in names])


def buffer_in(arrays: checkpoint.Arrays, index: int, level: Levels) -> Buffer:
    """The buffer of one seed. Columns that older checkpoints do not have are zeros."""
    columns = [field.name for field in dataclasses.fields(Buffer) if field.name != "levels"]
    there = {name: arrays.get(f".buffer.{name}") for name in columns}
    blank = np.zeros(len(jax.tree.leaves(level)[0]), np.float32)
    known: dict[str, Any] = {
        name: jnp.asarray(blank if column is None else column[index])
        for name, column in there.items()
    }
    if there["num_unusable"] is None:
        known["num_unusable"] = jnp.zeros((), jnp.int32)
    return Buffer(levels=level, **known)


# Until checkpoints named them, numbers were places in the list of generators, which was this.
FORMER_MAKERS = ("dataset", "random", "empty", "edits", "vae", "resample")


def makers_in(arrays: checkpoint.Arrays) -> tuple[str, ...]:
    """What the numbers in `made_by` mean, as the checkpoint itself says."""
    return tuple(map(str, arrays["makers"])) if "makers" in arrays else FORMER_MAKERS


def in_order(
    buffer: Buffer,
    level: Levels,
    weight: Float[np.ndarray, " slot"],
    makers: Sequence[str],
    level_format: LevelFormat,
    *,
    most: int | None = None,
) -> SavedBuffer:
    """The slots with a level, most probable first, and at most so many."""
    order = np.argsort(-weight, kind="stable")
    order = order[np.asarray(buffer.is_used)[order]][:most]

    def pick(column: Any) -> Any:  # noqa: ANN401  (an array)
        return np.asarray(column)[order]

    return SavedBuffer(
        levels=level_format.collect(
            jax.tree.map(pick, level), np.array(makers)[pick(buffer.made_by)], {}
        ),
        probability=weight[order],
        score=pick(buffer.primary),
        best=pick(buffer.best),
        number=pick(buffer.number),
        parent=pick(buffer.parent),
        generation=pick(buffer.generation),
        birth=pick(buffer.birth),
        average=pick(average_probabilities(buffer)),
    )


def save_levels(path: Path, saved: SavedBuffer, level_format: LevelFormat) -> None:
    """Write levels as a set of their task; what is known of them is in its meta."""
    facts = {
        name: [None if not np.isfinite(value) else value for value in column.tolist()]
        for name, column in saved._asdict().items()
        if name != "levels"
    }
    path.parent.mkdir(exist_ok=True)
    level_format.collect(saved.levels.levels, saved.levels.structure, facts).save(path)


def nothing_saved(run: RunFolder) -> CheckpointError:
    """What to say of a run without a checkpoint."""
    return CheckpointError(
        f"{run.path} has no checkpoint yet. Train it further with `dred resume {run.path}`."
    )
