"""Fresh levels from the process that made the dataset: what a perfect model of it would give.

No method may use it that claims to know the dataset alone; it shows how far a model could get.
"""

from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from dred.task import Generator, GeneratorInput, LevelSet, NoSettings
from dred.tasks.gridworld.levels.build import make_fresh
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level
from dred.tasks.gridworld.levels.plan import plan_of


class Source:
    """The process that made a dataset, outside of compiled code."""

    def __init__(self, dataset: LevelDataset) -> None:
        self.plan = plan_of(dataset)

    def __call__(self, bits: UInt32[np.ndarray, " 2"], like: Level) -> Level:
        """As many levels as `like` has."""
        high, low = (int(part) for part in np.asarray(bits))
        count = like.tiles.shape[0]
        made = make_fresh(self.plan, (high << 31) ^ low, count)
        heading = np.full(count, ANY_HEADING, np.int8)
        return Level(made.tiles, made.goal, made.start, heading)


class TrueProcess(eqx.Module):
    """The same, as something that can be handed to compiled code."""

    source: Source = eqx.field(static=True)


def resampled(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Level:
    """Return a fresh level in place of every parent."""
    del settings
    process: TrueProcess = given.model
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given.parents)
    return jax.pure_callback(
        lambda bits: process.source(np.asarray(bits), shapes),
        shapes,
        jax.random.bits(key, (2,), jnp.uint32),
        vmap_method="sequential",
    )


def process_of(dataset: LevelSet) -> TrueProcess:
    """Return the process that made a dataset."""
    return TrueProcess(Source(cast(LevelDataset, dataset)))


RESAMPLE = Generator(resampled, prepare=process_of)
