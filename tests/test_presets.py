"""The five level sets of the paper and the one for validation, as they come out."""

import itertools

import numpy as np
import pytest

from dred.levels import level_metrics, make
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.level import faults
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.presets import EDGE_STRUCTURES, LEVEL_SETS, TRAINING_STRUCTURES


@pytest.fixture(scope="module")
def sets():
    small = {"cave-escape-hardcore": {"count": 36}}  # the whole set takes some seconds
    return {name: make(name, **small.get(name, {})) for name in LEVEL_SETS}


def test_sizes_and_structures_are_those_of_the_paper():
    sizes = {name: (config.count, config.size) for name, config in LEVEL_SETS.items()}
    assert sizes == {
        "cave-escape-train": (512, 15),
        "cave-escape-test": (2048, 15),
        "cave-escape-edge-moss": (224, 15),
        "cave-escape-edge-lava": (224, 15),
        "cave-escape-hardcore": (216, 45),
        "cave-escape-validation": (512, 15),
    }
    assert LEVEL_SETS["cave-escape-train"].structures == TRAINING_STRUCTURES
    assert LEVEL_SETS["cave-escape-test"].structures == TRAINING_STRUCTURES
    assert LEVEL_SETS["cave-escape-validation"].structures == TRAINING_STRUCTURES
    assert LEVEL_SETS["cave-escape-edge-moss"].structures == EDGE_STRUCTURES
    assert LEVEL_SETS["cave-escape-edge-lava"].structures == EDGE_STRUCTURES
    assert len(set(LEVEL_SETS["cave-escape-hardcore"].structures)) == 18


def test_all_levels_are_proper_solvable_and_different(sets):
    for name, dataset in sets.items():
        assert not any(broken.any() for broken in faults(dataset.levels).values()), name
        assert solvable(dataset.levels).all(), name
        assert not repeated_levels(dataset).any(), name
        counts = [(dataset.structure == s).sum() for s in dataset.structures]
        assert len(set(counts)) == 1, name


def contents(dataset):
    return {
        level.tiles.tobytes() + level.goal.tobytes() + level.start.tobytes() for level in dataset
    }


def test_no_level_is_in_two_sets(sets):
    for first, second in itertools.combinations(sets.values(), 2):
        assert not contents(first) & contents(second)


def test_validation_levels_differ_from_all_others_even_with_other_seeds(sets):
    validation = sets["cave-escape-validation"]
    others = [name for name in LEVEL_SETS if name != "cave-escape-validation"]
    same_size = [name for name in others if LEVEL_SETS[name].size == validation.shape[0] + 2]
    assert len(same_size) == 4
    parts = {name: LEVEL_SETS[name].part for name in same_size}
    assert LEVEL_SETS["cave-escape-validation"].part not in parts.values()
    for name in same_size:
        another = make(name, seed=1, count=224)
        assert not contents(validation) & contents(another), name


def test_moss_is_nearer_and_lava_farther_than_chance(sets):
    for name, dataset in sets.items():
        metrics = level_metrics(dataset.levels)
        # 5 % of fewer than 20 cells is no moss at all; some layouts of the edge sets are so small.
        can_have_moss = metrics.navigable > (20 if "edge" in name else 0)
        assert (metrics.moss_correlation[can_have_moss] < 0).mean() >= 0.99, name
        assert (metrics.lava_correlation > 0).mean() >= 0.99, name


# navigable cells, start–goal distance, moss density, lava density, as measured on levels of the
# published generator
PUBLISHED = {
    "obstacles_hogs3": (125.5, 9.7, 0.170, 0.157),
    "maze_wall": (97.2, 9.6, 0.169, 0.159),
    "maze_paths": (58.0, 10.9, 0.162, 0.173),
    "rooms_office": (86.9, 8.6, 0.169, 0.153),
}


@pytest.mark.parametrize("structure", PUBLISHED)
def test_training_levels_are_like_the_published_ones(sets, structure):
    dataset = sets["cave-escape-train"]
    metrics = level_metrics(dataset[dataset.structure == structure].levels)
    navigable, path, moss, lava = PUBLISHED[structure]
    assert metrics.navigable.mean() == pytest.approx(navigable, rel=0.16)
    assert metrics.path.mean() == pytest.approx(path, rel=0.2)
    assert metrics.moss_density.mean() == pytest.approx(moss, abs=0.02)
    assert metrics.lava_density.mean() == pytest.approx(lava, abs=0.02)


def test_validation_levels_are_like_the_held_out_ones(sets):
    validation, test = sets["cave-escape-validation"], sets["cave-escape-test"]
    found, expected = level_metrics(validation.levels), level_metrics(test.levels)
    for name in ("navigable", "path", "moss_density", "lava_density"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        error = np.hypot(mine.std() / len(mine) ** 0.5, theirs.std() / len(theirs) ** 0.5)
        assert abs(mine.mean() - theirs.mean()) < 3 * error, name


def test_edge_cases_have_less_moss_and_then_more_lava(sets):
    base = level_metrics(sets["cave-escape-train"].levels)
    faint = level_metrics(sets["cave-escape-edge-moss"].levels)
    dense = level_metrics(sets["cave-escape-edge-lava"].levels)
    assert 2 < base.moss_density.mean() / faint.moss_density.mean() < 5
    assert faint.lava_density.mean() == pytest.approx(base.lava_density.mean(), abs=0.04)
    assert 2 < dense.lava_density.mean() / base.lava_density.mean() < 5
    np.testing.assert_allclose(faint.moss_density.mean(), dense.moss_density.mean(), atol=0.01)


def test_hardcore_is_nine_times_the_area(sets):
    assert sets["cave-escape-hardcore"].shape == (43, 43)
    hard = level_metrics(sets["cave-escape-hardcore"].levels)
    assert hard.path.mean() > 2 * level_metrics(sets["cave-escape-train"].levels).path.mean()
