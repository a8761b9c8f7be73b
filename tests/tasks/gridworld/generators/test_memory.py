"""What of a level is copied from a dataset."""

import numpy as np
import pytest

from dred.levels import from_text, make
from dred.tasks.gridworld.generators.memory import copied_windows
from dred.tasks.gridworld.generators.quality import pictures
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, as_batch


def copied_by_search(levels, dataset, size):
    """The same, window by window."""

    def windows(levels, index):
        height, width = levels.tiles.shape[1:]
        cells = pictures(levels, (height, width))[index].reshape(height, width)
        return [
            cells[row : row + size, column : column + size].tobytes()
            for row in range(height - size + 1)
            for column in range(width - size + 1)
        ]

    known = {w for i in range(len(dataset)) for w in windows(dataset.levels, i)}
    shares = ([window in known for window in windows(levels, i)] for i in range(len(levels.tiles)))
    return np.array([np.mean(share) for share in shares])


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_share_of_copied_windows_is_that_of_a_search(size):
    dataset, others = make("cave-escape-train", count=8), make("cave-escape-validation", count=4)
    larger = make("cave-escape-validation", count=4, size=17)
    for levels in (others.levels, larger.levels):
        found = copied_windows(levels, dataset, size)
        assert np.array_equal(found, copied_by_search(levels, dataset, size))
    assert (copied_windows(dataset.levels, dataset, size) == 1).all()


def test_a_window_with_another_goal_is_not_copied():
    known = from_text("S..\n...\nG..")
    dataset = LevelDataset(*as_batch(known), structure=np.array(["a"]), meta={})
    moved = as_batch(from_text("S..\n...\n..G"))
    assert copied_windows(moved, dataset, 2).tolist() == [0.75]  # all but the goal's
    assert copied_windows(moved, dataset, 3).tolist() == [0.0]


def test_windows_that_do_not_fit_are_refused():
    level = as_batch(from_text("S..\n...\nG.."))
    dataset = LevelDataset(*level, structure=np.array(["a"]), meta={})
    with pytest.raises(ValueError, match=r"size \(=4\) must be"):
        copied_windows(Level(*level), dataset, 4)
