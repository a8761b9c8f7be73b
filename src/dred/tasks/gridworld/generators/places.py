"""Where the start and the goal can be: one rule, by which the bound is computed and levels drawn.

    p(level) = p(layout) p(start | layout) p(goal | layout, start)

The start is on any cell on which the agent can walk, the goal on any other such cell. What a head
says of a cell where its place cannot be counts neither for its odds nor for its gradient.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

NEVER = -1e9  # log-odds of what cannot be


def start_log_odds(
    odds: Float[Array, "batch cell"], can_walk: Bool[Array, "batch cell"]
) -> Float[Array, "batch cell"]:
    """Return the log-odds of the start's cell given the layout."""
    return place_log_odds(odds, can_walk, jnp.ones_like(can_walk))


def goal_log_odds(
    odds: Float[Array, "batch cell"],
    can_walk: Bool[Array, "batch cell"],
    start: Int[Array, " batch"],
) -> Float[Array, "batch cell"]:
    """Return the log-odds of the goal's cell given the layout and the cell of the start."""
    return place_log_odds(odds, can_walk, jnp.arange(odds.shape[-1])[None] != start[:, None])


def place_log_odds(
    odds: Float[Array, "batch cell"],
    can_walk: Bool[Array, "batch cell"],
    is_free: Bool[Array, "batch cell"],
) -> Float[Array, "batch cell"]:
    """Return the odds on free cells that can be walked on or, if there is none, on free cells."""
    wanted = is_free & can_walk
    possible = jnp.where(wanted.any(-1, keepdims=True), wanted, is_free)
    return jnp.where(possible, odds, NEVER)
