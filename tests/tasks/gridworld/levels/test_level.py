import numpy as np
import pytest
from hypothesis import given

from dred.levels import EMPTY, MOSS, WALL, Level, from_text, is_valid, make_level, problems
from tests.strategies import levels


@given(level=levels())
def test_proper_levels_have_no_problems(level):
    assert problems(level) == []
    assert is_valid(level)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"goal": (0, 9)}, "the goal is outside the grid"),
        ({"start": (-1, 0)}, "the start is outside the grid"),
        ({"goal": (0, 1)}, "the goal is on a wall or in lava"),
        ({"start": (0, 2)}, "there is moss under the start"),
        ({"start": (1, 2)}, "the start and the goal are the same cell"),
        ({"heading": 4}, "the heading is not"),
    ],
)
def test_a_problem_is_told_in_words(change, reason):
    proper = {"tiles": np.array([[EMPTY, WALL, MOSS], [EMPTY, EMPTY, EMPTY]], np.uint8)}
    level = make_level(**{**proper, "goal": (1, 2), "start": (0, 0), **change})
    assert any(reason in problem for problem in problems(level))


def test_a_heading_of_four_is_not_a_heading():
    # A published maze library accepts heading 4, though headings are 0 to 3.
    level = make_level(np.zeros((1, 2), np.uint8), (0, 0), (0, 1), 4)
    assert not is_valid(level)


def test_unknown_tiles_are_a_problem():
    level = make_level(np.array([[0, 0, 7]], np.uint8), (0, 0), (0, 1))
    assert "a tile number is not" in problems(level)[0]


def test_levels_are_equal_if_all_parts_are():
    level = from_text("S.G")
    assert level == from_text("S.G")
    assert level != from_text("S,G")
    assert level != from_text(">.G")
    assert level != "S.G"


def test_a_level_is_a_tuple_of_arrays_that_jax_can_take_as_a_pytree():
    level = from_text("S.G")
    assert isinstance(level, tuple)
    assert Level._fields == ("tiles", "goal", "start", "heading")
    assert [part.dtype.name for part in level] == ["uint8", "int32", "int32", "int8"]
