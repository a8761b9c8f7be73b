"""Levels from other sources, to set beside those of a generator."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.config import MethodConfig
from dred.errors import ConfigError
from dred.tasks.gridworld.generators.edits import edited
from dred.tasks.gridworld.generators.protocol import Given, Material
from dred.tasks.gridworld.generators.random import random_rooms
from dred.tasks.gridworld.generators.resample import Source
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level


def other_sources(dataset: LevelDataset, count: int, *, key: PRNGKeyArray) -> dict[str, Level]:
    """Random rooms, edited levels of the dataset and, if it is known, the process that made them.

    The last is the floor: no model of the dataset can be nearer to it than that but by memory.
    """
    levels = Level(*(jnp.asarray(part) for part in dataset.levels))
    chosen = jnp.arange(count) % len(dataset)
    material = Material(Given(levels), jax.tree.map(lambda part: part[chosen], levels))
    settings = MethodConfig("compare")
    made = {
        "random rooms": random_rooms(material, settings, key),
        "edits": edited(material, settings, key),
    }
    try:
        source = Source(dataset)
    except ConfigError:  # levels that were not made here
        pass
    else:
        made["fresh levels"] = source(np.asarray(jax.random.bits(key, (2,))), material.parents)
    return {name: Level(*(np.asarray(part) for part in levels)) for name, levels in made.items()}
