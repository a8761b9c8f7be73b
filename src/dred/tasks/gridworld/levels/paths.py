"""Ways through a level: distances, shortest paths, solvability, resistance."""

from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from dred.tasks.gridworld.levels import search
from dred.tasks.gridworld.levels.level import (
    OUTSIDE,
    Level,
    as_batch,
    for_compiled,
    is_navigable,
)
from dred.tasks.gridworld.levels.search import UNREACHABLE as UNREACHABLE


def distance_to_goal(level: Level) -> Int[np.ndarray, "height width"]:
    """Steps to the goal from every cell, ignoring turns; −1 where there is no way."""
    return distances_to_goal(as_batch(level))[0]


def distances_to_goal(levels: Level) -> Int[np.ndarray, "batch height width"]:
    """Steps to the goal from every cell of each level of a batch; −1 where there is no way."""
    levels = for_compiled(levels)
    distance = np.empty(levels.tiles.shape, np.int32)
    search.goal_distances(is_navigable(levels.tiles), levels.goal, distance)
    return distance


def extended_distances(levels: Level) -> Int[np.ndarray, "batch height width"]:
    """As `distances_to_goal`, with a distance for walls, lava and cut-off cells too.

    Such a cell is as far as the nearest cell from which the goal can be reached (ties: the one
    nearest to the goal), plus the tiles between the two. See the footnote in the paper's appendix
    "CMDP specification and generation".
    """
    distance = distances_to_goal(levels)
    away = np.empty(distance.shape[1:], np.int32)
    for one in distance:
        search.extend_distances(one, away)
    distance[np.asarray(levels.tiles) == OUTSIDE] = UNREACHABLE
    return distance


def start_distances(levels: Level) -> Int[np.ndarray, " batch"]:
    """Steps from the start to the goal of each level of a batch; −1 where there is no way."""
    batch = np.arange(len(levels.tiles))
    return distances_to_goal(levels)[batch, levels.start[:, 0], levels.start[:, 1]]


def solvable(levels: Level) -> Bool[np.ndarray, " batch"]:
    """Whether the goal can be reached from the start, for each level of a batch."""
    return start_distances(levels) != UNREACHABLE


def is_solvable(level: Level) -> bool:
    """Whether the goal can be reached from the start over navigable cells."""
    return bool(solvable(as_batch(level))[0])


def shortest_path(level: Level) -> list[tuple[int, int]]:
    """Cells (row, column) of one shortest way from start to goal, both included; empty if none."""
    distance = distance_to_goal(level)
    row, column = (int(part) for part in level.start)
    if distance[row, column] == UNREACHABLE:
        return []
    path = [(row, column)]
    while distance[row, column] > 0:
        row, column = next(
            (row + down, column + right)
            for down, right in zip(search.ROW_STEPS, search.COLUMN_STEPS, strict=True)
            if 0 <= row + down < distance.shape[0]
            and 0 <= column + right < distance.shape[1]
            and distance[row + down, column + right] == distance[row, column] - 1
        )
        path.append((row, column))
    return path


def largest_component(
    navigable: Bool[np.ndarray, "height width"],
) -> Bool[np.ndarray, "height width"]:
    """The largest set of navigable cells that are connected side by side."""
    part = np.zeros(navigable.shape, np.bool_)
    search.largest_part(np.ascontiguousarray(navigable), part)
    return part


def resistance_distance(level: Level) -> float:
    """Electrical resistance between start and goal, if each step between cells is one ohm.

    One way of n steps has n ohms; more ways in parallel have fewer. Infinite if there is none.

        R = (e_s − e_g)ᵀ L⁺ (e_s − e_g),   L the Laplacian of the navigation graph
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    reached = distance_to_goal(level) != UNREACHABLE
    if not reached[tuple(level.start)]:
        return float("inf")
    number = np.cumsum(reached).reshape(reached.shape) - 1
    across = reached[:, :-1] & reached[:, 1:]
    along = reached[:-1, :] & reached[1:, :]
    first = np.concatenate([number[:, :-1][across], number[:-1, :][along]])
    second = np.concatenate([number[:, 1:][across], number[1:, :][along]])
    size = int(reached.sum())
    goal, start = int(number[tuple(level.goal)]), int(number[tuple(level.start)])
    degree: Float[np.ndarray, " cells"] = np.bincount(
        np.concatenate([first, second]), minlength=size
    ).astype(np.float64)
    diagonal = np.arange(size)
    rows = np.concatenate([first, second, diagonal])
    columns = np.concatenate([second, first, diagonal])
    values = np.concatenate([-np.ones(2 * len(first)), degree])
    # Ground the goal: without its row and column the matrix is regular, and the voltage at the
    # start for one ampere is the resistance.
    keep = (rows != goal) & (columns != goal)
    shift = rows[keep] > goal, columns[keep] > goal
    places = (rows[keep] - shift[0], columns[keep] - shift[1])
    laplacian = coo_array((values[keep], places), shape=(size - 1, size - 1)).tocsc()
    current = np.zeros(size - 1)
    current[start - (start > goal)] = 1.0
    voltage = np.atleast_1d(cast(NDArray[np.float64], spsolve(laplacian, current)))
    return float(voltage[start - (start > goal)])
