"""A fitted model with the levels it was fitted to: making levels, and loading.

`dred.tasks.gridworld.generators.vae.folder` says what is in the folder from which it is loaded.
"""

from pathlib import Path
from typing import Literal, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred import checkpoint
from dred.errors import DatasetError
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.fitted import check_own_size, mode_of
from dred.tasks.gridworld.generators.folder import facts_in, levels_in, rows_in, settings_in
from dred.tasks.gridworld.generators.parts import all_connected
from dred.tasks.gridworld.generators.vae.graph import level_graph
from dred.tasks.gridworld.generators.vae.latent import LatentSpace
from dred.tasks.gridworld.generators.vae.likelihood import importance_bound
from dred.tasks.gridworld.generators.vae.model import Latent, LevelVAE
from dred.tasks.gridworld.generators.vae.words import history_words
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level

MODES = ("interpolate", "reconstruct", "prior")
KIND = "vae"
BATCH = 256  # levels that are encoded or drawn at once


class FittedVAE:
    """Proposes levels like those it was fitted to."""

    kind, modes = KIND, MODES

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
        self,
        count: int,
        *,
        mode: str = MODES[0],
        key: PRNGKeyArray,
        temperature: float = 1.0,
        shape: tuple[int, int] | None = None,
    ) -> Level:
        """So many levels: between random pairs, near random levels, or from the prior."""
        mode_of(self, mode)
        check_own_size(self, shape)
        pieces = [
            self._some(min(BATCH, count - i), mode, jax.random.fold_in(key, i), temperature)
            for i in range(0, count, BATCH)
        ]
        return Level(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))

    def log_likelihood(
        self, levels: Level, *, key: PRNGKeyArray, samples: int = 64
    ) -> Float[np.ndarray, " level"]:
        """A lower bound on the log-likelihood of each level, in nats, by importance sampling."""
        levels = Level(*(jnp.asarray(part) for part in levels))
        return np.asarray(
            importance_bound(self.model, levels, self.config, samples=samples, key=key)
        )

    def words(self) -> str:
        """Return how its fit went, which the folder knows."""
        return "" if self.path is None else history_words(rows_in(self.path, "history"))

    def _some(self, count: int, mode: str, key: PRNGKeyArray, temperature: float) -> Level:
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


def load(folder: str | Path, *, weights: Literal["best", "last"] = "last") -> FittedVAE:
    """A fitted generator from its folder.

    The last weights make better levels than those that are best by the loss on levels held back,
    which stops falling long before the drawings are sharp.
    """
    folder = Path(folder)
    facts = facts_in(folder)
    config = settings_in(folder, facts, KIND, VAEConfig)
    dataset = levels_in(folder, facts)
    blank = LevelVAE(config, dataset.shape[0] * dataset.shape[1], key=jax.random.key(0))
    return FittedVAE(checkpoint.load(folder / f"{weights}.npz", blank), config, dataset, folder)
