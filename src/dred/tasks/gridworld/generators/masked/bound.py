"""What the model maximises: a bound on the log-likelihood of a level, over all orders of its cells.

A level of n cells is drawn in 2n steps: first the class of each cell, in any order, then what each
is, in any order. By Jensen's inequality

    log p(level) ≥ E over orders o of Σ over j of log p(class of o_j | classes of o_1 … o_(j−1))
                 + E over orders o of Σ over j of log p(cell o_j | all classes, o_1 … o_(j−1))
                 = Σ over k = 1 … n of E over sets U of k cells that are not known of
                       mean over U of log p(class | the others' classes)
                     + mean over U of log p(cell | all classes, the others)

since each cell of U is equally often the next one. So with one of the two kinds of step and k in
1 … n uniformly at random, and U a random set of k cells, 2n times the mean over U of log p is an
unbiased estimate. It is a probability over all ways to fill the grid, those without one start and
one goal included.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.generators.masked.cells import (
    CLASSES,
    CONTENTS,
    FLOOR,
    GOAL,
    START,
    UNKNOWN,
    Cells,
    classes_of,
)
from dred.tasks.gridworld.generators.masked.model import MaskedModel

NOTHING, ITS_CLASS, ALL = range(3)  # what is known of a cell
NEVER = -1e9  # log-odds that have a gradient where no cell may be a place
Known = Int[Array, "batch row column"]
Labels = Int[Array, " batch"]
LogP = Float[Array, "batch row column held"]


def shown(cells: Cells, known: Known) -> Cells:
    """Return the cells as far as they are known."""
    partly = jnp.where(known == ITS_CLASS, classes_of(cells), cells)
    return jnp.where(known == NOTHING, UNKNOWN, partly)


def bound_given(
    model: MaskedModel, cells: Cells, label: Labels, known: Known
) -> Float[Array, " batch"]:
    """Return an estimate of the bound of each level, by what is known of it."""
    return bound_from(model(shown(cells, known), label), cells, known)


def bound_from(log_p: LogP, cells: Cells, known: Known) -> Float[Array, " batch"]:
    """Return the number of steps times the mean log-probability of those that may be next.

    In a level of which any cell is not known at all, classes are next; else what cells are.
    """
    of_class = log_p_of_class(log_p, cells)
    of_cell = jnp.take_along_axis(log_p, cells[..., None], axis=-1)[..., 0]
    least = known.min((1, 2), keepdims=True)
    log_next = jnp.where(least == NOTHING, of_class, of_cell - of_class)
    is_next = (known == least).astype(jnp.float32)
    steps = 2 * cells[0].size
    return (log_next * is_next).sum((1, 2)) * steps / is_next.sum((1, 2))


def log_p_of_places(log_p: LogP, cells: Cells, known: Known) -> Float[Array, " batch"]:
    """Return the log-probability of the goal and of the start among the cells that may be them.

    So both are drawn: the goal while classes are not known, the start while what cells are is not.
    A place that is known counts 0.
    """
    least = known.min((1, 2), keepdims=True)
    is_next = known == least
    is_early = least == NOTHING
    goal = log_p_of_place(log_p[..., GOAL], cells == GOAL, is_next & is_early)
    may_be_start = is_next & ~is_early & (classes_of(cells) == FLOOR)
    return goal + log_p_of_place(log_p[..., START], cells == START, may_be_start)


def log_p_of_place(
    odds: Float[Array, "batch row column"],
    place: Bool[Array, "batch row column"],
    may_be: Bool[Array, "batch row column"],
) -> Float[Array, " batch"]:
    """Return the log-probability of a place among those that may be it; 0 if it may not be."""
    of_all = jax.nn.logsumexp(jnp.where(may_be, odds, NEVER), axis=(1, 2), keepdims=True)
    return jnp.where(place & may_be, odds - of_all, 0.0).sum((1, 2))


def log_p_of_class(
    log_p: Float[Array, "batch row column held"], cells: Cells
) -> Float[Array, "batch row column"]:
    """Return the log-probability of each cell's own class."""
    groups = [CLASSES.get(what, what) for what in range(CONTENTS)]
    is_alike = jnp.array([[one == other for other in groups] for one in groups])
    return jax.nn.logsumexp(jnp.where(is_alike[cells], log_p, -jnp.inf), axis=-1)


def knowledge(shape: tuple[int, ...], *, key: PRNGKeyArray) -> Known:
    """Return what is known at a random step of each level: steps are spread evenly over the batch.

    With k steps to come that say what cells are, k cells are known by their class; before that, k
    are not known at all and all others by their class.
    """
    key_step, key_cells = jax.random.split(key)
    count, height, width = shape
    cells = height * width
    share = (jax.random.uniform(key_step) + jnp.arange(count) / count) % 1.0
    to_come = 1 + jnp.floor(share * 2 * cells).astype(jnp.int32).clip(0, 2 * cells - 1)
    is_early = to_come > cells
    size = jnp.where(is_early, to_come - cells, to_come)
    order = jax.random.uniform(key_cells, (count, cells))
    rank = jnp.argsort(jnp.argsort(order, axis=1), axis=1)
    known = jnp.where(rank < size[:, None], 0, 1) + jnp.where(is_early, 0, 1)[:, None]
    return known.reshape(shape)


def bound(
    model: MaskedModel, cells: Cells, label: Labels, *, key: PRNGKeyArray
) -> Float[Array, " batch"]:
    """Return an unbiased estimate of the bound of each level, in nats."""
    return bound_given(model, cells, label, knowledge(cells.shape, key=key))


@eqx.filter_jit
def mean_bound(
    model: MaskedModel, cells: Cells, label: Labels, *, samples: int, key: PRNGKeyArray
) -> Float[Array, " batch"]:
    """Return the mean of so many estimates for each level, whose steps are spread evenly."""

    def one(
        key: PRNGKeyArray, cells: Int[Array, "row column"], label: Int[Array, ""]
    ) -> Float[Array, ""]:
        copies = jnp.broadcast_to(cells[None], (samples, *cells.shape))
        return bound(model, copies, jnp.broadcast_to(label, (samples,)), key=key).mean()

    keys = jax.random.split(key, len(cells))
    return jax.lax.map(lambda given: one(*given), (keys, cells, label))
