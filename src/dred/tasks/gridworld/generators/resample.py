"""Fresh levels from the process that made the dataset: what a perfect model of it would give.

No method may use it that claims to know the dataset alone; it shows how far a model could get. It
can also make levels of other sizes than the dataset's, as a model of any size could.
"""

from dataclasses import dataclass, replace
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from dred.task import Generator, GeneratorInput, LevelSet
from dred.tasks.gridworld.config import check_size
from dred.tasks.gridworld.levels.build import make_fresh
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level
from dred.tasks.gridworld.levels.plan import Plan, plan_of
from dred.tasks.gridworld.levels.sizes import padded, with_room_for


@dataclass(frozen=True)
class ResampleConfig:
    """Of which sizes fresh levels are."""

    sizes: tuple[int, ...] = ()
    """Sides of levels, with the wall around, of which each takes one at random, as [15, 21]; those
    of the dataset if none is named."""

    def __post_init__(self) -> None:
        for size in self.sizes:
            check_size(size, where="sizes")


class Source:
    """The process that made a dataset, outside of compiled code."""

    def __init__(self, dataset: LevelDataset) -> None:
        self.plan = plan_of(dataset)

    def __call__(
        self, bits: UInt32[np.ndarray, " 2"], like: Level, sizes: tuple[int, ...] = ()
    ) -> Level:
        """As many levels as `like` has, with as much room."""
        high, low = (int(part) for part in np.asarray(bits))
        count, *shape = like.tiles.shape
        seed = (high << 31) ^ low
        sizes = sizes or (self.plan.config.size,)
        which = np.random.default_rng(seed).integers(len(sizes), size=count)
        parts: list[Level] = []
        for number, size in enumerate(sizes):
            some = int((which == number).sum())
            made = make_fresh(self._of_size(size), seed, some) if some else None
            if made is not None:
                heading = np.full(some, ANY_HEADING, np.int8)
                level = Level(made.tiles, made.goal, made.start, heading)
                parts.append(padded(level, (shape[0], shape[1])))
        back = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        return Level(*(np.concatenate(several)[back] for several in zip(*parts, strict=True)))

    def _of_size(self, size: int) -> Plan:
        """The same process for levels of another size."""
        return replace(self.plan, config=replace(self.plan.config, size=size))


class TrueProcess(eqx.Module):
    """The same, as something that can be handed to compiled code."""

    source: Source = eqx.field(static=True)


def resampled(given: GeneratorInput, settings: ResampleConfig, key: PRNGKeyArray) -> Level:
    """Return a fresh level in place of every parent."""
    process: TrueProcess = given.model
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given.parents)
    return jax.pure_callback(
        lambda bits: process.source(np.asarray(bits), shapes, settings.sizes),
        shapes,
        jax.random.bits(key, (2,), jnp.uint32),
        vmap_method="sequential",
    )


def process_of(dataset: LevelSet) -> TrueProcess:
    """Return the process that made a dataset."""
    return TrueProcess(Source(cast(LevelDataset, dataset)))


def with_room(levels: Level, settings: ResampleConfig, process: TrueProcess | None) -> Level:
    """Return the dataset with room for levels of all sizes that are made."""
    del process  # it makes what the settings say
    return with_room_for(levels, [(size - 2, size - 2) for size in settings.sizes])


RESAMPLE = Generator(resampled, settings=ResampleConfig(), widen=with_room, prepare=process_of)
