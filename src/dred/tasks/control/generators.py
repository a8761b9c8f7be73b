"""Where new devices come from: as any vectors do, and from the process that makes the dataset."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.errors import ConfigError
from dred.task import Generator, GeneratorInput, LevelSet, NoSettings
from dred.tasks.control.levels import REGIONS
from dred.tasks.control.system import System
from dred.tasks.vectors.generators import Vectors, count_of, vector_generators
from dred.tasks.vectors.table import clipped


def generators_of(system: System) -> dict[str, Generator]:
    """Return where new devices of a system come from, by name."""

    def resampled(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Vectors:
        del settings
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given.parents)
        bits = jax.random.bits(key, (2,), jnp.uint32)
        return jax.pure_callback(
            lambda bits: fresh(system, np.asarray(bits), count_of(given)),
            shapes,
            bits,
            vmap_method="sequential",
        )

    return {**vector_generators(system), "resample": Generator(resampled, prepare=check_made)}


def fresh(system: System, bits: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return fresh devices of the process that makes the training set."""
    random = np.random.default_rng(bits)
    region = REGIONS["train"][0]
    size, quality = (random.beta(region.concentration, region.concentration, count) for _ in "sq")
    return clipped(system, system.draw(size, quality, random))


def check_made(levels: LevelSet) -> Any:  # noqa: ANN401  (no model is needed)
    """Stop if a dataset was not made by the process that would be asked for more."""
    if levels.meta.get("set") != "train":
        raise ConfigError(
            "resample draws fresh devices of the process that made the set `train`, and these are "
            f"others ({levels.meta}). Use kernel or vae, which are fitted to any dataset."
        )
