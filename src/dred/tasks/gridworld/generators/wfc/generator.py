"""Wave function collapse, fitted to a dataset's own windows, as a generator of new levels."""

from pathlib import Path
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from dred.task import Generator, GeneratorInput, LevelSet, NoSettings
from dred.tasks.gridworld.generators.folder import check_fitted_to, weights_digest
from dred.tasks.gridworld.generators.wfc.fitted import (
    PRESETS,
    FittedWFC,
    fit_generator,
    load,
    seed_of,
)
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.sizes import padded


class OnHost(eqx.Module):
    """A fitted model, as something that can be handed to compiled code."""

    fitted: FittedWFC = eqx.field(static=True)


def collapsed(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Level:
    """Return a new level in place of every parent, of the one size that the model was fitted to."""
    del settings
    model: OnHost = given.model
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given.parents)
    count, *room = given.parents.tiles.shape

    def draw(bits: UInt32[jax.Array, " 2"] | UInt32[np.ndarray, " 2"]) -> Level:
        fitted = model.fitted
        made = fitted.collapse(seed_of(np.asarray(bits)), count, fitted.dataset.shape)
        return padded(made, (room[0], room[1]))

    return jax.pure_callback(
        draw, shapes, jax.random.bits(key, (2,), jnp.uint32), vmap_method="sequential"
    )


def model_of(generator: Path, levels: LevelSet) -> OnHost:
    """Return a fitted model; it must have been fitted to this very dataset."""
    fitted, dataset = load(generator), cast(LevelDataset, levels)
    check_fitted_to(generator, fitted.dataset, dataset)
    fitted.collapse.try_out(dataset.shape)  # says now what would stop training
    return OnHost(fitted)


def digest(folder: Path) -> str:
    """Return what the windows of a generator are known by."""
    return weights_digest(folder, "windows")


WFC = Generator(
    collapsed,
    load=model_of,
    digest=digest,
    open=load,
    fit=fit_generator,
    fit_presets=tuple(PRESETS),
)
