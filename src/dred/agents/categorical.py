"""A choice among actions: sampling, log-probability, entropy."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


def gumbel_noise(shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
    """Noise with which `sample` draws; a whole rollout's can be drawn in one call."""
    return jax.random.gumbel(key, shape)


def sample(
    logits: Float[Array, "*batch action"], noise: Float[Array, "*batch action"]
) -> Int[Array, "*batch"]:
    """An action by the probabilities: the largest logit after Gumbel noise (Gumbel 1954)."""
    return jnp.argmax(logits + noise, axis=-1).astype(jnp.int32)


def log_prob(
    logits: Float[Array, "*batch action"], action: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """Ln p(action)."""
    logs = jax.nn.log_softmax(logits)
    is_chosen = jax.nn.one_hot(action, logits.shape[-1], dtype=jnp.bool_)
    return jnp.sum(jnp.where(is_chosen, logs, 0.0), axis=-1)


def entropy(logits: Float[Array, "*batch action"]) -> Float[Array, "*batch"]:
    """−Σ p ln p."""
    logs = jax.nn.log_softmax(logits)
    return -jnp.sum(jnp.exp(logs) * logs, axis=-1)
