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
from dred.tasks.gridworld.levels.level import LAVA, WALL, Level

GROWTH = 2.0  # a share of the looks has drawn this power of it of the cells
# Cells of the same number are four apart; those of consecutive numbers are far from each other.
SPREAD = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))
Cells = Int[Array, "batch row column"]


class Place(NamedTuple):
    """The start or the goal of each level."""

    cell: Int[Array, " batch"]
    odds: Float[Array, "batch cell"]  # log-odds by which it was drawn


class Filling(NamedTuple):
    """Levels that are being filled in."""

    cells: Int[Array, "batch row column"]
    solid: Int[Array, "batch row column"]  # what cells become that cannot be reached
    goal: Place
    start: Place


def fill(
    model: MaskedModel,
    cells: Cells,
    *,
    steps: int,
    connected: bool,
    temperature: float = 1.0,
    key: PRNGKeyArray,
) -> Level:
    """Return levels in which all that is unknown was drawn, tiles in so many looks."""
    key_order, key_looks, key_end = jax.random.split(key, 3)
    rank = order_of(cells, key=key_order)
    total = (cells == UNKNOWN).sum((1, 2)).astype(jnp.float32)
    count, num_cells = cells.shape[0], cells[0].size
    nowhere = Place(jnp.zeros(count, jnp.int32), jnp.zeros((count, num_cells)))

    def look(number: Int[Array, ""], now: Filling) -> Filling:
        key = jax.random.fold_in(key_looks, number)
        log_p = model(now.cells)
        with_goal, goal = placed(now.cells, log_p, GOAL, key)
        with_start, start = placed(now.cells, log_p, START, key)
        share = ((number.astype(jnp.float32) - 1.0) / steps) ** GROWTH
        until = jnp.ceil(total * share).astype(jnp.int32)
        is_drawn = (number > 1) & (now.cells == UNKNOWN) & (rank < until[:, None, None])
        tiles, solid = (
            drawn_tiles(log_p, kinds, temperature, key) for kinds in (TILES, (WALL, LAVA))
        )
        with_tiles = jnp.where(is_drawn, tiles, now.cells)
        return Filling(
            jnp.where(number == 0, with_goal, jnp.where(number == 1, with_start, with_tiles)),
            jnp.where(is_drawn, solid, now.solid),
            jax.tree.map(lambda new, old: jnp.where(number == 0, new, old), goal, now.goal),
            jax.tree.map(lambda new, old: jnp.where(number == 1, new, old), start, now.start),
        )

    begun = Filling(cells, jnp.full_like(cells, WALL), nowhere, nowhere)
    made = jax.lax.fori_loop(0, 2 + steps, look, begun)
    if not connected:
        return level_of(made.cells, made.goal.cell, made.start.cell)
    return in_one_part(made, key_end)


def placed(
    cells: Cells, log_p: Float[Array, "batch row column held"], what: int, key: PRNGKeyArray
) -> tuple[Cells, Place]:
    """Return the cells with the start or the goal on one that was unknown, if it is not there."""
    flat = cells.reshape(cells.shape[0], -1)
    odds = log_p[..., what].reshape(flat.shape)
    is_there = flat == what
    drawn = jax.random.categorical(
        key, place_log_odds(odds, flat == UNKNOWN, jnp.ones_like(is_there))
    )
    cell = jnp.where(is_there.any(1), is_there.argmax(1), drawn).astype(jnp.int32)
    number = jnp.arange(flat.shape[1])[None]
    flat = jnp.where(number == cell[:, None], what, flat)
    return flat.reshape(cells.shape), Place(cell, odds)


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
    temperature: float,
    key: PRNGKeyArray,
) -> Cells:
    """Return one of the allowed tiles for each cell."""
    kinds = jnp.array(allowed)
    return kinds[jax.random.categorical(key, log_p[..., kinds] / temperature)].astype(jnp.int32)


def in_one_part(made: Filling, key: PRNGKeyArray) -> Level:
    """Return levels in which all cells on which one can walk are one part, with both places."""
    key_goal, key_start = jax.random.split(key)
    cells, goal, start = made.cells, made.goal, made.start
    part = parts_of(can_walk_on(cells)).reshape(cells.shape[0], -1)
    is_kept = part == chosen_part(part, goal.cell, start.cell)[:, None]
    goal_cell = kept_or_drawn(goal, is_kept, jnp.ones_like(is_kept), key_goal)
    number = jnp.arange(part.shape[1])[None]
    start_cell = kept_or_drawn(start, is_kept, number != goal_cell[:, None], key_start)
    is_lost = ((part > 0) & ~is_kept).reshape(cells.shape)
    return level_of(jnp.where(is_lost, made.solid, cells), goal_cell, start_cell)


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
    shape: tuple[int, ...], share: float, *, key: PRNGKeyArray
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
