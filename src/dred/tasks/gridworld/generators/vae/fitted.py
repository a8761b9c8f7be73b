"""A fitted model with the levels it was fitted to: making levels, and loading.

`dred.tasks.gridworld.generators.vae.folder` says what is in the folder from which it is loaded.
"""

import hashlib
import json
from pathlib import Path
from typing import Literal, cast, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred import checkpoint
from dred.errors import CheckpointError, ConfigError, DatasetError
from dred.former import modern
from dred.settings import read_settings
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.vae.graph import level_graph
from dred.tasks.gridworld.generators.vae.latent import LatentSpace
from dred.tasks.gridworld.generators.vae.model import Latent, LevelVAE
from dred.tasks.gridworld.generators.vae.sample import parts_of
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.dataset import load as load_levels
from dred.tasks.gridworld.levels.level import EMPTY, MOSS, Level

Mode = Literal["interpolate", "reconstruct", "prior"]
MODES: tuple[Mode, ...] = get_args(Mode)
BATCH = 256  # levels that are encoded or drawn at once


class FittedVAE:
    """Proposes levels like those it was fitted to."""

    def __init__(
        self,
        model: LevelVAE,
        config: VAEConfig,
        dataset: LevelDataset,
        path: Path | None = None,  # the folder from which it was loaded
    ) -> None:
        self.model, self.config, self.dataset, self.path = model, config, dataset, path
        self.space = LatentSpace(
            model=model,
            latents=self.encode(dataset.levels),
            shape=dataset.shape,
            threshold=config.threshold,
            connected=config.connected and all_connected(dataset.levels),
        )

    def encode(self, levels: Level) -> Latent:
        """Where levels lie in latent space: means and deviations."""
        if levels.tiles.shape[1:] != self.dataset.shape:
            raise DatasetError(
                f"This generator was fitted to levels of {self.dataset.shape} cells; these have "
                f"{tuple(levels.tiles.shape[1:])}."
            )
        pieces = [
            _encode(
                self.model, Level(*(jnp.asarray(p[i : i + BATCH]) for p in levels)), self.config
            )
            for i in range(0, len(levels.tiles), BATCH)
        ]
        return cast(Latent, jax.tree.map(lambda *parts: jnp.concatenate(parts), *pieces))

    def decode(
        self, points: Float[Array, "batch latent"], *, key: PRNGKeyArray, temperature: float = 1.0
    ) -> Level:
        """A level drawn at each point of latent space."""
        return _decode(self.space, points, temperature, key)

    def reconstruct(self, levels: Level, *, key: PRNGKeyArray, temperature: float = 1.0) -> Level:
        """Each level again, as the model remembers it."""
        return _near(self.space, self.encode(levels), temperature, key)

    def interpolate(
        self,
        first: Int[Array, " batch"],
        second: Int[Array, " batch"],
        share: Float[Array, " batch"],
        *,
        key: PRNGKeyArray,
        temperature: float = 1.0,
    ) -> Level:
        """Levels on the way between pairs of the dataset, given by number."""
        return _interpolate(self.space, first, second, share, temperature, key)

    def sample(
        self, count: int, *, mode: Mode = "interpolate", key: PRNGKeyArray, temperature: float = 1.0
    ) -> Level:
        """So many levels: between random pairs, near random levels, or from the prior."""
        pieces = [
            self._some(min(BATCH, count - i), mode, jax.random.fold_in(key, i), temperature)
            for i in range(0, count, BATCH)
        ]
        return Level(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))

    def _some(self, count: int, mode: Mode, key: PRNGKeyArray, temperature: float) -> Level:
        key_first, key_second, key_share, key_make = jax.random.split(key, 4)
        total = len(self.dataset)
        first = jax.random.randint(key_first, (count,), 0, total)
        if mode == "prior":
            shape = (count, self.config.latent_size)
            latent = Latent(jnp.zeros(shape), jnp.ones(shape))
            made = _near(self.space, latent, temperature, key_make)
        elif mode == "reconstruct":
            latents = self.space.latents
            latent = Latent(latents.mean[first], latents.deviation[first])
            made = _near(self.space, latent, temperature, key_make)
        else:
            step = jax.random.randint(key_second, (count,), 1, max(2, total))
            share = jax.random.uniform(key_share, (count,))
            made = self.interpolate(
                first, (first + step) % total, share, key=key_make, temperature=temperature
            )
        return Level(*(np.asarray(part) for part in made))


def all_connected(levels: Level) -> bool:
    """Whether in every level all cells on which the agent can walk are one part."""
    can_walk = (levels.tiles == EMPTY) | (levels.tiles == MOSS)
    for i in range(0, len(can_walk), BATCH):
        part = np.asarray(parts_of(jnp.asarray(can_walk[i : i + BATCH])))
        highest = part.max(axis=(1, 2), keepdims=True)
        if ((part > 0) & (part != highest)).any():
            return False
    return True


@eqx.filter_jit
def _encode(model: LevelVAE, levels: Level, config: VAEConfig) -> Latent:
    return model.encode(jax.vmap(lambda level: level_graph(level, config.edges))(levels))


@eqx.filter_jit
def _decode(
    space: LatentSpace,
    points: Float[Array, "batch latent"],
    temperature: float,
    key: PRNGKeyArray,
) -> Level:
    return space.decode(points, key=key, temperature=temperature)


@eqx.filter_jit
def _near(space: LatentSpace, latent: Latent, temperature: float, key: PRNGKeyArray) -> Level:
    return space.near(latent, key=key, temperature=temperature)


@eqx.filter_jit
def _interpolate(
    space: LatentSpace,
    first: Int[Array, " batch"],
    second: Int[Array, " batch"],
    share: Float[Array, " batch"],
    temperature: float,
    key: PRNGKeyArray,
) -> Level:
    return space.interpolate(first, second, share, key=key, temperature=temperature)


def weights_digest(folder: Path) -> str:
    """What the weights of a generator are known by."""
    return hashlib.sha256((folder / "last.npz").read_bytes()).hexdigest()


def load(folder: str | Path, *, weights: Literal["best", "last"] = "last") -> FittedVAE:
    """A fitted generator from its folder.

    The last weights make better levels than those that are best by the loss on levels held back,
    which stops falling long before the drawings are sharp.
    """
    folder = Path(folder)
    try:
        facts = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{folder} is not a generator: it has no generator.json. Make one with "
            f"`dred fit --levels F.npz --out {folder}`."
        ) from None
    except ValueError as error:
        raise CheckpointError(f"{folder}/generator.json is damaged: {error}.") from None
    config = read_settings(VAEConfig, modern(facts["config"]), where=f"{folder}/generator.json")
    dataset = load_levels(folder / "levels.npz")
    if dataset.digest != facts["digest"]:
        raise DatasetError(f"{folder}/levels.npz is not what the model was fitted to.")
    blank = LevelVAE(config, dataset.shape[0] * dataset.shape[1], key=jax.random.key(0))
    return FittedVAE(checkpoint.load(folder / f"{weights}.npz", blank), config, dataset, folder)
