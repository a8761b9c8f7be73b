"""Random inputs for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dred.levels import EMPTY, Level, make_level

# A JAX program is compiled for each size, which takes longer than all else in a test.
FEW_SIZES = ((1, 2), (1, 9), (9, 2), (4, 3), (8, 9))


@st.composite
def levels(draw, max_side: int = 9, sizes: tuple[tuple[int, int], ...] = ()) -> Level:
    """Any proper level, solvable or not; of any size up to the largest, or of those given."""
    any_size = st.tuples(st.integers(1, max_side), st.integers(2, max_side))
    height, width = draw(st.sampled_from(sizes) if sizes else any_size)
    tiles = draw(hnp.arrays(np.uint8, (height, width), elements=st.integers(0, 3)))
    cells = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    goal, start = draw(st.lists(cells, min_size=2, max_size=2, unique=True))
    tiles[goal] = tiles[start] = EMPTY
    return make_level(tiles, goal, start, draw(st.integers(-1, 3)))


def lists_of_sizes(elements, *sizes: int):
    """Lists of a few sizes, as a JAX program is compiled for each."""
    return st.sampled_from(sizes).flatmap(
        lambda size: st.lists(elements, min_size=size, max_size=size)
    )


def floors(max_side: int = 9):
    """Any layout, as a mask of its floor."""
    sides = st.integers(2, max_side)
    return st.tuples(sides, sides).flatmap(lambda shape: hnp.arrays(np.bool_, shape))
