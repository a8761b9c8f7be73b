import numpy as np
import pytest
from hypothesis import given

from dred.errors import DatasetError
from dred.levels import EMPTY, LAVA, MOSS, WALL, from_text, to_text
from tests.strategies import levels

DRAWING = """
>.#
,~G
"""


def test_a_drawing_reads_top_to_bottom_and_left_to_right():
    level = from_text(DRAWING)
    assert level.tiles.tolist() == [[EMPTY, EMPTY, WALL], [MOSS, LAVA, EMPTY]]
    assert level.tiles.dtype == np.uint8
    assert level.goal.tolist() == [1, 2]
    assert level.start.tolist() == [0, 0]
    assert level.heading == 0


@pytest.mark.parametrize(("symbol", "heading"), [("S", -1), (">", 0), ("v", 1), ("<", 2), ("^", 3)])
def test_each_start_symbol_has_its_heading(symbol, heading):
    assert from_text(f"{symbol}G").heading == heading


@given(level=levels())
def test_every_level_survives_being_drawn_and_read(level):
    assert from_text(to_text(level)) == level


def test_an_indented_drawing_reads_the_same():
    assert from_text("    S.\n    .G\n") == from_text("S.\n.G")


@pytest.mark.parametrize(
    ("drawing", "place", "what"),
    [
        ("S.\n.x\n", "Line 2, column 2", "'x' is not a tile"),
        ("S.G\n..\n", "Line 2, column 3", "this row has 2 cells, the first row has 3"),
        ("S.G\n....\n", "Line 2, column 4", "this row has 4 cells, the first row has 3"),
        ("SG\nG.\n", "Line 2, column 1", "a second goal"),
        ("SG\n.v\n", "Line 2, column 2", "a second start"),
        ("..\n.S\n", "Lines 1 to 2", "no goal"),
        ("\n\n..\n.G\n", "Lines 3 to 4", "no start"),
        ("S.\n\n.G\n", "Line 2", "blank line inside"),
        ("   \n", "The drawing is empty", "Draw one row"),
        ("S G", "Line 1, column 2", "' ' is not a tile"),
    ],
)
def test_a_bad_drawing_is_an_error_that_names_the_place(drawing, place, what):
    with pytest.raises(DatasetError) as error:
        from_text(drawing)
    assert place in str(error.value)
    assert what in str(error.value)
