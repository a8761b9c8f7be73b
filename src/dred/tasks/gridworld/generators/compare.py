"""Levels from other sources, to set beside those of a generator."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.errors import ConfigError
from dred.task import GeneratorInput
from dred.tasks.gridworld.generators.edits import EditsConfig, edited
from dred.tasks.gridworld.generators.random import RandomConfig, random_rooms
from dred.tasks.gridworld.generators.resample import Source
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level


def other_sources(dataset: LevelDataset, count: int, *, key: PRNGKeyArray) -> dict[str, Level]:
    """Random rooms, edited levels of the dataset and, if it is known, the process that made them.

    The last is the floor: no model of the dataset can be nearer to it than that but by memory.
    """
    levels = Level(*(jnp.asarray(part) for part in dataset.levels))
    chosen = jnp.arange(count) % len(dataset)
    given = GeneratorInput(levels, jax.tree.map(lambda part: part[chosen], levels))
    made = {
        "random rooms": random_rooms(given, RandomConfig(), key),
        "edits": edited(given, EditsConfig(), key),
    }
    try:
        source = Source(dataset)
    except ConfigError:  # levels that were not made here
        pass
    else:
        made["fresh levels"] = source(np.asarray(jax.random.bits(key, (2,))), given.parents)
    return {name: Level(*(np.asarray(part) for part in levels)) for name, levels in made.items()}
