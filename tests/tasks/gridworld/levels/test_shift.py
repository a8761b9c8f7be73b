import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import jensenshannon

from dred.errors import DatasetError
from dred.levels import (
    EMPTY,
    LAVA,
    MOSS,
    WALL,
    from_levels,
    from_text,
    histogram,
    jensen_shannon,
    make,
    shift_between,
)

ONE = from_levels([from_text("S,G#~")])
OTHER = from_levels([from_text("S.G##")])


def test_a_histogram_by_hand():
    # Distances: S 2, moss 1, goal 0, wall 1, lava 2.
    table = histogram(ONE)
    expected = np.zeros((4, 6))
    expected[EMPTY, 2] = expected[EMPTY, 0] = expected[MOSS, 1] = 0.2
    expected[WALL, 1] = expected[LAVA, 2] = 0.2
    np.testing.assert_allclose(table, expected)


def test_cells_that_cannot_reach_the_goal_are_in_the_last_column():
    table = histogram(from_levels([from_text("SG#.")]))
    assert table[EMPTY, -1] == pytest.approx(0.25)
    assert table.sum() == pytest.approx(1.0)


def test_divergence_by_hand():
    assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(1.0)
    assert jensen_shannon(np.array([0.3, 0.7]), np.array([0.3, 0.7])) == 0.0
    # ONE and OTHER agree in three of five cells: m has two cells of 0.2 on each side alone.
    assert shift_between(ONE, OTHER).divergence == pytest.approx(0.4)
    assert shift_between(ONE, OTHER).distance == pytest.approx(np.sqrt(0.4))


@given(
    counts=hnp.arrays(np.float64, (2, 6), elements=st.floats(0, 10)).filter(
        lambda c: (c.sum(axis=1) > 0.1).all()
    )
)
def test_distance_equals_that_of_scipy_in_base_two(counts):
    p, q = counts / counts.sum(axis=1, keepdims=True)
    assert np.sqrt(jensen_shannon(p, q)) == pytest.approx(jensenshannon(p, q, base=2), abs=1e-6)
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p))


def test_weights_choose_levels():
    both = from_levels([from_text("S,G#~"), from_text("S.G##")])
    np.testing.assert_allclose(histogram(both, np.array([3.0, 0.0])), histogram(ONE))
    half = (histogram(ONE) + histogram(OTHER)) / 2
    np.testing.assert_allclose(histogram(both), half)
    assert shift_between(both, OTHER, first_weights=np.array([0.0, 1.0])).distance == 0.0


@pytest.mark.parametrize(
    "weights", [np.array([1.0, 1.0]), np.array([-1.0]), np.array([0.0]), np.array([np.nan])]
)
def test_bad_weights_are_an_error(weights):
    with pytest.raises(DatasetError, match="weights must"):
        histogram(ONE, weights)


def test_sets_of_different_sizes_can_be_compared():
    small, large = from_levels([from_text("S,G#")]), from_levels([from_text("S,G#~#")])
    assert 0 < shift_between(small, large).distance < 1
    # The unreachable column is the last one of each, whatever the size.
    cut = shift_between(from_levels([from_text("SG#.")]), from_levels([from_text("SG#..")]))
    assert cut.distance < 0.3


def test_train_and_test_are_nearer_than_edge_cases():
    train, test = make("cave-escape-train"), make("cave-escape-test", count=512)
    edge = make("cave-escape-edge-lava")
    near, far = shift_between(train, test), shift_between(train, edge)
    assert near.distance < 0.08 < far.distance
