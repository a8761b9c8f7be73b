import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from dred.levels import (
    LAVA,
    MOSS,
    densities,
    distance_to_goal,
    extended_distances,
    from_levels,
    from_text,
    is_solvable,
    level_metrics,
)
from dred.tasks.gridworld.levels.level import as_batch, is_navigable
from dred.tasks.gridworld.levels.metrics import summarise_by_structure
from tests.strategies import levels


def test_densities_by_hand():
    # Navigable: S , , . G; of them two moss. Others: # ~ ~ #; of them two lava.
    moss, lava = densities(from_text("S,,.G#~~#"))
    assert (moss, lava) == (pytest.approx(2 / 5), pytest.approx(2 / 4))


def test_path_length_is_from_start_to_goal_and_missing_without_a_way():
    assert level_metrics(as_batch(from_text("S...G"))).path[0] == 4
    assert np.isnan(level_metrics(as_batch(from_text("S#G"))).path[0])


@given(level=levels())
def test_correlations_equal_those_of_scipy(level):
    metrics = level_metrics(as_batch(level))
    distance = extended_distances(as_batch(level))[0]
    navigable = is_navigable(level.tiles)
    reachable = distance_to_goal(level) > 0
    for found, cells, tile in (
        (metrics.moss_correlation[0], reachable, MOSS),
        (metrics.lava_correlation[0], ~navigable, LAVA),
    ):
        marks = level.tiles[cells] == tile
        if marks.any() and not marks.all() and len(set(distance[cells].tolist())) > 1:
            assert found == pytest.approx(stats.pointbiserialr(marks, distance[cells]).statistic)
        else:
            assert np.isnan(found)
    assert np.isfinite(metrics.path[0]) == is_solvable(level)


def test_a_summary_has_a_row_per_structure_and_one_for_all():
    dataset = from_levels(
        [from_text("S.,G#~"), from_text("S..G##"), from_text("SG#..#")], structure=["a", "a", "b"]
    )
    first, second, whole = summarise_by_structure(dataset)
    assert (first.name, first.levels, first.path, first.path_range) == ("a", 2, 3.0, (3, 3))
    assert (second.name, second.navigable, second.smallest) == ("b", 4.0, 4)
    assert (whole.name, whole.levels, whole.solvable) == ("all", 3, 3)
    assert first.resistance == pytest.approx(3.0)


def test_a_level_without_a_way_does_not_spoil_the_averages():
    dataset = from_levels([from_text("S.G"), from_text("S#G")])
    whole = summarise_by_structure(dataset)[-1]
    assert (whole.solvable, whole.path, whole.resistance) == (1, 2.0, pytest.approx(2.0))
