"""A level as one grid of cells: tiles, with start and goal drawn in, some perhaps not known."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from dred.tasks.gridworld.levels.level import ANY_HEADING, EMPTY, LAVA, MOSS, WALL, Level

START, GOAL, UNKNOWN, OUTSIDE = 4, 5, 6, 7
TILES = (EMPTY, WALL, LAVA, MOSS)
CONTENTS = 6  # what a cell may hold: a tile, the start or the goal
SEEN = 8  # what a cell may look like

Cells = Int[Array, "batch row column"]


def cells_of(levels: Level) -> Cells:
    """Return the cells of a batch of levels."""
    tiles = jnp.asarray(levels.tiles).astype(jnp.int32)
    rows = jnp.arange(tiles.shape[0])
    tiles = tiles.at[rows, levels.start[:, 0], levels.start[:, 1]].set(START)
    return tiles.at[rows, levels.goal[:, 0], levels.goal[:, 1]].set(GOAL)


def level_of(cells: Cells, goal: Int[Array, " batch"], start: Int[Array, " batch"]) -> Level:
    """Return levels from their cells; goal and start, by number, are empty cells."""
    count, _, width = cells.shape
    flat = cells.reshape(count, -1)
    number = jnp.arange(flat.shape[1])[None]
    is_place = (number == goal[:, None]) | (number == start[:, None]) | (flat >= len(TILES))
    tiles = jnp.where(is_place, EMPTY, flat).astype(jnp.uint8)

    def place(cell: Int[Array, " batch"]) -> Int[Array, "batch 2"]:
        return jnp.stack([cell // width, cell % width], axis=-1).astype(jnp.int32)

    heading = jnp.full((count,), ANY_HEADING, jnp.int8)
    return Level(tiles.reshape(cells.shape), place(goal), place(start), heading)


def can_walk_on(cells: Cells) -> Bool[Array, "batch row column"]:
    """Return on which cells one can walk."""
    return (cells != WALL) & (cells != LAVA) & (cells < UNKNOWN)
