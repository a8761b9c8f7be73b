"""The fitted VAE as a generator of new levels."""

from pathlib import Path
from typing import cast

from dred.errors import DatasetError
from dred.task import Generator, LevelSet
from dred.tasks.gridworld.generators.vae.fitted import load, weights_digest
from dred.tasks.gridworld.generators.vae.latent import (
    InterpolationConfig,
    LatentSpace,
    interpolated,
)
from dred.tasks.gridworld.generators.vae.whole import fit_generator
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import size_words
from dred.tasks.gridworld.presets import VAES


def fitted_to(generator: Path, levels: LevelSet) -> LatentSpace:
    """Return a fitted model; it must have been fitted to this very dataset."""
    dataset = cast(LevelDataset, levels)
    fitted = load(generator)
    if fitted.dataset.shape != dataset.shape:
        theirs, ours = (size_words(one.shape) for one in (fitted.dataset, dataset))
        raise DatasetError(
            f"{generator} was fitted to levels of {theirs}, and these have {ours}. Fit a generator "
            "to the levels to train on."
        )
    if fitted.dataset.digest != dataset.digest:
        raise DatasetError(
            f"{generator} was fitted to other levels (digest {fitted.dataset.digest[:12]}) than "
            f"those to train on ({dataset.digest[:12]}). Fit a generator to these."
        )
    return fitted.space


VAE = Generator(
    interpolated,
    settings=InterpolationConfig(),
    load=fitted_to,
    digest=weights_digest,
    fit=fit_generator,
    fit_presets=tuple(VAES),
)
