"""A level as one grid of cells: tiles, with start and goal drawn in, some perhaps not known.

A cell becomes known in two steps: first its class, whether one can walk on it or it is the goal,
then what it is. Until then it looks like floor or solid ground.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from dred.tasks.gridworld.levels.level import ANY_HEADING, EMPTY, LAVA, MOSS, WALL, Level

START, GOAL, UNKNOWN, OUTSIDE, FLOOR, SOLID = 4, 5, 6, 7, 8, 9
TILES = (EMPTY, WALL, LAVA, MOSS)
CONTENTS = 6  # what a cell may hold: a tile, the start or the goal
SEEN = 10  # what a cell may look like
CLASSES = {EMPTY: FLOOR, MOSS: FLOOR, START: FLOOR, WALL: SOLID, LAVA: SOLID}

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


def classes_of(cells: Cells) -> Cells:
    """Return cells of which no more than the class is known."""
    return jnp.array([CLASSES.get(what, what) for what in range(SEEN)])[cells]


def can_walk_on(cells: Cells) -> Bool[Array, "batch row column"]:
    """Return on which cells one can walk."""
    classes = classes_of(cells)
    return (classes == FLOOR) | (classes == GOAL)
