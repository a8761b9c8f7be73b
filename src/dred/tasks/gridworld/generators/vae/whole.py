"""Fitting a generator from beginning to end: what `dred fit` and `dred.fit` share."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import jax
from jaxtyping import PRNGKeyArray

from dred import progress
from dred.compute import keep_compiled_programs
from dred.config import check_seed
from dred.errors import lookup
from dred.settings import varied
from dred.task import FitRequest, LevelSet
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.fitting import Fitting
from dred.tasks.gridworld.generators.folder import FitFolder, check_same
from dred.tasks.gridworld.generators.vae.curves import fit_curves
from dred.tasks.gridworld.generators.vae.fit import begin, fit
from dred.tasks.gridworld.generators.vae.fitted import FittedVAE, load
from dred.tasks.gridworld.generators.vae.model import LevelVAE
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.presets import VAES

FORMAT = 2  # what an older version began is begun again


def fit_task(config: VAEConfig, *, seed: int, sweep: int = 0, folds: int = 0) -> dict[str, Any]:
    """Return all on which the weights depend, besides the levels fitted to."""
    return {
        "format": FORMAT,
        "config": asdict(config),
        "seed": check_seed(seed),
        "sweep": sweep,
        "folds": folds,
    }


def keys_of(seed: int) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Return the keys to fit with, and to judge with."""
    key_fit, key_judge = jax.random.split(jax.random.key(seed))
    return key_fit, key_judge


def fit_on(
    folder: FitFolder, dataset: LevelDataset, config: VAEConfig, key: PRNGKeyArray
) -> Fitting[LevelVAE]:
    """Fit from where it was left, with a bar."""
    fitting = folder.restore(begin(dataset.levels, config, key=key))
    done = int(fitting.epochs)
    first = progress.COMPILING
    with progress.bar("fitting", config.epochs, unit="epochs", done=done, first=first) as advance:

        def tell(row: dict[str, float], fitting: Fitting[LevelVAE]) -> None:
            folder.note(row, fitting)
            advance(1, note=f"loss {row['loss/held_back']:.4f} held back")

        fitting, _ = fit(dataset.levels, config, key=key, fitting=fitting, tell=tell)
    return fitting


def finish(
    folder: FitFolder,
    fitting: Fitting[LevelVAE],
    config: VAEConfig,
    dataset: LevelDataset,
    *,
    command: Sequence[str],
) -> FittedVAE:
    """Draw the curves, write the weights, and return the generator."""
    fit_curves(folder.history, folder.path / "curves.png")
    folder.finish(fitting, config, dataset, command=command)
    return load(folder.final)


def fit_generator(levels: LevelSet, out: Path, request: FitRequest) -> FittedVAE:
    """Fit a generator to levels; one that was fitted in the same way is not fitted again."""
    dataset = cast(LevelDataset, levels)
    config = lookup(VAES, request.preset, what="preset of the generator")
    config = varied(config, request.changes, where="set")
    task = fit_task(config, seed=request.seed)
    if out.exists():
        check_same({**task, "digest": dataset.digest}, out)
        return load(out)
    keep_compiled_programs()
    key, _ = keys_of(request.seed)
    begin(dataset.levels, config, key=key)  # says now what cannot be fitted
    folder = FitFolder(out, task, dataset)
    return finish(
        folder, fit_on(folder, dataset, config, key), config, dataset, command=["dred.fit"]
    )
