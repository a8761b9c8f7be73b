"""Actions that are numbers, each from a Gaussian of its own: sampling, log-probability, entropy."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

FIRST_LOG_STD = -0.5  # of an agent that has learned nothing


def gaussian_noise(shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Return noise with which `sample` draws; a whole rollout's can be drawn in one call."""
    return jax.random.normal(key, shape)


def sample(
    mean: Float[Array, "*batch action"],
    log_std: Float[Array, "*batch action"],
    noise: Float[Array, "*batch action"],
) -> Float[Array, "*batch action"]:
    """Return the numbers μ + σ ε; without noise, the most probable ones."""
    return mean + jnp.exp(log_std) * noise


def log_prob(
    mean: Float[Array, "*batch action"],
    log_std: Float[Array, "*batch action"],
    action: Float[Array, "*batch action"],
) -> Float[Array, "*batch"]:
    """Return the logarithm of the density: Σ −½ ((a − μ) / σ)² − ln σ − ½ ln 2π."""
    apart = (action - mean) * jnp.exp(-log_std)
    return jnp.sum(-0.5 * apart**2 - log_std - 0.5 * math.log(2.0 * math.pi), axis=-1)


def entropy(log_std: Float[Array, "*batch action"]) -> Float[Array, "*batch"]:
    """Return the differential entropy in nats, which may be negative: Σ ln σ + ½ ln 2πe."""
    return jnp.sum(log_std + 0.5 * math.log(2.0 * math.pi * math.e), axis=-1)
