"""Small changes to a level."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dred.generators import GENERATORS
from dred.levels import make
from dred.task import GeneratorInput
from dred.tasks.gridworld.generators.edits import GOAL, START, edit, put
from dred.tasks.gridworld.levels.level import WALL, Level, faults
from tests.strategies import FEW_SIZES
from tests.strategies import levels as any_levels

EDITS = GENERATORS["edits"]


def picture(level):
    """Tiles, with start and goal drawn in."""
    tiles = np.array(level.tiles)
    tiles[tuple(level.goal)] = GOAL
    tiles[tuple(level.start)] = START
    return tiles


@given(any_levels(sizes=FEW_SIZES), st.sampled_from((1, 3, 6)), st.integers(0, 2**31 - 1))
def test_an_edited_level_is_proper(level, num_edits, seed):
    arrays = Level(*(jnp.asarray(part) for part in level))
    child = edit(arrays, num_edits, key=jax.random.key(seed))
    batch = Level(*(np.asarray(part)[None] for part in child))
    assert not [rule for rule, broken in faults(batch).items() if broken.any()]


def test_a_child_differs_from_its_own_parent_in_few_cells():
    # dcd #11: an argsort that was not flattened always edited level 0.
    parents = make("cave-escape-train", count=40, size=15).levels
    arrays = Level(*(jnp.asarray(part) for part in parents))
    children = EDITS.propose(GeneratorInput(arrays, arrays), EDITS.settings, jax.random.key(0))
    differences = []
    for index in range(40):
        own, child = (
            Level(*(np.asarray(p)[index] for p in batch)) for batch in (parents, children)
        )
        differences.append(int((picture(own) != picture(child)).sum()))
    # A moved start or goal changes the cell it leaves, too.
    assert max(differences) <= 2 * EDITS.settings.num_edits + 2
    assert np.mean(differences) > 1
    other = Level(*(np.asarray(p)[0] for p in parents))
    assert (
        np.mean(
            [
                (picture(other) != picture(Level(*(np.asarray(p)[i] for p in children)))).sum()
                for i in range(1, 40)
            ]
        )
        > 20
    )


def test_an_edit_moves_the_goal_and_does_not_copy_it():
    tiles = jnp.zeros(9, jnp.uint8)
    _, goal, start = put(tiles, jnp.int32(0), jnp.int32(8), jnp.int32(4), jnp.int32(GOAL))
    assert (int(goal), int(start)) == (4, 8)
    _, goal, start = put(tiles, jnp.int32(0), jnp.int32(8), jnp.int32(8), jnp.int32(GOAL))
    assert (int(goal), int(start)) == (8, -1)  # the start was there and has to be put elsewhere
    after, goal, _ = put(tiles, jnp.int32(0), jnp.int32(8), jnp.int32(0), jnp.int32(WALL))
    assert int(goal) == -1
    assert int(after[0]) == WALL


def test_empty_rooms_have_nothing_in_them_and_random_ones_have():
    levels = make("cave-escape-train", count=20, size=15).levels
    arrays = Level(*(jnp.asarray(part) for part in levels))
    given, key = GeneratorInput(arrays, arrays), jax.random.key(0)
    empty, random = (
        GENERATORS[name].propose(given, GENERATORS[name].settings, key)
        for name in ("empty", "random")
    )
    assert not np.asarray(empty.tiles).any()
    assert GENERATORS["random"].settings.max_clutter == 60
    assert (np.asarray(random.tiles) > 0).any()
