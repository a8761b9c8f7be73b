"""A model that was fitted to levels: its folder, and the generator that uses it."""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred import checkpoint
from dred.config import check_seed
from dred.errors import CheckpointError, ConfigError, DatasetError, lookup
from dred.files import OutputError, cannot_write, write_text
from dred.level_table import LevelTable
from dred.settings import read_settings, varied
from dred.task import FitRequest, Generator, GeneratorInput, LevelSet
from dred.tasks.vectors.box import Box
from dred.tasks.vectors.generators import Vectors, count_of, in_box, in_unit
from dred.tasks.vectors.vae import (
    VECTOR_VAES,
    BetweenConfig,
    Latents,
    VectorVAE,
    VectorVAEConfig,
    drawn_between,
    fitted_to,
    new_vae,
)

WEIGHTS = "weights.npz"


@dataclass(frozen=True)
class FittedVectors:
    """A fitted model as people use it."""

    path: Path
    box: Box
    dataset: LevelTable
    latents: Latents

    def sample(self, count: int, *, key: PRNGKeyArray) -> LevelTable:
        """Return so many new levels, between those that it was fitted to."""
        unit = drawn_between(self.latents, count, BetweenConfig(), key)
        levels = {name: np.asarray(one) for name, one in in_box(self.box, unit).items()}
        meta: dict[str, object] = {"generator": str(self.path), "fitted_to": self.dataset.digest}
        return LevelTable(levels, ["vae"] * count, meta)


def vector_vae(box: Box, load_levels: Callable[[Path], LevelTable]) -> Generator:
    """Return the generator of levels in a box."""

    def propose(given: GeneratorInput, settings: BetweenConfig, key: PRNGKeyArray) -> Vectors:
        return in_box(box, drawn_between(given.model, count_of(given), settings, key))

    def fit(levels: LevelSet, out: Path, request: FitRequest) -> FittedVectors:
        config = lookup(VECTOR_VAES, request.preset, what="preset of the generator")
        config = varied(config, request.changes, where="set")
        task = {"config": dataclasses.asdict(config), "seed": check_seed(request.seed)}
        if out.exists():
            raise ConfigError(f"{out} exists already. Choose another place to write to.")
        unit = in_unit(box, jax.tree.map(jnp.asarray, levels.levels))
        model, losses = fitted_to(unit, config, jax.random.key(request.seed))
        facts = {"kind": "vector-vae", "digest": levels.digest, "loss": float(losses[-100:].mean())}
        write_folder(out, {**facts, **task}, levels, model)
        return load(out)

    def load(folder: Path) -> FittedVectors:
        facts, dataset = facts_of(folder), load_levels(folder / "levels.npz")
        config = read_settings(VectorVAEConfig, facts["config"], where=f"{folder}/generator.json")
        unit = in_unit(box, jax.tree.map(jnp.asarray, dataset.levels))
        blank = jax.eval_shape(lambda: new_vae(unit, config, jax.random.key(0)))
        model = checkpoint.load(folder / WEIGHTS, blank)
        return FittedVectors(folder, box, dataset, Latents(model, *jax.vmap(model.encode)(unit)))

    def load_for(folder: Path, levels: LevelSet) -> Latents:
        found = load(folder)
        if found.dataset.digest != levels.digest:
            raise DatasetError(
                f"{folder} was fitted to other levels (digest {found.dataset.digest[:12]}) than "
                f"those to train on ({levels.digest[:12]}). Fit a generator to these."
            )
        return found.latents

    return Generator(
        propose,
        settings=BetweenConfig(),
        load=load_for,
        digest=lambda folder: hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest(),
        fit=fit,
        fit_presets=tuple(VECTOR_VAES),
    )


def write_folder(out: Path, facts: dict[str, Any], levels: LevelSet, model: VectorVAE) -> None:
    """Write a fitted model, whole or not at all."""
    partial = out.with_name(f"{out.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        levels.save(partial / "levels.npz")
        checkpoint.write(partial / WEIGHTS, model)
        write_text(partial / "generator.json", json.dumps(facts, indent=2))
        partial.rename(out)
    except OSError as error:
        raise OutputError(cannot_write(out, error)) from error


def facts_of(folder: Path) -> dict[str, Any]:
    """Return what the folder of a fitted model says about itself."""
    try:
        facts = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{folder} is not a fitted generator: it has no generator.json. Fit one with `dred fit "
            "--task TASK --levels F --out G`."
        ) from None
    except ValueError as error:
        raise CheckpointError(f"{folder}/generator.json is damaged: {error}.") from None
    if facts.get("kind") != "vector-vae":
        raise CheckpointError(
            f"{folder} is a generator of another kind ({facts.get('kind')!r}) than levels that are "
            "vectors need. Fit one with `dred fit --task TASK`."
        )
    return facts
