"""How far the goal is from each cell, as far as can be told from what is known of a level."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dred.tasks.gridworld.generators.masked.cells import GOAL, OUTSIDE, UNKNOWN, Cells, can_walk_on

FEATURES = 5
NEAR = 4.0  # steps
Steps = Int[Array, "batch row column"]


def steps_to_goal(cells: Cells) -> Steps:
    """Return the steps from each cell to the goal, −1 if the goal is not known.

    The way goes through cells on which one can walk, or perhaps can. Others, and those from which
    there is no way, lie one step farther than the nearest neighbour that has a number before them.
    """
    is_open = can_walk_on(cells) | (cells == UNKNOWN)
    return spread(spread(jnp.where(cells == GOAL, 0, -1), is_open), cells != OUTSIDE)


def spread(steps: Steps, allowed: Bool[Array, "batch row column"]) -> Steps:
    """Give numbers to the cells without one that are allowed, ring by ring."""
    far = jnp.iinfo(jnp.int32).max - 1

    def ring(now: tuple[Steps, Bool[Array, ""]]) -> tuple[Steps, Bool[Array, ""]]:
        steps, _ = now
        wide = jnp.pad(
            jnp.where(steps < 0, far, steps), ((0, 0), (1, 1), (1, 1)), constant_values=far
        )
        near = jnp.minimum(
            jnp.minimum(wide[:, :-2, 1:-1], wide[:, 2:, 1:-1]),
            jnp.minimum(wide[:, 1:-1, :-2], wide[:, 1:-1, 2:]),
        )
        is_new = (steps < 0) & allowed & (near < far)
        return jnp.where(is_new, near + 1, steps), is_new.any()

    return jax.lax.while_loop(lambda now: now[1], ring, (steps, jnp.array(True)))[0]


def distance_features(cells: Cells) -> Float[Array, "batch row column features"]:
    """Return what a network is told of the distance to the goal: zeros where it is not known.

    Steps count by what is near, by the farthest cell, and by which share of the cells is nearer: of
    those where one can walk, or perhaps can, and of all. Start, moss and lava lie by that order,
    and to find it one has to count the whole level. None of it grows with the level: where the
    number of steps was told, too, levels of 45×45 had a third too much moss.
    """
    steps = steps_to_goal(cells)
    is_known = steps >= 0
    number = steps.astype(jnp.float32)
    farthest = jnp.maximum(number.max((1, 2), keepdims=True), 1.0)
    told = jnp.stack(
        [
            jnp.ones_like(number),
            jnp.exp(-number / NEAR),
            number / farthest,
            share_nearer(steps, can_walk_on(cells) | (cells == UNKNOWN)),
            share_nearer(steps, cells != OUTSIDE),
        ],
        axis=-1,
    )
    return jnp.where(is_known[..., None], told, 0.0)


def share_nearer(
    steps: Steps, counts: Bool[Array, "batch row column"]
) -> Float[Array, "batch row column"]:
    """Return which share of the cells that count has fewer steps to the goal than each cell."""
    batch, height, width = steps.shape
    flat, rows = steps.reshape(batch, -1), jnp.arange(batch)[:, None]
    counted = (counts & (steps >= 0)).reshape(batch, -1).astype(jnp.int32)
    at_steps = jnp.zeros((batch, height * width + 1), jnp.int32).at[rows, flat + 1].add(counted)
    nearer = jnp.cumsum(at_steps, axis=1)[rows, flat].astype(jnp.float32)
    total = jnp.maximum(counted.sum(axis=1, keepdims=True), 1).astype(jnp.float32)
    return (nearer / total).reshape(steps.shape)
