"""The eight symmetric copies of a square level."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from dred.errors import DatasetError
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level


def need_square(shape: tuple[int, int]) -> None:
    """Stop unless levels are square, as the copies need."""
    height, width = shape
    if height != width:
        raise DatasetError(f"turns needs square levels; these have {height}×{width} cells.")


def turned(
    levels: Level, *, key: PRNGKeyArray, allowed: Bool[Array, "batch symmetry"] | None = None
) -> Level:
    """Each level of a batch as one of its symmetric copies: eight, or four if it is not square.

    Or one of those that are allowed, of the eight.
    """
    height, width = levels.tiles.shape[1:]
    numbers = range(8) if height == width else range(0, 8, 2)
    if allowed is None:
        which = jax.random.randint(key, (levels.tiles.shape[0],), 0, len(numbers))
    else:
        odds = jnp.where(allowed[:, jnp.array(numbers)], 0.0, -jnp.inf)
        which = jax.random.categorical(key, odds)

    def one(level: Level, number: Int[Array, ""]) -> Level:
        copies = [symmetric_copy(level, symmetry) for symmetry in numbers]
        return jax.tree.map(lambda *parts: jnp.stack(parts)[number], *copies)

    return jax.vmap(one)(levels, which)


def symmetric_copy(level: Level, symmetry: int) -> Level:
    """One of the eight: from 4 on mirrored, then turned by quarters; its heading is left open."""
    tiles, places = level.tiles, [level.goal, level.start]
    if symmetry >= 4:
        last = tiles.shape[1] - 1
        tiles = tiles[:, ::-1]
        places = [jnp.stack([row, last - column]) for row, column in places]
    for _ in range(symmetry % 4):
        last = tiles.shape[1] - 1
        tiles = jnp.rot90(tiles)
        places = [jnp.stack([last - column, row]) for row, column in places]
    goal, start = places
    return Level(tiles, goal, start, jnp.full_like(level.heading, ANY_HEADING))
