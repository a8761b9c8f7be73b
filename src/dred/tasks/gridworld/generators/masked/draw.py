"""Filling in a level: the goal, which cells are floor, then the start, and what each cell is.

    p(goal | known) Π over looks of Π over some cells of p(class | the rest)
        · p(start | all classes) Π over looks of Π over some cells of p(tile | the rest)

Cells that are drawn in one look are drawn as if they did not depend on each other. So they lie far
apart, and there are few of them as long as little is known; and once all classes are known, some
looks draw a quarter of them again, given the others, and those around floor that is not of the
largest part: that mends what does not go together. What is left of such floor becomes solid, and a
goal that lies there is drawn again, by the same log-odds, on other floor. So moss and lava are
drawn by the distances that the level has.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.generators.masked.cells import (
    FLOOR,
    GOAL,
    SOLID,
    START,
    UNKNOWN,
    can_walk_on,
    classes_of,
    level_of,
)
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.parts import parts_of
from dred.tasks.gridworld.generators.places import place_log_odds
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL, Level

KINDS = 4  # looks that draw what cells are
FORGOTTEN = 4  # a look that corrects draws one in so many cells again
GROWTH = 2.0  # a share of the looks has drawn this power of it of the cells
# Cells of the same number are four apart; those of consecutive numbers are far from each other.
SPREAD = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))
Cells = Int[Array, "batch row column"]
LogP = Float[Array, "batch row column held"]


class Place(NamedTuple):
    """The start or the goal of each level."""

    cell: Int[Array, " batch"]
    odds: Float[Array, "batch cell"]  # log-odds by which it was drawn


class Filling(NamedTuple):
    """Levels that are being filled in."""

    cells: Int[Array, "batch row column"]
    goal: Place
    start: Int[Array, " batch"]


class Looks(NamedTuple):
    """When what is drawn: first the goal, then classes, corrections, the start, and kinds."""

    steps: int
    corrections: int

    @property
    def start(self) -> int:
        """Return the look at which all classes are known, and the start is drawn."""
        return 1 + self.steps + self.corrections

    @property
    def all(self) -> int:
        """Return the number of looks."""
        return 1 + self.start + KINDS

    def corrects(self, number: Int[Array, ""]) -> Bool[Array, ""]:
        """Return whether a look draws classes anew."""
        return (number > self.steps) & (number < self.start)

    def share(self, number: Int[Array, ""]) -> Float[Array, ""]:
        """Return which share of the cells are known, as far as they are to be, after a look."""
        early = jnp.minimum(number / self.steps, 1.0) ** GROWTH
        late = ((number - self.start) / KINDS) ** GROWTH
        return jnp.where(number >= self.start, late, early)


def fill(
    model: MaskedModel,
    cells: Cells,
    label: Int[Array, " batch"],
    *,
    looks: Looks,
    connected: bool,
    temperature: float = 1.0,
    key: PRNGKeyArray,
) -> Level:
    """Return levels of these structures in which all that is unknown was drawn."""
    key_order, key_looks, key_part = jax.random.split(key, 3)
    order = order_of(cells.shape, key=key_order)
    nowhere = Place(jnp.zeros(len(cells), jnp.int32), jnp.zeros((len(cells), cells[0].size)))

    def look(number: Int[Array, ""], now: Filling) -> Filling:
        key, key_forget = jax.random.split(jax.random.fold_in(key_looks, number))
        before = jnp.where(number == looks.start, 2, looks.corrects(number).astype(jnp.int32))
        now = jax.lax.switch(
            before, (lambda now: now, lambda now: forget(now, key_forget), complete), now
        )
        log_p = model(now.cells, label)
        is_drawn = order < jnp.ceil(looks.share(number) * cells[0].size).astype(jnp.int32)
        more = drawn(now.cells, log_p, number > looks.start, temperature, key)
        with_goal, goal = placed(now.cells, log_p, GOAL, now.cells == UNKNOWN, key)
        with_start, start = placed(now.cells, log_p, START, room_for_start(now.cells), key)
        found = jnp.where(is_drawn, more, now.cells)
        found = jnp.where(number == looks.start, with_start, found)
        return Filling(
            jnp.where(number == 0, with_goal, found),
            jax.tree.map(lambda new, old: jnp.where(number == 0, new, old), goal, now.goal),
            jnp.where(number == looks.start, start.cell, now.start),
        )

    def forget(now: Filling, key: PRNGKeyArray) -> Filling:
        order = order_of(cells.shape, key=key)
        is_forgotten = order < cells[0].size // FORGOTTEN
        if connected:
            is_forgotten |= around(is_lost(now.cells))
        is_forgotten &= (cells == UNKNOWN) & (now.cells != GOAL)
        return now._replace(cells=jnp.where(is_forgotten, UNKNOWN, now.cells))

    def complete(now: Filling) -> Filling:
        now = in_one_part(now, key_part) if connected else now
        is_as_given = (cells != UNKNOWN) & (classes_of(cells) == now.cells)
        return now._replace(cells=jnp.where(is_as_given, cells, now.cells))

    begun = Filling(classes_of(cells), nowhere, nowhere.cell)
    made = jax.lax.fori_loop(0, looks.all, look, begun)
    return level_of(made.cells, made.goal.cell, made.start)


def placed(
    cells: Cells, log_p: LogP, what: int, can_be: Bool[Array, "batch row column"], key: PRNGKeyArray
) -> tuple[Cells, Place]:
    """Return the cells with the start or the goal on one where it can be, if it is not there."""
    flat = cells.reshape(cells.shape[0], -1)
    odds = log_p[..., what].reshape(flat.shape)
    is_there = flat == what
    is_free = (flat != GOAL) & (flat != START)
    drawn = jax.random.categorical(key, place_log_odds(odds, can_be.reshape(flat.shape), is_free))
    cell = jnp.where(is_there.any(1), is_there.argmax(1), drawn).astype(jnp.int32)
    number = jnp.arange(flat.shape[1])[None]
    flat = jnp.where(number == cell[:, None], what, flat)
    return flat.reshape(cells.shape), Place(cell, odds)


def room_for_start(cells: Cells) -> Bool[Array, "batch row column"]:
    """Return the floor of which no more is known or, in a level without any, all floor."""
    is_floor = cells == FLOOR
    return jnp.where(is_floor.any((1, 2), keepdims=True), is_floor, can_walk_on(cells))


def order_of(shape: tuple[int, ...], *, key: PRNGKeyArray) -> Int[Array, "batch row column"]:
    """Return as which of the cells of its level each is drawn.

    Those that are drawn one after the other lie apart.
    """
    count, height, width = shape
    key_shift, key_chance = jax.random.split(key)
    shift = jax.random.randint(key_shift, (count, 2, 1, 1), 0, 4)
    row = (jnp.arange(height)[None, :, None] + shift[:, 0]) % 4
    column = (jnp.arange(width)[None, None, :] + shift[:, 1]) % 4
    chance = jax.random.uniform(key_chance, shape)
    turn = (jnp.array(SPREAD)[row, column].astype(jnp.float32) + chance).reshape(count, -1)
    return jnp.argsort(jnp.argsort(turn, axis=1), axis=1).reshape(shape)


def drawn(
    cells: Cells, log_p: LogP, is_late: Bool[Array, ""], temperature: float, key: PRNGKeyArray
) -> Cells:
    """Return the cells with one step more known of each: its class or, later, what it is."""
    scaled = log_p / temperature
    floor = jnp.logaddexp(jnp.logaddexp(scaled[..., EMPTY], scaled[..., MOSS]), scaled[..., START])
    chance = jax.random.uniform(key, cells.shape)

    def either(one: int, other: int, odds: Float[Array, "batch row column"]) -> Cells:
        return jnp.where(chance < jax.nn.sigmoid(odds), one, other).astype(jnp.int32)

    solid = jnp.logaddexp(scaled[..., WALL], scaled[..., LAVA])
    classes = jnp.where(cells == UNKNOWN, either(FLOOR, SOLID, floor - solid), cells)
    on_floor = either(MOSS, EMPTY, scaled[..., MOSS] - scaled[..., EMPTY])
    on_solid = either(LAVA, WALL, scaled[..., LAVA] - scaled[..., WALL])
    known = jnp.where(cells == FLOOR, on_floor, jnp.where(cells == SOLID, on_solid, cells))
    return jnp.where(is_late, known, classes)


def is_lost(cells: Cells) -> Bool[Array, "batch row column"]:
    """Return which floor is not of the largest part."""
    part = parts_of(can_walk_on(cells))
    kept = largest_part(part.reshape(len(part), -1))
    return (part > 0) & (part != kept[:, None, None])


def around(chosen: Bool[Array, "batch row column"]) -> Bool[Array, "batch row column"]:
    """Return the cells that are chosen, and the eight around each."""
    window, steps = (1, 3, 3), (1, 1, 1)
    return jax.lax.reduce_window(chosen, False, jax.lax.bitwise_or, window, steps, "SAME")


def in_one_part(now: Filling, key: PRNGKeyArray) -> Filling:
    """Return levels in which the largest part of the floor is left, with the goal on it."""
    count = len(now.cells)
    lost = is_lost(now.cells).reshape(count, -1)
    is_kept = can_walk_on(now.cells).reshape(count, -1) & ~lost
    goal = kept_or_drawn(now.goal, is_kept, jnp.ones_like(is_kept), key)
    flat = jnp.where(lost, SOLID, now.cells.reshape(lost.shape))
    flat = jnp.where(flat == GOAL, FLOOR, flat)
    number = jnp.arange(flat.shape[1])[None]
    flat = jnp.where(number == goal[:, None], GOAL, flat)
    return now._replace(cells=flat.reshape(now.cells.shape), goal=now.goal._replace(cell=goal))


def largest_part(part: Int[Array, "batch cell"]) -> Int[Array, " batch"]:
    """Return the number of the part with the most cells; no part has the number 0."""
    count, cells = part.shape
    rows = jnp.arange(count)
    sizes = jnp.zeros((count, cells + 1), jnp.int32).at[rows[:, None], part].add(1)
    return sizes.at[:, 0].set(0).argmax(axis=1)


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
