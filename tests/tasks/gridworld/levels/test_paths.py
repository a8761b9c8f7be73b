import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from scipy import ndimage

from dred.errors import DatasetError
from dred.levels import (
    Level,
    distance_to_goal,
    extended_distances,
    from_text,
    is_solvable,
    largest_component,
    level_metrics,
    make_level,
    resistance_distance,
    shortest_path,
)
from dred.tasks.gridworld.levels.level import as_batch
from tests.oracles import grids
from tests.strategies import floors, levels

RING = from_text("""
...
S#G
...
""")


def test_distance_counts_steps_round_walls_and_lava():
    level = from_text("""
    S.~G
    .#~.
    ....
    """)
    assert distance_to_goal(level).tolist() == [[7, 8, -1, 0], [6, -1, -1, 1], [5, 4, 3, 2]]


@given(level=levels())
def test_distances_equal_those_of_networkx(level):
    np.testing.assert_array_equal(distance_to_goal(level), grids.distances(level))


@given(level=levels())
def test_walls_are_as_far_as_their_nearest_reachable_cell_plus_the_tiles_between(level):
    found = extended_distances(as_batch(level))[0]
    np.testing.assert_array_equal(found, grids.extended(level))


def test_of_equally_near_cells_the_one_nearest_the_goal_counts():
    # The wall has the goal (distance 0) and a far cell (distance 4) beside it: 0 + 1.
    # The published code would instead minimise the sum over all rim cells, whatever their distance.
    level = from_text("""
    G#.
    .#.
    ..S
    """)
    assert extended_distances(as_batch(level))[0][0, 1] == 1


@given(level=levels())
def test_a_level_is_solvable_if_and_only_if_there_is_a_path(level):
    path = shortest_path(level)
    steps = distance_to_goal(level)[tuple(level.start)]
    assert is_solvable(level) == (steps >= 0) == bool(path)
    if path:
        assert len(path) == steps + 1
        assert path[0] == tuple(level.start)
        assert path[-1] == tuple(level.goal)
        assert all(distance_to_goal(level)[cell] >= 0 for cell in path)
        assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(path))


@given(floor=floors())
def test_the_largest_component_is_the_largest_that_labelling_finds(floor):
    part = largest_component(floor)
    labels, count = ndimage.label(floor)
    sizes = np.bincount(labels.ravel())[1:]
    assert part.sum() == (sizes.max() if count else 0)
    if count:
        assert len(set(labels[part].tolist())) == 1
        assert not (part & ~floor).any()


def test_two_ways_of_four_steps_resist_as_much_as_two_steps():
    assert resistance_distance(RING) == pytest.approx(2.0)


def test_one_way_resists_by_its_length():
    assert resistance_distance(from_text("S....G")) == pytest.approx(5.0)


def test_no_way_resists_for_ever():
    assert math.isinf(resistance_distance(from_text("S#G")))


@given(level=levels(max_side=6))
def test_resistance_equals_the_pseudo_inverse_formula(level):
    if is_solvable(level):
        assert resistance_distance(level) == pytest.approx(grids.resistance(level))


@pytest.mark.parametrize("place", [(5, 0), (0, -1), (90_000_000, 0)])
def test_places_outside_the_grid_are_an_error_and_not_a_crash(place):
    # Compiled code does not check indices: a goal far outside once ended the whole process.
    tiles = np.zeros((5, 5), np.uint8)
    for level in (make_level(tiles, place, (0, 0)), make_level(tiles, (0, 0), place)):
        with pytest.raises(DatasetError, match="outside its 5×5 cells"):
            is_solvable(level)
        with pytest.raises(DatasetError, match="outside its 5×5 cells"):
            level_metrics(as_batch(level))


def test_distances_of_a_batch_are_those_of_its_levels():
    batch = Level(*(np.stack([part, part]) for part in RING))
    assert (extended_distances(batch)[1] == extended_distances(as_batch(RING))[0]).all()
