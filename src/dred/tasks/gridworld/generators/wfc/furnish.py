"""Where goal, start, moss and lava lie in the levels of a dataset, counted and drawn, compiled.

A cell's *rank* is its place among others by its distance to the goal: the share of them that are
nearer, equally distant ones halved. It says the same in levels of any size and shape.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import RandomState, compiled, derive, draw, draw_below
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL
from dred.tasks.gridworld.levels.measure import correlation
from dred.tasks.gridworld.levels.placement import collapse_floor
from dred.tasks.gridworld.levels.search import UNREACHABLE, extend_distances, flood, largest_part
from dred.tasks.gridworld.levels.wfc.engine import Board, Tables, new_wave

BINS = 24  # of ranks
ROW_STEPS = (0, 1, 0, -1)
COLUMN_STEPS = (1, 0, -1, 0)
MOSS_SHARE, LAVA_SHARE, START_RANK, MOSS_CORRELATION, LAVA_CORRELATION = range(5)
MAX_LAYOUTS = 1000  # layouts without two connected cells of floor before giving up
MADE, CONTRADICTION, TOO_SMALL = range(3)  # how the making of a level ended


class Habits(NamedTuple):
    """Where things lie in the levels of a catalogue."""

    goal: NDArray[np.float64]  # [5]: weight of a cell by how many of its neighbours are floor
    moss: NDArray[np.float64]  # [BINS]: log-odds of moss on a cell of floor, by its rank
    lava: NDArray[np.float64]  # [BINS]: of lava in place of a wall, by its rank
    levels: NDArray[np.float64]  # [level, 5]: what MOSS_SHARE and the names after it say


class Counts(NamedTuple):
    """What is counted of some levels."""

    goal: NDArray[np.float64]  # [2, 5]: cells of floor, and goals, by neighbours that are floor
    moss: NDArray[np.float64]  # [2, BINS]: cells of floor, and those with moss, by rank
    lava: NDArray[np.float64]  # [2, BINS]: other cells, and those with lava, by rank
    levels: NDArray[np.float64]  # [level, 5]


@compiled
def ranks_of(distance: NDArray[np.int32]) -> NDArray[np.float64]:
    """The rank of each of some cells among them."""
    ordered = np.sort(distance)
    first = np.searchsorted(ordered, distance, side="left")
    last = np.searchsorted(ordered, distance, side="right")
    return 0.5 * (first + last) / max(len(distance), 1)


@compiled
def neighbours_of(floor: NDArray[np.bool_], cell: int) -> int:
    """How many neighbours of a cell are floor."""
    height, width = floor.shape
    count = 0
    for side in range(4):
        row = cell // width + ROW_STEPS[side]
        column = cell % width + COLUMN_STEPS[side]
        if 0 <= row < height and 0 <= column < width and floor[row, column]:
            count += 1
    return count


@compiled
def distances_from(floor: NDArray[np.bool_], goal: int) -> tuple[NDArray[np.int32], int]:
    """The distance of each cell to the goal, of walls too, and how many cells were reached."""
    height, width = floor.shape
    distance = np.full((height, width), UNREACHABLE, np.int32)
    queue = np.empty(height * width, np.int32)
    reached = flood(floor, goal // width, goal % width, distance, queue)
    extend_distances(distance, np.empty((height, width), np.int32))
    return distance, reached


@compiled
def start_candidates(floor: NDArray[np.bool_], goal: int) -> NDArray[np.int64]:
    """The cells from which the goal can be reached, but itself; other floor if there are none."""
    height, width = floor.shape
    distance = np.full((height, width), UNREACHABLE, np.int32)
    queue = np.empty(height * width, np.int32)
    reached = flood(floor, goal // width, goal % width, distance, queue)
    if reached > 1:
        return np.sort(queue[1:reached]).astype(np.int64)
    cells = np.flatnonzero(floor)
    return cells[cells != goal]


@compiled
def count_marks(
    distance: NDArray[np.int32], marked: NDArray[np.bool_], table: NDArray[np.float64]
) -> tuple[float, float]:
    """Count cells and marked ones by rank; the share that is marked, and its correlation."""
    if len(distance) == 0:
        return 0.0, np.nan
    ranks = ranks_of(distance)
    for position in range(len(ranks)):
        place = min(int(ranks[position] * BINS), BINS - 1)
        table[0, place] += 1.0
        table[1, place] += 1.0 if marked[position] else 0.0
    return marked.mean(), correlation(marked, distance.astype(np.float64))


@compiled
def count_levels(
    tiles: NDArray[np.uint8], goal: NDArray[np.int32], start: NDArray[np.int32], counts: Counts
) -> None:
    """Count where things lie in some levels."""
    width = tiles.shape[2]
    for index in range(len(tiles)):
        kind = tiles[index].copy().ravel()
        floor = (tiles[index] == EMPTY) | (tiles[index] == MOSS)
        goal_cell = goal[index, 0] * width + goal[index, 1]
        start_cell = start[index, 0] * width + start[index, 1]
        cells = np.flatnonzero(floor)
        for cell in cells:
            counts.goal[0, neighbours_of(floor, int(cell))] += 1.0
        counts.goal[1, neighbours_of(floor, goal_cell)] += 1.0
        distance, _ = distances_from(floor, goal_cell)
        flat = distance.ravel()
        row = counts.levels[index]
        possible = start_candidates(floor, goal_cell)
        ranks = ranks_of(flat[possible])
        row[START_RANK] = np.nan
        for position in range(len(possible)):
            if possible[position] == start_cell:
                row[START_RANK] = ranks[position]
        free = cells[(cells != goal_cell) & (cells != start_cell)]
        row[MOSS_SHARE], row[MOSS_CORRELATION] = count_marks(
            flat[free], kind[free] == MOSS, counts.moss
        )
        others = np.flatnonzero(~floor)
        row[LAVA_SHARE], row[LAVA_CORRELATION] = count_marks(
            flat[others], kind[others] == LAVA, counts.lava
        )


@compiled
def offset_for(log_odds: NDArray[np.float64], share: float) -> float:
    """What to add to all log-odds so that the mean probability is a share."""
    low, high = -40.0, 40.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if (1.0 / (1.0 + np.exp(-(log_odds + middle)))).mean() < share:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def mark_cells(
    by_rank: NDArray[np.float64],
    distance: NDArray[np.int32],
    share: float,
    aim: float,
    placements: int,
    random: RandomState,
) -> NDArray[np.bool_]:
    """Mark about a share of some cells by their rank; of several tries, that nearest the aim."""
    best = np.zeros(len(distance), np.bool_)
    if len(distance) == 0 or share == 0.0:
        return best
    log_odds = np.empty(len(distance))
    ranks = ranks_of(distance)
    for position in range(len(ranks)):
        log_odds[position] = by_rank[min(int(ranks[position] * BINS), BINS - 1)]
    chance = 1.0 / (1.0 + np.exp(-(log_odds + offset_for(log_odds, share))))
    away = distance.astype(np.float64)
    least = np.inf
    for _ in range(1 if np.isnan(aim) else placements):
        marked = np.empty(len(distance), np.bool_)
        for position in range(len(distance)):
            marked[position] = draw(random) < chance[position]
        found = correlation(marked, away)
        miss = 3.0 if np.isnan(found) or np.isnan(aim) else abs(found - aim)
        if miss < least:
            least = miss
            best[:] = marked
    return best


@compiled
def draw_goal(floor: NDArray[np.bool_], weight: NDArray[np.float64], random: RandomState) -> int:
    """A cell of floor, by how many of its neighbours are floor."""
    cells = np.flatnonzero(floor)
    until = np.empty(len(cells))
    total = 0.0
    for position in range(len(cells)):
        total += weight[neighbours_of(floor, cells[position])]
        until[position] = total
    place = np.searchsorted(until, draw(random) * total, side="right")
    return cells[min(int(place), len(cells) - 1)]


@compiled
def draw_start(
    possible: NDArray[np.int64], distance: NDArray[np.int32], aim: float, random: RandomState
) -> int:
    """A cell whose rank is as near the aim as there is one; any if there is no aim."""
    if np.isnan(aim):
        return possible[draw_below(random, len(possible))]
    miss = np.abs(ranks_of(distance[possible]) - aim)
    nearest = possible[miss <= miss.min() + 1e-9]
    return nearest[draw_below(random, len(nearest))]


@compiled
def furnish(
    floor: NDArray[np.bool_],
    habits: Habits,
    placements: int,
    random: RandomState,
    tiles: NDArray[np.uint8],
    goal: NDArray[np.int32],
    start: NDArray[np.int32],
) -> None:
    """Put goal, start, moss and lava into a layout, in numbers as in a random level."""
    width = floor.shape[1]
    like = habits.levels[draw_below(random, len(habits.levels))]
    goal_cell = draw_goal(floor, habits.goal, random)
    distance = distances_from(floor, goal_cell)[0].ravel()
    start_cell = draw_start(start_candidates(floor, goal_cell), distance, like[START_RANK], random)
    goal[0], goal[1] = goal_cell // width, goal_cell % width
    start[0], start[1] = start_cell // width, start_cell % width
    kind = np.full(floor.size, WALL, np.uint8)
    cells = np.flatnonzero(floor)
    kind[cells] = EMPTY
    free = cells[(cells != goal_cell) & (cells != start_cell)]
    moss = mark_cells(
        habits.moss, distance[free], like[MOSS_SHARE], like[MOSS_CORRELATION], placements, random
    )
    kind[free[moss]] = MOSS
    others = np.flatnonzero(~floor)
    lava = mark_cells(
        habits.lava, distance[others], like[LAVA_SHARE], like[LAVA_CORRELATION], placements, random
    )
    kind[others[lava]] = LAVA
    tiles[:] = kind.reshape(floor.shape)


@compiled
def draw_levels(
    tables: Tables,
    board: Board,
    max_attempts: int,
    habits: Habits,
    connected: bool,
    placements: int,
    seeds: NDArray[np.uint64],
    tiles: NDArray[np.uint8],
    goal: NDArray[np.int32],
    start: NDArray[np.int32],
    outcome: NDArray[np.int32],
) -> None:
    """Draw a level for each seed: a layout, of which perhaps the largest part stays, furnished."""
    wave = new_wave(board)
    is_wall = np.array([0, 1], np.uint8)
    symbols = np.empty((board.height, board.width), np.uint8)
    floor = np.empty((board.height, board.width), np.bool_)
    part = np.empty((board.height, board.width), np.bool_)
    for index in range(len(seeds)):
        outcome[index] = TOO_SMALL
        for tried in range(MAX_LAYOUTS):
            seed = derive(seeds[index], tried)
            if not collapse_floor(tables, board, is_wall, max_attempts, wave, symbols, seed, floor):
                outcome[index] = CONTRADICTION
                break
            if connected:
                largest_part(floor, part)
                floor[:] = part
            if floor.sum() >= 2:
                random = np.array([derive(seed, 1)], np.uint64)
                furnish(floor, habits, placements, random, tiles[index], goal[index], start[index])
                outcome[index] = MADE
                break


@compiled
def choose_catalogues(seeds: NDArray[np.uint64], until: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which catalogue each seed draws from, given the shares added up."""
    chosen = np.empty(len(seeds), np.int64)
    for index in range(len(seeds)):
        random = np.array([derive(seeds[index], -1)], np.uint64)
        chosen[index] = min(
            np.searchsorted(until, draw(random) * until[-1], side="right"), len(until) - 1
        )
    return chosen


@compiled
def seeds_for(seed: np.uint64, count: int) -> NDArray[np.uint64]:
    """A seed for each of so many levels."""
    seeds = np.empty(count, np.uint64)
    for index in range(count):
        seeds[index] = derive(seed, index)
    return seeds
