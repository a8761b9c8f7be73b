"""Whether a model knows its dataset by heart: how much of what it makes is copied."""

import numpy as np
from jaxtyping import Bool, Float, UInt8
from numpy.lib.stride_tricks import sliding_window_view

from dred.tasks.gridworld.generators.quality import pictures
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import OUTSIDE, Level


def copied_windows(levels: Level, dataset: LevelDataset, size: int) -> Float[np.ndarray, " level"]:
    """Return for each level the share of its windows of size×size cells that the dataset has, too.

    Small windows are alike by chance, and by the rules of the process that made the dataset. So
    compare the mean with that of fresh levels: more is memory. Levels may have other sizes.
    """
    ours, theirs = windows_of(levels, size), windows_of(dataset.levels, size)
    known = np.unique(as_keys(theirs.reshape(-1, size * size)))
    is_known: Bool[np.ndarray, " window"] = np.isin(as_keys(ours.reshape(-1, size * size)), known)
    is_whole = (ours != OUTSIDE).all(axis=-1)  # of a level's own cells, padding left out
    return np.mean(is_known.reshape(len(ours), -1), axis=1, where=is_whole)


def windows_of(levels: Level, size: int) -> UInt8[np.ndarray, "level window cell"]:
    """Return all windows of size×size cells of each level, start and goal included."""
    count, height, width = levels.tiles.shape
    if not 1 <= size <= min(height, width):
        raise ValueError(f"size (={size}) must be at least 1 and at most the side of a level.")
    cells = pictures(levels, (height, width)).reshape(count, height, width)
    found = sliding_window_view(cells, (size, size), axis=(1, 2))
    return found.reshape(count, -1, size * size)


def as_keys(windows: UInt8[np.ndarray, "window cell"]) -> np.ndarray:
    """Return each window as one value that can be compared."""
    whole = np.ascontiguousarray(windows)
    return whole.view(np.dtype((np.void, whole.shape[1]))).ravel()
