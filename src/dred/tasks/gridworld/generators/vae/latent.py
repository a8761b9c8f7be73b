"""A fitted model with the places of its levels in latent space: all that making levels takes.

It is a pytree, so it can be handed to compiled code such as a training loop.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.config import need_one
from dred.task import GeneratorInput
from dred.tasks.gridworld.generators.vae.model import Latent, LevelVAE
from dred.tasks.gridworld.generators.vae.sample import between, draw_levels
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.sizes import padded


class LatentSpace(eqx.Module):
    """The decoder's view of a dataset. Row i of `latents` belongs to level i."""

    model: LevelVAE
    latents: Latent
    shape: tuple[int, int] = eqx.field(static=True)
    threshold: float = eqx.field(static=True)
    connected: bool = eqx.field(static=True)

    def decode(
        self, points: Float[Array, "batch latent"], *, key: PRNGKeyArray, temperature: float = 1.0
    ) -> Level:
        """A level drawn at each point."""
        return draw_levels(
            self.model.decode(points),
            self.shape,
            threshold=self.threshold,
            connected=self.connected,
            temperature=temperature,
            key=key,
        )

    def near(self, latent: Latent, *, key: PRNGKeyArray, temperature: float = 1.0) -> Level:
        """A level for each Gaussian: z = μ + σ ε, then drawn."""
        key_point, key_draw = jax.random.split(key)
        noise = jax.random.normal(key_point, latent.mean.shape)
        points = latent.mean + latent.deviation * noise
        return self.decode(points, key=key_draw, temperature=temperature)

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
        one, other = (
            Latent(self.latents.mean[chosen], self.latents.deviation[chosen])
            for chosen in (first, second)
        )
        return self.near(between(one, other, share), key=key, temperature=temperature)


@dataclass(frozen=True)
class InterpolationConfig:
    """Between which levels of the dataset new ones are made."""

    num_pairs: int = 6
    """Pairs of levels of the dataset, between which new ones are evenly spaced."""
    with_ends: bool = True
    """The first and last of a pair's levels are at the two levels themselves."""

    def __post_init__(self) -> None:
        need_one(self, "num_pairs")


def interpolated(given: GeneratorInput, settings: InterpolationConfig, key: PRNGKeyArray) -> Level:
    """Return levels evenly spaced between a few random pairs of the dataset, all different.

    They have the one size that the model was fitted to.
    """
    space: LatentSpace = given.model
    count = given.parents.tiles.shape[0]
    first, second, share = pairs_and_shares(
        space.latents.mean.shape[0],
        count,
        settings.num_pairs,
        with_ends=settings.with_ends,
        key=key,
    )
    made = space.interpolate(first, second, share, key=jax.random.fold_in(key, 1))
    return padded(made, given.parents.tiles.shape[1:])


def pairs_and_shares(
    num_levels: int, count: int, num_pairs: int, *, with_ends: bool, key: PRNGKeyArray
) -> tuple[Int[Array, " batch"], Int[Array, " batch"], Float[Array, " batch"]]:
    """Who is between whom, and how far from the first, for `count` levels."""
    num_pairs = max(1, min(num_pairs, num_levels // 2, count))
    steps = -(-count // num_pairs)
    chosen = jax.random.permutation(key, num_levels)[: 2 * num_pairs]
    if with_ends and steps > 1:
        share = jnp.linspace(0.0, 1.0, steps)
    else:
        share = (1 + jnp.arange(steps)) / (1 + steps)
    pair, step = jnp.arange(count) // steps, jnp.arange(count) % steps
    return chosen[pair], chosen[2 * num_pairs - 1 - pair], share[step]
