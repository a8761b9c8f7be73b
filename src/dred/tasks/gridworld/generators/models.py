"""The models that some generators need, made ready for a run."""

from pathlib import Path
from typing import Any

from dred.config import MethodConfig
from dred.errors import ConfigError, DatasetError
from dred.tasks.gridworld.generators.resample import Source, TrueProcess
from dred.tasks.gridworld.generators.vae.fitted import load, weights_digest
from dred.tasks.gridworld.levels.dataset import LevelDataset


def needs_fitted(method: MethodConfig) -> bool:
    """Whether a method makes levels with a fitted model."""
    return "vae" in (method.new, method.after)


def model_for(method: MethodConfig, dataset: LevelDataset, generator: Path | None) -> Any:  # noqa: ANN401
    """What the method's generators need besides levels; checked against the dataset."""
    if needs_fitted(method) and generator is None:
        raise ConfigError(
            f"{method.name} makes levels with a fitted generator. Fit one with `dred fit --levels "
            "F.npz --out vae`, with the levels to train on, and add --generator vae."
        )
    if generator is not None and not needs_fitted(method):
        raise ConfigError(f"{method.name} does not use a fitted generator. Leave out --generator.")
    if generator is not None:
        return fitted_for(dataset, generator)
    if "resample" in (method.new, method.after):
        return TrueProcess(Source(dataset))
    return None


def fitted_for(dataset: LevelDataset, generator: Path) -> Any:  # noqa: ANN401
    """A fitted model; it must have been fitted to this very dataset."""
    fitted = load(generator)
    if fitted.dataset.shape != dataset.shape:
        theirs, ours = ("×".join(map(str, one.shape)) for one in (fitted.dataset, dataset))
        raise DatasetError(
            f"{generator} was fitted to levels of {theirs} cells inside, and these have {ours}. "
            "Fit a generator to the levels to train on."
        )
    if fitted.dataset.digest != dataset.digest:
        raise DatasetError(
            f"{generator} was fitted to other levels (digest {fitted.dataset.digest[:12]}) than "
            f"those to train on ({dataset.digest[:12]}). Fit a generator to these."
        )
    return fitted.space


def facts_of(generator: Path) -> dict[str, str]:
    """What a run notes of a generator, to find the same one again."""
    return {"path": str(generator.resolve()), "digest": weights_digest(generator)}
