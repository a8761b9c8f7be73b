"""Domain randomisation: empty rooms with random clutter.

The goal and the start go to two random cells; then n tiles, n uniform below a limit, each a wall,
lava or moss with equal chance, go to cells that are still empty. Nothing makes sure that the goal
can be reached.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from dred.config import need_one
from dred.task import Generator, GeneratorInput, NoSettings
from dred.tasks.gridworld.levels.level import ANY_HEADING, EMPTY, LAVA, MOSS, WALL, Level


@dataclass(frozen=True)
class RandomConfig:
    """How random rooms are filled."""

    max_clutter: int = 60
    """Fewer tiles than this are put into an empty room."""

    def __post_init__(self) -> None:
        need_one(self, "max_clutter")


def random_rooms(given: GeneratorInput, settings: RandomConfig, key: PRNGKeyArray) -> Level:
    """Return rooms with random clutter, as large as the levels of the dataset."""
    return rooms(given, settings.max_clutter, key)


def empty_rooms(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Level:
    """Return rooms with nothing but a start and a goal."""
    del settings
    return rooms(given, 1, key)


def rooms(given: GeneratorInput, max_clutter: int, key: PRNGKeyArray) -> Level:
    """Return a random level in place of every parent."""
    count, height, width = given.parents.tiles.shape
    keys = jax.random.split(key, count)
    return jax.vmap(lambda key: random_level(height, width, max_clutter=max_clutter, key=key))(keys)


def random_level(height: int, width: int, *, max_clutter: int, key: PRNGKeyArray) -> Level:
    """One random level. `max_clutter` itself is never reached, as in the released code."""
    key_cells, key_count, key_kind = jax.random.split(key, 3)
    cells = height * width
    order = jax.random.permutation(key_cells, cells)
    rank = jnp.argsort(order)  # each cell's place in a random order: 0 the goal, 1 the start
    count = jax.random.randint(key_count, (), 0, max_clutter)
    kind = jax.random.choice(key_kind, jnp.array([WALL, LAVA, MOSS], jnp.uint8), (cells,))
    has_clutter = (rank >= 2) & (rank < 2 + count)
    tiles = jnp.where(has_clutter, kind, jnp.uint8(EMPTY)).reshape(height, width)
    goal, start = order[0], order[1]
    return Level(
        tiles,
        jnp.stack([goal // width, goal % width]).astype(jnp.int32),
        jnp.stack([start // width, start % width]).astype(jnp.int32),
        jnp.asarray(ANY_HEADING, jnp.int8),
    )


RANDOM = Generator(random_rooms, settings=RandomConfig())
EMPTY_ROOMS = Generator(empty_rooms)
