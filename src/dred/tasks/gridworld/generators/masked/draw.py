"""Filling in a level: first the goal, then the start, then the tiles in a few looks at the level.

    p(goal | known) p(start | known, goal) Π over looks of Π over some cells of p(tile | the rest)

Cells that are drawn in one look are drawn as if they did not depend on each other. So they lie far
apart, and there are few of them as long as little is known. At the end a level in one part is made
of one that is not: what cannot be reached becomes wall or lava, as the model has it, and a place
that is in another part is drawn again, by the same log-odds, where it can be reached.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.generators.masked.cells import (
    GOAL,
    START,
    TILES,
    UNKNOWN,
    can_walk_on,
    level_of,
)
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.parts import parts_of
from dred.tasks.gridworld.generators.places import place_log_odds
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, WALL, Level

GROWTH = 2.0  # a share of the looks has drawn this power of it of the cells
# Cells of the same number are four apart; those of consecutive numbers are far from each other.
SPREAD = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))
Cells = Int[Array, "batch row column"]


class Place(NamedTuple):
    """The start or the goal of each level."""

    cell: Int[Array, " batch"]
    odds: Float[Array, "batch cell"]  # log-odds by which it was drawn


def fill(
    model: MaskedModel,
    cells: Cells,
    *,
    steps: int,
    connected: bool,
    temperature: Float[Array, ""] | float = 1.0,
    key: PRNGKeyArray,
) -> Level:
    """Return levels in which all that is unknown was drawn."""
    key_goal, key_start, key_tiles, key_end = jax.random.split(key, 4)
    cells, goal = with_place(model, cells, GOAL, key_goal)
    cells, start = with_place(model, cells, START, key_start)
    cells = with_tiles(model, cells, steps, temperature, key_tiles)
    if not connected:
        return level_of(cells, goal.cell, start.cell)
    return in_one_part(model, cells, goal, start, temperature, key_end)


def with_place(
    model: MaskedModel, cells: Cells, what: int, key: PRNGKeyArray
) -> tuple[Cells, Place]:
    """Return the cells with the start or the goal on one that was unknown, if it is not there."""
    flat = cells.reshape(cells.shape[0], -1)
    odds = model(cells)[..., what].reshape(flat.shape)
    is_there = flat == what
    drawn = jax.random.categorical(key, place_log_odds(odds, flat == UNKNOWN, flat < UNKNOWN))
    cell = jnp.where(is_there.any(1), is_there.argmax(1), drawn)
    number = jnp.arange(flat.shape[1])[None]
    flat = jnp.where(number == cell[:, None], what, flat)
    return flat.reshape(cells.shape), Place(cell, odds)


def with_tiles(
    model: MaskedModel,
    cells: Cells,
    steps: int,
    temperature: Float[Array, ""] | float,
    key: PRNGKeyArray,
) -> Cells:
    """Return the cells with a tile on each that was unknown, drawn in so many looks."""
    key_order, key_looks = jax.random.split(key)
    rank = order_of(cells, key=key_order)
    total = (cells == UNKNOWN).sum((1, 2)).astype(jnp.float32)

    def look(number: Int[Array, ""], cells: Cells) -> Cells:
        share = ((number.astype(jnp.float32) + 1.0) / steps) ** GROWTH
        until = jnp.ceil(total * share).astype(jnp.int32)
        drawn = drawn_tiles(model(cells), TILES, temperature, jax.random.fold_in(key_looks, number))
        return jnp.where((cells == UNKNOWN) & (rank < until[:, None, None]), drawn, cells)

    return jax.lax.fori_loop(0, steps, look, cells)


def order_of(cells: Cells, *, key: PRNGKeyArray) -> Int[Array, "batch row column"]:
    """Return as which of the unknown cells of its level each is drawn; known ones come last.

    Those that are drawn one after the other lie apart.
    """
    count, height, width = cells.shape
    key_shift, key_chance = jax.random.split(key)
    shift = jax.random.randint(key_shift, (count, 2, 1, 1), 0, 4)
    row = (jnp.arange(height)[None, :, None] + shift[:, 0]) % 4
    column = (jnp.arange(width)[None, None, :] + shift[:, 1]) % 4
    chance = jax.random.uniform(key_chance, cells.shape)
    turn = jnp.array(SPREAD)[row, column].astype(jnp.float32) + chance
    turn = jnp.where(cells == UNKNOWN, turn, jnp.inf).reshape(count, -1)
    return jnp.argsort(jnp.argsort(turn, axis=1), axis=1).reshape(cells.shape)


def drawn_tiles(
    log_p: Float[Array, "batch row column held"],
    allowed: tuple[int, ...],
    temperature: Float[Array, ""] | float,
    key: PRNGKeyArray,
) -> Cells:
    """Return one of the allowed tiles for each cell."""
    kinds = jnp.array(allowed)
    return kinds[jax.random.categorical(key, log_p[..., kinds] / temperature)].astype(jnp.int32)


def in_one_part(
    model: MaskedModel,
    cells: Cells,
    goal: Place,
    start: Place,
    temperature: Float[Array, ""] | float,
    key: PRNGKeyArray,
) -> Level:
    """Return levels in which all cells on which one can walk are one part, with both places."""
    key_goal, key_start, key_walls = jax.random.split(key, 3)
    part = parts_of(can_walk_on(cells)).reshape(cells.shape[0], -1)
    is_kept = part == chosen_part(part, goal.cell, start.cell)[:, None]
    goal_cell = kept_or_drawn(goal, is_kept, jnp.ones_like(is_kept), key_goal)
    number = jnp.arange(part.shape[1])[None]
    start_cell = kept_or_drawn(start, is_kept, number != goal_cell[:, None], key_start)
    is_place = (number == goal_cell[:, None]) | (number == start_cell[:, None])
    flat = cells.reshape(part.shape)
    flat = jnp.where(is_kept & (flat >= len(TILES)), EMPTY, flat)
    flat = jnp.where((part > 0) & ~is_kept, UNKNOWN, flat)
    flat = jnp.where(number == goal_cell[:, None], GOAL, flat)
    flat = jnp.where(number == start_cell[:, None], START, flat)
    cells = flat.reshape(cells.shape)
    drawn = drawn_tiles(model(cells), (WALL, LAVA), temperature, key_walls)
    cells = jnp.where((cells == UNKNOWN) & ~is_place.reshape(cells.shape), drawn, cells)
    return level_of(cells, goal_cell, start_cell)


def chosen_part(
    part: Int[Array, "batch cell"], goal: Int[Array, " batch"], start: Int[Array, " batch"]
) -> Int[Array, " batch"]:
    """Return the part of the goal if the start is there, too, and the largest part otherwise."""
    count, cells = part.shape
    rows = jnp.arange(count)
    sizes = jnp.zeros((count, cells + 1), jnp.int32).at[rows[:, None], part].add(1)
    largest = sizes.at[:, 0].set(0).argmax(axis=1)
    return jnp.where(part[rows, goal] == part[rows, start], part[rows, goal], largest)


def kept_or_drawn(
    place: Place,
    is_kept: Bool[Array, "batch cell"],
    is_free: Bool[Array, "batch cell"],
    key: PRNGKeyArray,
) -> Int[Array, " batch"]:
    """Return a place as it is, or drawn again if it is not in the part that is kept, or taken."""
    rows = jnp.arange(len(place.cell))
    drawn = jax.random.categorical(key, place_log_odds(place.odds, is_kept, is_free))
    is_good = (is_kept & is_free)[rows, place.cell]
    return jnp.where(is_good, place.cell, drawn)


def rectangle(
    shape: tuple[int, int, int], share: float, *, key: PRNGKeyArray
) -> Bool[Array, "batch row column"]:
    """Return a random rectangle for each level, with about this share of its cells."""
    count, *sides = shape
    key_form, key_place = jax.random.split(key)
    form = jnp.exp2(jax.random.uniform(key_form, (count,), minval=-1.0, maxval=1.0))
    inside: list[Array] = []
    for side, stretch, key in zip(
        sides, (form, 1.0 / form), jax.random.split(key_place), strict=True
    ):
        length = jnp.round(side * jnp.sqrt(share * stretch)).astype(jnp.int32).clip(1, side)
        room = (side - length + 1).astype(jnp.float32)
        first = jnp.floor(jax.random.uniform(key, (count,)) * room).astype(jnp.int32)
        cell = jnp.arange(side)[None]
        inside.append((cell >= first[:, None]) & (cell < (first + length)[:, None]))
    rows, columns = inside
    return rows[:, :, None] & columns[:, None, :]
