"""Measuring levels, compiled: tile counts, densities, correlations, tile × distance histograms."""

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import compiled
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS
from dred.tasks.gridworld.levels.search import UNREACHABLE, extend_distances, flood

NAVIGABLE, MOSS_DENSITY, LAVA_DENSITY, PATH, MOSS_CORRELATION, LAVA_CORRELATION = range(6)


@compiled
def correlation(marked: NDArray[np.bool_], distance: NDArray[np.float64]) -> float:
    """Point-biserial correlation of having a mark with being far; NaN if either is constant."""
    deviation = distance - distance.mean()
    mark = marked.astype(np.float64)
    mark -= mark.mean()
    scale = np.sqrt((deviation**2).sum() * (mark**2).sum())
    return (deviation * mark).sum() / scale if scale > 0.0 else np.nan


@compiled
def measure_levels(
    tiles: NDArray[np.uint8],
    goal: NDArray[np.int32],
    start: NDArray[np.int32],
    result: NDArray[np.float64],
) -> None:
    """Fill one row of `result` per level, in the order of the names at the top."""
    height, width = tiles.shape[1:]
    queue = np.empty(height * width, np.int32)
    away = np.empty((height, width), np.int32)
    distance = np.empty((height, width), np.int32)
    for index in range(len(tiles)):
        here = tiles[index]
        navigable = (here == EMPTY) | (here == MOSS)
        distance[:] = UNREACHABLE
        flood(navigable, goal[index, 0], goal[index, 1], distance, queue)
        reachable = distance != UNREACHABLE
        path = distance[start[index, 0], start[index, 1]]
        extend_distances(distance, away)
        num_navigable = navigable.sum()
        num_other = navigable.size - num_navigable
        row = result[index]
        row[NAVIGABLE] = num_navigable
        row[MOSS_DENSITY] = (here == MOSS).sum() / num_navigable
        row[LAVA_DENSITY] = (here == LAVA).sum() / num_other if num_other else np.nan
        row[PATH] = path if path != UNREACHABLE else np.nan
        flat = distance.ravel().astype(np.float64)
        kind = here.ravel()
        on_floor = reachable.ravel() & (distance.ravel() > 0)  # the goal itself cannot have moss
        off_floor = ~navigable.ravel()
        row[MOSS_CORRELATION] = correlation(kind[on_floor] == MOSS, flat[on_floor])
        row[LAVA_CORRELATION] = correlation(kind[off_floor] == LAVA, flat[off_floor])


@compiled
def count_tiles(
    tiles: NDArray[np.uint8],
    goal: NDArray[np.int32],
    weight: NDArray[np.float64],
    histogram: NDArray[np.float64],
) -> None:
    """Add each level's joint distribution of tile and distance, by weight, to `histogram`.

    The last column is for cells from which the goal cannot be reached although they are navigable.
    """
    height, width = tiles.shape[1:]
    queue = np.empty(height * width, np.int32)
    away = np.empty((height, width), np.int32)
    distance = np.empty((height, width), np.int32)
    unreachable = histogram.shape[1] - 1
    for index in range(len(tiles)):
        here = tiles[index]
        navigable = (here == EMPTY) | (here == MOSS)
        distance[:] = UNREACHABLE
        flood(navigable, goal[index, 0], goal[index, 1], distance, queue)
        cut_off = navigable & (distance == UNREACHABLE)
        extend_distances(distance, away)
        share = weight[index] / (height * width)
        for row in range(height):
            for column in range(width):
                steps = unreachable if cut_off[row, column] else distance[row, column]
                histogram[here[row, column], steps] += share
