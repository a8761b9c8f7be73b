"""A variational autoencoder over vectors of parameters: fitted in seconds, used to interpolate.

Vectors are standardised by the dataset's mean and spread. The encoder gives the mean and the spread
of four latent numbers, the decoder the mean of the device; a spread for each parameter is learned.
New levels lie between the places of two levels of the dataset in the latent space, as levels of
the gridworld do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from dred.agents.encoders import Linear
from dred.agents.initialise import orthogonal
from dred.agents.optimise import moved
from dred.config import need_one


@dataclass(frozen=True)
class VectorVAEConfig:
    """How the model is made and fitted."""

    latent_size: int = 4
    """Numbers of the latent space."""
    hidden_size: int = 64
    """Numbers in the two hidden layers of encoder and decoder."""
    divergence_weight: float = 0.5
    """β: weight of the divergence from the prior."""
    steps: int = 3000
    """Steps of Adam, each with all levels."""
    learning_rate: float = 2e-3
    """Of Adam; it falls to 0."""

    def __post_init__(self) -> None:
        need_one(self, "latent_size", "hidden_size", "steps")


VECTOR_VAES = {"default": VectorVAEConfig()}


@dataclass(frozen=True)
class BetweenConfig:
    """How levels are drawn between those of the dataset."""

    noise: float = 1.0
    """Spread of the encoder's and decoder's noise that is used; 0 for none."""


class Layers(eqx.Module):
    """Linear layers with a SiLU between them."""

    layers: tuple[Linear, ...]

    def __call__(self, inputs: Float[Array, " input"]) -> Float[Array, " output"]:
        """Apply all of them."""
        for layer in self.layers[:-1]:
            inputs = jax.nn.silu(layer(inputs))
        return self.layers[-1](inputs)


def new_layers(sizes: Sequence[int], key: PRNGKeyArray) -> Layers:
    """Return layers between these numbers of units, with orthogonal weights and no bias."""
    keys = jax.random.split(key, len(sizes) - 1)
    return Layers(
        tuple(
            Linear(orthogonal(after, before, key=one).T, jnp.zeros(after))
            for before, after, one in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )
    )


class VectorVAE(eqx.Module):
    """Encoder and decoder of standardised vectors."""

    encoder: Layers
    decoder: Layers
    log_spread: Float[Array, " parameter"]
    mean: Float[Array, " parameter"]  # of the dataset, as shares of the box
    scale: Float[Array, " parameter"]

    def encode(self, unit: Float[Array, " parameter"]) -> tuple[Array, Array]:
        """Return mean and spread of the latent numbers of a level."""
        both = self.encoder((unit - self.mean) / self.scale)
        middle, log_spread = jnp.split(both, 2)
        return middle, jnp.exp(log_spread)

    def decode(self, latent: Float[Array, " latent"]) -> Float[Array, " parameter"]:
        """Return the mean of a level, as shares of the box."""
        return self.mean + self.scale * self.decoder(latent)

    @property
    def spread(self) -> Float[Array, " parameter"]:
        """Return the spread of the decoder, as shares of the box."""
        return self.scale * jnp.exp(self.log_spread)


def new_vae(
    unit: Float[Array, "level parameter"], config: VectorVAEConfig, key: PRNGKeyArray
) -> VectorVAE:
    """Return a model of such levels that has learned nothing."""
    width, hidden, keys = unit.shape[1], [config.hidden_size] * 2, jax.random.split(key)
    return VectorVAE(
        new_layers([width, *hidden, 2 * config.latent_size], keys[0]),
        new_layers([config.latent_size, *hidden, width], keys[1]),
        jnp.zeros(width),
        unit.mean(axis=0),
        unit.std(axis=0) + 1e-6,
    )


def loss(model: VectorVAE, unit: Array, beta: float, key: PRNGKeyArray) -> Float[Array, ""]:
    """Return the negative evidence lower bound of a level, in nats, up to a constant.

    −ln p(x | z) + β KL(q(z | x) ‖ N(0, 1))
    """
    middle, spread = model.encode(unit)
    latent = middle + spread * jax.random.normal(key, middle.shape)
    error = (unit - model.decode(latent)) / jax.lax.stop_gradient(model.scale)
    log_spread = jnp.maximum(model.log_spread, -4.0)
    fit = (0.5 * (error / jnp.exp(log_spread)) ** 2 + log_spread).sum()
    divergence = 0.5 * (middle**2 + spread**2 - 1.0 - 2.0 * jnp.log(spread)).sum()
    return fit + beta * divergence


@eqx.filter_jit
def fitted_to(
    unit: Float[Array, "level parameter"], config: VectorVAEConfig, key: PRNGKeyArray
) -> tuple[VectorVAE, Float[Array, " step"]]:
    """Return a model fitted to levels, and the loss over time."""
    key_new, key_fit = jax.random.split(key)
    model = new_vae(unit, config, key_new)
    weights, rest = eqx.partition(model, is_learned(model))
    optimiser = optax.adam(optax.cosine_decay_schedule(config.learning_rate, config.steps))

    def mean_loss(weights: Any, key: PRNGKeyArray) -> Array:  # noqa: ANN401  (a part of a model)
        whole = eqx.combine(weights, rest)
        keys = jax.random.split(key, unit.shape[0])
        return jax.vmap(lambda x, key: loss(whole, x, config.divergence_weight, key))(
            unit, keys
        ).mean()

    def step(now: tuple[Any, Any], key: PRNGKeyArray) -> tuple[tuple[Any, Any], Array]:
        weights, state = now
        value, gradient = jax.value_and_grad(mean_loss)(weights, key)
        return moved(optimiser, state, weights, gradient), value

    start = (weights, optimiser.init(weights))
    (weights, _), losses = jax.lax.scan(step, start, jax.random.split(key_fit, config.steps))
    return eqx.combine(weights, rest), losses


def is_learned(model: VectorVAE) -> VectorVAE:
    """Return which leaves are learned: all but the dataset's mean and scale."""
    marks = jax.tree.map(lambda leaf: True, model)
    return eqx.tree_at(lambda m: (m.mean, m.scale), marks, (False, False))


class Latents(eqx.Module):
    """A fitted model, and the places of the dataset's levels in its latent space."""

    model: VectorVAE
    middle: Float[Array, "level latent"]
    spread: Float[Array, "level latent"]


def drawn_between(
    latents: Latents, count: int, settings: BetweenConfig, key: PRNGKeyArray
) -> Float[Array, "new parameter"]:
    """Return levels at random places between two of the dataset, as shares of the box."""
    key_pair, key_share, key_place, key_noise = jax.random.split(key, 4)
    number = latents.middle.shape[0]
    pair = jax.random.randint(key_pair, (2, count), 0, number)
    noise = settings.noise * jax.random.normal(key_place, (2, count, latents.middle.shape[1]))
    ends = latents.middle[pair] + latents.spread[pair] * noise
    share = jax.random.uniform(key_share, (count, 1))
    made = jax.vmap(latents.model.decode)(share * ends[0] + (1.0 - share) * ends[1])
    jitter = jax.random.normal(key_noise, made.shape)
    return made + settings.noise * latents.model.spread[None] * jitter
