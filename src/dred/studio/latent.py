"""Fitted generators of the gridworld: a map of their latent space, and levels made from it."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dred.config import check_seed
from dred.errors import ConfigError
from dred.generators import FittedModel, load
from dred.levels import Level, to_text
from dred.studio.answers import Asked
from dred.studio.drawing import level_of
from dred.studio.shelf import Kept, Shelf, stamp
from dred.task import GeneratorInput
from dred.tasks.gridworld.generators.vae.fitted import MODES, FittedVAE
from dred.tasks.gridworld.levels.level import as_batch
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.task import GRIDWORLD

MOST_MADE = 64
LEVELS, FACTS = "levels.npz", "generator.json"  # of a generator's folder


class Latents:
    """Answers what the page asks about generators."""

    def __init__(self, shelf: Shelf) -> None:
        self.places = shelf.places
        self._fitted: Kept[FittedModel] = Kept(2)
        self._maps: Kept[tuple[Float[np.ndarray, "level 2"], float]] = Kept(2)

    def fitted(self, name: str) -> FittedModel:
        """Return a generator by its name."""
        path = self.places.find(name)
        if not (path / LEVELS).exists() or not (path / FACTS).exists():
            raise ConfigError(
                f"{name!r} is no generator of the gridworld's levels. Others are not shown here."
            )
        return self._fitted.get(stamp(path / FACTS), lambda: load(path))

    def with_latents(self, name: str) -> FittedVAE:
        """Return a generator that has a latent space."""
        fitted = self.fitted(name)
        if not isinstance(fitted, FittedVAE):
            raise ConfigError(f"{name!r} has no latent space: levels can only be sampled from it.")
        return fitted

    def latent(self, asked: Asked) -> object:
        """Return where the levels of the dataset lie, projected to two directions.

        Generators without a latent space have no places, and can be sampled from.
        """
        name = asked.text("generator")
        fitted = self.fitted(name)
        places, share = np.zeros((0, 2)), 0.0
        if isinstance(fitted, FittedVAE):
            places, share = self._maps.get(id(fitted), lambda: projected(fitted))
        return {
            "set": f"{name}/{LEVELS}",
            "modes": modes_of(fitted),
            "points": np.round(places, 4),
            "share": share,
            "structure": fitted.dataset.structure,
            "digest": fitted.dataset.digest[:16],
        }

    def between(self, asked: Asked) -> object:
        """Return the level that lies a share of the way from one level to another.

        The same seed is the same noise, so the level changes only where the way does.
        """
        fitted = self.with_latents(asked.text("generator"))
        most = len(fitted.dataset) - 1
        first, second = (asked.whole(end, most=most) for end in ("first", "second"))
        made = fitted.interpolate(
            jnp.array([first]),
            jnp.array([second]),
            jnp.array([min(1.0, max(0.0, asked.number("share")))]),
            key=jax.random.key(asked.whole("seed", 0)),
            temperature=0.5,
        )
        return made_levels(made)

    def sample(self, asked: Asked) -> object:
        """Return new levels: between random pairs, near random levels, or from the prior."""
        fitted = self.fitted(asked.text("generator"))
        modes = modes_of(fitted)
        mode = asked.text("mode", modes[0])
        if mode not in modes:
            raise ConfigError(f"The mode must be one of {', '.join(modes)}, not {mode!r}.")
        key = jax.random.key(check_seed(asked.whole("seed", 0)))
        count = asked.whole("count", 12, most=MOST_MADE)
        return made_levels(fitted.sample(max(1, count), mode=mode, key=key))

    def mutate(self, asked: Asked) -> object:
        """Return changes to a level: a few edits, or what a generator makes of it."""
        level = level_of(asked.text("text"))
        key = jax.random.key(check_seed(asked.whole("seed", 0)))
        count = max(1, asked.whole("count", 12, most=MOST_MADE))
        parents = Level(*(np.repeat(part, count, axis=0) for part in as_batch(level)))
        if asked.has("generator"):
            made = self.with_latents(asked.text("generator")).reconstruct(parents, key=key)
        else:
            made = _edited(jax.tree.map(jnp.asarray, parents), key)
        return made_levels(made)


def modes_of(fitted: FittedModel) -> Sequence[str]:
    """Return in which ways a generator can be sampled from."""
    return getattr(fitted, "modes", MODES)


@jax.jit
def _edited(parents: Any, key: Any) -> Any:  # noqa: ANN401  (levels)
    edits = GRIDWORLD.generators["edits"]
    return edits.propose(GeneratorInput(parents, parents), edits.settings, key)


def made_levels(made: Any) -> dict[str, object]:  # noqa: ANN401  (levels, of JAX or NumPy)
    """Return levels as drawings, and which of them can be solved."""
    levels = Level(*(np.asarray(part) for part in made))
    each = [Level(*(part[i] for part in levels)) for i in range(len(levels.tiles))]
    return {"levels": [to_text(one) for one in each], "solvable": solvable(levels)}


def projected(fitted: FittedVAE) -> tuple[Float[np.ndarray, "level 2"], float]:
    """Return two principal components of latents, and the share of variance that they have."""
    points = np.asarray(fitted.space.latents.mean)
    centred = points - points.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    both = np.zeros((len(points), 2))
    both[:, : min(2, len(size))] = (left * size)[:, :2]
    return both, float((size[:2] ** 2).sum() / max((size**2).sum(), 1e-12))
