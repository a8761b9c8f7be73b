"""Small changes to a level, as in ACCEL.

A few cells, drawn with replacement, become each a wall, empty, lava, moss, the start or the goal,
with equal chance; the old start or goal, if it moves, leaves an empty cell. Then, if the goal or
the start is gone, it goes to a random cell without a wall or lava. [fidelity 50] Three cells, as
the paper says; the released code takes five. Nothing makes sure that the goal can be reached.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt8

from dred.config import need_one
from dred.task import Generator, GeneratorInput
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    EMPTY,
    LAVA,
    MOSS,
    OUTSIDE,
    WALL,
    Level,
    own_sizes,
)

START, GOAL, NOWHERE = 4, 5, -1  # kinds to put, not tiles
KINDS = (EMPTY, WALL, LAVA, MOSS, START, GOAL)


@dataclass(frozen=True)
class EditsConfig:
    """How levels are edited."""

    num_edits: int = 3
    """Tiles that may change."""

    def __post_init__(self) -> None:
        need_one(self, "num_edits")


def edited(given: GeneratorInput, settings: EditsConfig, key: PRNGKeyArray) -> Level:
    """Return every parent with a few changes."""
    keys = jax.random.split(key, given.parents.tiles.shape[0])
    return jax.vmap(lambda level, key: edit(level, settings.num_edits, key=key))(
        given.parents, keys
    )


def edit(level: Level, num_edits: int, *, key: PRNGKeyArray) -> Level:
    """One level with a few changes."""
    key_cells, key_kinds, key_repair = jax.random.split(key, 3)
    height, width = level.tiles.shape
    rows, columns = own_sizes(level.tiles)  # where there is padding, it stays
    cells = jax.random.randint(key_cells, (num_edits,), 0, rows * columns)
    cells = cells // columns * width + cells % columns
    kinds = jax.random.choice(key_kinds, jnp.array(KINDS), (num_edits,))
    tiles = level.tiles.reshape(-1)
    goal = level.goal[0] * width + level.goal[1]
    start = level.start[0] * width + level.start[1]
    for cell, kind in zip(cells, kinds, strict=True):
        tiles, goal, start = put(tiles, goal, start, cell, kind)
    goal, start = repair(tiles, goal, start, key=key_repair)
    tiles = tiles.at[jnp.stack([goal, start])].set(jnp.uint8(EMPTY))

    def place(cell: Int[Array, ""]) -> Int[Array, " 2"]:
        return jnp.stack([cell // width, cell % width]).astype(jnp.int32)

    heading = jnp.full_like(level.heading, ANY_HEADING)
    return Level(tiles.reshape(height, width), place(goal), place(start), heading)


def put(
    tiles: UInt8[Array, " cell"],
    goal: Int[Array, ""],
    start: Int[Array, ""],
    cell: Int[Array, ""],
    kind: Int[Array, ""],
) -> tuple[UInt8[Array, " cell"], Int[Array, ""], Int[Array, ""]]:
    """Clear a cell, then put something there; start and goal are moved, not copied."""
    tile = jnp.where(kind < START, kind, EMPTY).astype(jnp.uint8)
    goal = jnp.where(kind == GOAL, cell, jnp.where(cell == goal, NOWHERE, goal))
    start = jnp.where(kind == START, cell, jnp.where(cell == start, NOWHERE, start))
    return tiles.at[cell].set(tile), goal, start


def repair(
    tiles: UInt8[Array, " cell"],
    goal: Int[Array, ""],
    start: Int[Array, ""],
    *,
    key: PRNGKeyArray,
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Put the goal, then the start, on a random free cell if it is gone."""
    key_goal, key_start = jax.random.split(key)
    cell = jnp.arange(tiles.shape[0])

    is_free = (tiles != WALL) & (tiles != LAVA) & (tiles != OUTSIDE)

    def somewhere(other: Int[Array, ""], key: PRNGKeyArray) -> Int[Array, ""]:
        """A random free cell, or any if none is free, but not the other one, nor outside."""
        chance = jax.random.uniform(key, cell.shape) - jnp.where(tiles == OUTSIDE, 4.0, 0.0)
        return jnp.argmax(
            chance + jnp.where(is_free, 1.0, 0.0) - jnp.where(cell == other, 2.0, 0.0)
        )

    goal = jnp.where(goal == NOWHERE, somewhere(start, key_goal), goal)
    return goal, jnp.where(start == NOWHERE, somewhere(goal, key_start), start)


EDITS = Generator(edited, settings=EditsConfig(), uses_parents=True)
