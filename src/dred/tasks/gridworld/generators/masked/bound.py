"""What the model maximises: a bound on the log-likelihood of a level, over all orders of its cells.

A level of n cells can be drawn cell by cell in any order o, so that, by Jensen's inequality,

    log p(level) ≥ E over o of Σ over j of log p(cell o_j | cells o_1 … o_(j−1))
                 = Σ over k = 1 … n of E over sets U of k unknown cells of
                       mean over U of log p(cell | the others than U)

since each cell of U is equally often the next one. So with k uniform in 1 … n and U a random set
of k cells, n times the mean over U of log p is an unbiased estimate. It is a probability over all
ways to fill the grid, those without one start and one goal included.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.generators.masked.cells import UNKNOWN
from dred.tasks.gridworld.generators.masked.model import MaskedModel


def bound_given(
    model: MaskedModel,
    cells: Int[Array, "batch row column"],
    is_unknown: Bool[Array, "batch row column"],
) -> Float[Array, " batch"]:
    """Return the number of cells times the mean log-probability of those that are unknown."""
    log_p = model(jnp.where(is_unknown, UNKNOWN, cells))
    right = jnp.take_along_axis(log_p, cells[..., None], axis=-1)[..., 0]
    total = (right * is_unknown.astype(jnp.float32)).sum((1, 2))
    return total * cells[0].size / is_unknown.sum((1, 2)).astype(jnp.float32)


def unknown_cells(shape: tuple[int, ...], *, key: PRNGKeyArray) -> Bool[Array, "batch row column"]:
    """Return a random set of each size for each level: sizes are spread evenly over the batch."""
    key_size, key_cells = jax.random.split(key)
    count, height, width = shape
    cells = height * width
    share = (jax.random.uniform(key_size) + jnp.arange(count) / count) % 1.0
    size = 1 + jnp.floor(share * cells).astype(jnp.int32).clip(0, cells - 1)
    order = jax.random.uniform(key_cells, (count, cells))
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    return (rank < size[:, None]).reshape(shape)


def bound(
    model: MaskedModel, cells: Int[Array, "batch row column"], *, key: PRNGKeyArray
) -> Float[Array, " batch"]:
    """Return an unbiased estimate of the bound of each level, in nats."""
    return bound_given(model, cells, unknown_cells(cells.shape, key=key))


@eqx.filter_jit
def mean_bound(
    model: MaskedModel,
    cells: Int[Array, "batch row column"],
    *,
    samples: int,
    key: PRNGKeyArray,
) -> Float[Array, " batch"]:
    """Return the mean of so many estimates for each level, whose sizes are spread evenly."""

    def one(key: PRNGKeyArray, cells: Int[Array, "row column"]) -> Float[Array, ""]:
        copies = jnp.broadcast_to(cells[None], (samples, *cells.shape))
        return bound(model, copies, key=key).mean()

    return jax.lax.map(lambda given: one(*given), (jax.random.split(key, len(cells)), cells))
