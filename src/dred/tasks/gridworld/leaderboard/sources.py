"""Whose levels are compared: fitted generators, and others that need not be fitted."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.errors import ConfigError, DatasetError
from dred.task import GeneratorInput
from dred.tasks.gridworld.generators import GENERATORS, load
from dred.tasks.gridworld.generators.compare import other_sources
from dred.tasks.gridworld.generators.fitted import FittedModel
from dred.tasks.gridworld.generators.folder import facts_in
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, size_words

BATCH = 36  # levels that are made at once in training, by which generators are timed
BUILT_IN = {"random rooms": "random", "edits": "edits", "fresh levels": "resample"}
Role = Literal["model", "baseline", "reference"]
Make = Callable[[PRNGKeyArray], Any]


@dataclass(frozen=True)
class Source:
    """Where levels come from."""

    name: str
    role: Role
    levels: Level
    model: FittedModel | None = None
    group: str = ""  # what it shares with fits of other seeds
    seed: int | None = None
    fitted_elsewhere: bool = False  # to other levels than the dataset
    make: Make | None = None  # levels in one batch, compiled; None if it cannot be timed


def references(
    dataset: LevelDataset, held_out: LevelDataset | None, count: int, *, key: PRNGKeyArray
) -> list[Source]:
    """Return the sources that need no fitting, and the sets themselves."""
    found = [Source("the dataset", "reference", dataset.levels)]
    if held_out is not None:
        found.append(Source("held-out levels", "reference", held_out.levels))
    for name, levels in other_sources(dataset, count, key=key).items():
        role: Role = "reference" if name == "fresh levels" else "baseline"
        found.append(Source(name, role, levels, make=maker(BUILT_IN[name], None, dataset)))
    return found


def open_folders(folders: Sequence[Path], dataset: LevelDataset) -> list[FittedModel]:
    """Return the models in some folders; stops at what cannot be compared."""
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("A generator is named twice. Name each folder once.")
    models: list[FittedModel] = []
    for folder in folders:
        model = load(folder)
        if model.dataset.shape != dataset.shape:
            raise DatasetError(
                f"{folder} was fitted to levels of {size_words(model.dataset.shape)}, and --levels "
                f"has {size_words(dataset.shape)}. Compare generators of one size, with levels of "
                "that size."
            )
        models.append(model)
    return models


def source_of(
    model: FittedModel, dataset: LevelDataset, count: int, *, key: PRNGKeyArray
) -> Source:
    """Return a fitted model as a source, with the levels that it makes."""
    assert model.path is not None
    facts = facts_in(model.path)
    task = facts.get("task")
    return Source(
        name=str(model.path),
        role="model",
        levels=Level(*(np.asarray(part) for part in model.sample(count, key=key))),
        model=model,
        group=json.dumps([model.kind, facts.get("config"), facts.get("digest")], sort_keys=True),
        seed=task.get("seed") if isinstance(task, dict) else None,
        fitted_elsewhere=model.dataset.digest != dataset.digest,
        make=maker(model.kind, model.path, model.dataset),
    )


def maker(kind: str, folder: Path | None, dataset: LevelDataset) -> Make:
    """Return a generator as training uses it: compiled, a batch at a time."""
    generator = GENERATORS[kind]
    model = None
    if generator.load is not None and folder is not None:
        model = generator.load(folder, dataset)
    elif generator.prepare is not None:
        model = generator.prepare(dataset)
    levels = jax.tree.map(jnp.asarray, dataset.levels)
    parents = jax.tree.map(lambda part: part[jnp.arange(BATCH) % len(dataset)], levels)
    given = GeneratorInput(levels, parents, model)
    propose = eqx.filter_jit(generator.propose)
    return lambda key: propose(given, generator.settings, key)
