"""Domain randomisation: empty rooms with random clutter.

Each is as large as some level of the dataset. The goal and the start go to two random cells; then n
tiles, n uniform below a limit, each a wall, lava or moss with equal chance, go to cells that are
still empty. Nothing makes sure that the goal can be reached.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from dred.config import need_one
from dred.task import Generator, GeneratorInput, NoSettings
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

SIZES = 2**31 - 1  # a number that no room has, for keys
Size = tuple[Int[Array, ""], Int[Array, ""]]  # height and width


@dataclass(frozen=True)
class RandomConfig:
    """How random rooms are filled."""

    max_clutter: int = 60
    """Fewer tiles than this are put into an empty room."""

    def __post_init__(self) -> None:
        need_one(self, "max_clutter")


def random_rooms(given: GeneratorInput, settings: RandomConfig, key: PRNGKeyArray) -> Level:
    """Return rooms with random clutter, of the sizes that levels of the dataset have."""
    return rooms(given, settings.max_clutter, key)


def empty_rooms(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Level:
    """Return rooms with nothing but a start and a goal."""
    del settings
    return rooms(given, 1, key)


def rooms(given: GeneratorInput, max_clutter: int, key: PRNGKeyArray) -> Level:
    """Return a random level in place of every parent."""
    count, height, width = given.parents.tiles.shape
    keys = jax.random.split(key, count)
    heights, widths = own_sizes(given.dataset.tiles)
    key_size = jax.random.fold_in(key, SIZES)
    like = jax.random.randint(key_size, (count,), 0, heights.shape[0])

    def room(size: Size, key: PRNGKeyArray) -> Level:
        return random_level(height, width, max_clutter=max_clutter, key=key, size=size)

    return jax.vmap(room)((heights[like], widths[like]), keys)


def random_level(
    height: int,
    width: int,
    *,
    max_clutter: int,
    key: PRNGKeyArray,
    size: Size | None = None,
) -> Level:
    """One random level. `max_clutter` itself is never reached, as in the released code.

    It may be smaller than its arrays are.
    """
    key_cells, key_count, key_kind = jax.random.split(key, 3)
    cells = height * width
    order = jax.random.permutation(key_cells, cells)
    rank = jnp.argsort(order)  # each cell's place in a random order: 0 the goal, 1 the start
    rows, columns = (height, width) if size is None else size
    cell = jnp.arange(cells)
    is_inside = (cell // width < rows) & (cell % width < columns)
    order = jnp.argsort(jnp.where(is_inside, rank, cells + rank))  # cells outside come last
    rank = jnp.argsort(order)
    count = jax.random.randint(key_count, (), 0, max_clutter)
    kind = jax.random.choice(key_kind, jnp.array([WALL, LAVA, MOSS], jnp.uint8), (cells,))
    has_clutter = (rank >= 2) & (rank < 2 + count)
    tiles = jnp.where(has_clutter, kind, jnp.uint8(EMPTY))
    tiles = jnp.where(is_inside, tiles, jnp.uint8(OUTSIDE)).reshape(height, width)
    goal, start = order[0], order[1]
    return Level(
        tiles,
        jnp.stack([goal // width, goal % width]).astype(jnp.int32),
        jnp.stack([start // width, start % width]).astype(jnp.int32),
        jnp.asarray(ANY_HEADING, jnp.int8),
    )


RANDOM = Generator(random_rooms, settings=RandomConfig())
EMPTY_ROOMS = Generator(empty_rooms)
