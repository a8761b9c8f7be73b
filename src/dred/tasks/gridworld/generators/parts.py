"""The parts of a level through which one can walk."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from dred.tasks.gridworld.levels.level import EMPTY, MOSS, Level

BATCH = 256  # levels that are looked at at once


def all_connected(levels: Level) -> bool:
    """Whether in every level all cells on which the agent can walk are one part."""
    can_walk = (levels.tiles == EMPTY) | (levels.tiles == MOSS)
    for i in range(0, len(can_walk), BATCH):
        part = np.asarray(parts_of(jnp.asarray(can_walk[i : i + BATCH])))
        highest = part.max(axis=(1, 2), keepdims=True)
        if ((part > 0) & (part != highest)).any():
            return False
    return True


@jax.jit  # else each call outside of compiled code would compile its loop again
def parts_of(can_walk: Bool[Array, "batch row column"]) -> Int[Array, "batch row column"]:
    """A number for each part of a level through which one can walk from cell to cell; else 0.

    Every cell takes the highest number among itself and its neighbours until none changes.
    """
    _, height, width = can_walk.shape
    first = jnp.where(can_walk, 1 + jnp.arange(height * width).reshape(height, width), 0)

    def spread(now: tuple[Array, Array]) -> tuple[Array, Array]:
        number, _ = now
        wide = jnp.pad(number, ((0, 0), (1, 1), (1, 1)))
        near = jnp.maximum(
            jnp.maximum(wide[:, :-2, 1:-1], wide[:, 2:, 1:-1]),
            jnp.maximum(wide[:, 1:-1, :-2], wide[:, 1:-1, 2:]),
        )
        after = jnp.where(can_walk, jnp.maximum(number, near), 0)
        return after, jnp.any(after != number)

    return jax.lax.while_loop(lambda now: now[1], spread, (first, jnp.array(True)))[0]
