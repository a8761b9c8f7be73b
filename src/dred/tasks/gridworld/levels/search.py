"""Searching grids, compiled: distances, connected parts, and the distance of walls.

All functions write into arrays they are given, so that a batch allocates once.
"""

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import compiled

UNREACHABLE = -1
ROW_STEPS = (0, 1, 0, -1)
COLUMN_STEPS = (1, 0, -1, 0)


@compiled
def flood(
    open_cell: NDArray[np.bool_],
    row: int,
    column: int,
    distance: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> int:
    """Breadth-first steps from one cell over open cells, and how many cells were reached.

    `distance` must be UNREACHABLE wherever the search may go; other cells keep what they have.
    The reached cells stand in `queue` in the order in which they were found.
    """
    height, width = open_cell.shape
    distance[row, column] = 0
    queue[0] = row * width + column
    reached = 1
    done = 0
    while done < reached:
        here_row, here_column = queue[done] // width, queue[done] % width
        done += 1
        for side in range(4):
            next_row = here_row + ROW_STEPS[side]
            next_column = here_column + COLUMN_STEPS[side]
            if (
                0 <= next_row < height
                and 0 <= next_column < width
                and open_cell[next_row, next_column]
                and distance[next_row, next_column] == UNREACHABLE
            ):
                distance[next_row, next_column] = distance[here_row, here_column] + 1
                queue[reached] = next_row * width + next_column
                reached += 1
    return reached


@compiled
def goal_distances(
    open_cell: NDArray[np.bool_], goal: NDArray[np.int32], distance: NDArray[np.int32]
) -> None:
    """Steps to the goal from each cell of each level of a batch."""
    distance[:] = UNREACHABLE
    queue = np.empty(distance[0].size, np.int32)
    for index in range(len(goal)):
        row, column = goal[index]
        if open_cell[index, row, column]:
            flood(open_cell[index], row, column, distance[index], queue)


@compiled
def largest_part(open_cell: NDArray[np.bool_], part: NDArray[np.bool_]) -> int:
    """Mark the largest connected part of the open cells; its size. The first found wins a tie."""
    height, width = open_cell.shape
    distance = np.full((height, width), UNREACHABLE, np.int32)
    queue = np.empty(height * width, np.int32)
    largest = 0
    part[:] = False
    for row in range(height):
        for column in range(width):
            if open_cell[row, column] and distance[row, column] == UNREACHABLE:
                size = flood(open_cell, row, column, distance, queue)
                if size > largest:
                    largest = size
                    part[:] = False
                    for position in range(size):
                        part[queue[position] // width, queue[position] % width] = True
    return largest


@compiled
def extend_distances(distance: NDArray[np.int32], away: NDArray[np.int32]) -> None:
    """Give a distance to the cells that the search did not reach.

    The nearest reached cell counts (by tiles, ignoring walls; of equally near ones that with the
    smallest distance), plus the tiles in between: the definition in the paper's appendix on the
    CMDP. `away` becomes the number of those tiles: 0 for reached cells. Both stay UNREACHABLE if
    nothing was reached at all.

    Works ring by ring: a cell n tiles away has a neighbour n − 1 tiles away from the same cell.
    """
    height, width = distance.shape
    front = np.empty(height * width, np.int32)
    size = 0
    for row in range(height):
        for column in range(width):
            away[row, column] = UNREACHABLE
            if distance[row, column] != UNREACHABLE:
                away[row, column] = 0
                front[size] = row * width + column
                size += 1
    done = 0
    while done < size:
        row, column = front[done] // width, front[done] % width
        done += 1
        for side in range(4):
            next_row = row + ROW_STEPS[side]
            next_column = column + COLUMN_STEPS[side]
            if not (0 <= next_row < height and 0 <= next_column < width):
                continue
            ring = away[row, column] + 1
            if away[next_row, next_column] == UNREACHABLE:
                away[next_row, next_column] = ring
                distance[next_row, next_column] = distance[row, column] + 1
                front[size] = next_row * width + next_column
                size += 1
            elif away[next_row, next_column] == ring:
                through_here = distance[row, column] + 1
                distance[next_row, next_column] = min(distance[next_row, next_column], through_here)
