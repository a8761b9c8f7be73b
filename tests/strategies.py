"""Random inputs for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dred.levels import EMPTY, Level, make_level


@st.composite
def levels(draw, max_side: int = 9) -> Level:
    """Any proper level, solvable or not."""
    height, width = draw(st.integers(1, max_side)), draw(st.integers(2, max_side))
    tiles = draw(hnp.arrays(np.uint8, (height, width), elements=st.integers(0, 3)))
    cells = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    goal, start = draw(st.lists(cells, min_size=2, max_size=2, unique=True))
    tiles[goal] = tiles[start] = EMPTY
    return make_level(tiles, goal, start, draw(st.integers(-1, 3)))


def floors(max_side: int = 9):
    """Any layout, as a mask of its floor."""
    sides = st.integers(2, max_side)
    return st.tuples(sides, sides).flatmap(lambda shape: hnp.arrays(np.bool_, shape))
