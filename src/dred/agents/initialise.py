"""First weights: orthogonal and Xavier-uniform matrices, zero biases."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray


def orthogonal(
    rows: int, columns: int, *, gain: float = 1.0, key: PRNGKeyArray
) -> Float[Array, "rows columns"]:
    """A matrix whose rows or columns, whichever are fewer, are orthogonal and of length `gain`."""
    return jax.nn.initializers.orthogonal(gain)(key, (rows, columns))


def xavier_uniform(
    fan_in: int, fan_out: int, shape: tuple[int, ...], *, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Uniform within ±√(6 / (fan_in + fan_out)); JAX's own cannot be told fans."""
    bound = (6.0 / (fan_in + fan_out)) ** 0.5
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
