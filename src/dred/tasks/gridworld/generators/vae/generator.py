"""The fitted VAE as a generator of new levels."""

from pathlib import Path
from typing import cast

from dred.task import Generator, LevelSet
from dred.tasks.gridworld.generators.folder import check_fitted_to, weights_digest
from dred.tasks.gridworld.generators.vae.fitted import load
from dred.tasks.gridworld.generators.vae.latent import (
    InterpolationConfig,
    LatentSpace,
    interpolated,
)
from dred.tasks.gridworld.generators.vae.whole import fit_generator
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.presets import VAES


def fitted_to(generator: Path, levels: LevelSet) -> LatentSpace:
    """Return a fitted model; it must have been fitted to this very dataset."""
    fitted = load(generator)
    check_fitted_to(generator, fitted.dataset, cast(LevelDataset, levels))
    return fitted.space


VAE = Generator(
    interpolated,
    settings=InterpolationConfig(),
    load=fitted_to,
    digest=weights_digest,
    open=load,
    fit=fit_generator,
    fit_presets=tuple(VAES),
)
