"""From layout to level, compiled: goal, moss, lava and start, and whole levels in one go."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import (
    RandomState,
    compiled,
    derive,
    draw,
    draw_below,
    mix,
)
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL
from dred.tasks.gridworld.levels.measure import correlation
from dred.tasks.gridworld.levels.search import UNREACHABLE, extend_distances, flood, largest_part
from dred.tasks.gridworld.levels.wfc.engine import Board, Tables, Wave, collapse, new_wave

MAX_LAYOUTS = 1000  # layouts tried for one level before giving up
MAX_PLACEMENTS = 256  # placements tried on one layout before taking another

MADE, CONTRADICTION, TOO_SMALL, NOT_PLACED, STOPPED = range(5)  # how the making of a level ended


class TileRule(NamedTuple):
    """A `TileConfig` as plain numbers."""

    low: float
    high: float
    near_goal: bool
    temperature: float


class Rules(NamedTuple):
    """A `CaveEscapeConfig` as plain numbers, and which part of all levels to keep."""

    moss: TileRule
    lava: TileRule
    lava_depth: int
    min_navigable: int
    only_correlated: bool
    part: int
    parts: int


class Made(NamedTuple):
    """Room for a batch of new levels."""

    tiles: NDArray[np.uint8]  # [batch, height, width]
    goal: NDArray[np.int32]  # [batch, 2]
    start: NDArray[np.int32]  # [batch, 2]
    fingerprint: NDArray[np.uint64]  # [batch]
    outcome: NDArray[np.int32]  # [batch]: MADE, CONTRADICTION, TOO_SMALL, NOT_PLACED or STOPPED


def empty_batch(count: int, shape: tuple[int, ...]) -> Made:
    """Room for `count` levels of this height and width."""
    return Made(
        tiles=np.empty((count, *shape), np.uint8),
        goal=np.empty((count, 2), np.int32),
        start=np.empty((count, 2), np.int32),
        fingerprint=np.empty(count, np.uint64),
        outcome=np.empty(count, np.int32),
    )


@compiled
def draw_by_rank(
    distance: NDArray[np.int32], rule: TileRule, random: RandomState
) -> NDArray[np.int64]:
    """Which of the candidate cells get the tile: positions in `distance`.

    ⌊f·n⌋ of the n cells, f uniform in the rule's range, drawn one after the other without
    replacement with weights k^(−1/T), where k is the rank by distance and ties are ordered at
    random. Drawing so is the same as a race in which cell k arrives at time −ln(u)·k^(1/T) and the
    first arrivals win (Efraimidis & Spirakis 2006); times are compared by their logarithms, which
    stay finite for any T.
    """
    candidates = len(distance)
    fraction = rule.low + (rule.high - rule.low) * draw(random)
    count = int(fraction * candidates)
    order = np.empty(candidates, np.float64)
    for position in range(candidates):
        away = float(distance[position]) if rule.near_goal else -float(distance[position])
        order[position] = away + draw(random)  # distances are whole numbers: only ties are mixed
    ranked = np.argsort(order)
    arrival = np.empty(candidates, np.float64)
    for rank in range(candidates):
        waits = -np.log(1.0 - draw(random)) + 1e-300  # 1e-300: the logarithm of 0 is not finite
        arrival[rank] = np.log(waits) + np.log(rank + 1.0) / rule.temperature
    return ranked[np.argsort(arrival)[:count]]


@compiled
def median_floor(values: NDArray[np.int32]) -> int:
    """The median, rounded down."""
    ordered = np.sort(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) // 2


@compiled
def place(
    part: NDArray[np.bool_],
    rules: Rules,
    random: RandomState,
    tiles: NDArray[np.uint8],
    goal: NDArray[np.int32],
    start: NDArray[np.int32],
) -> bool:
    """Put goal, moss, lava and start into a connected layout, given as its navigable cells.

    True if moss and lava came out on the side of the goal that the rules ask for.
    """
    height, width = part.shape
    cells = np.flatnonzero(part)
    goal_cell = cells[draw_below(random, len(cells))]
    goal[0], goal[1] = goal_cell // width, goal_cell % width
    distance = np.full((height, width), UNREACHABLE, np.int32)
    queue = np.empty(height * width, np.int32)
    reached = flood(part, goal[0], goal[1], distance, queue)
    others = queue[1:reached]  # the navigable cells but the goal
    steps = np.empty(len(others), np.int32)
    for position in range(len(others)):
        steps[position] = distance[others[position] // width, others[position] % width]

    for row in range(height):
        for column in range(width):
            tiles[row, column] = EMPTY if part[row, column] else WALL
    moss = draw_by_rank(steps, rules.moss, random)
    for position in moss:
        tiles[others[position] // width, others[position] % width] = MOSS

    away = np.empty((height, width), np.int32)
    extend_distances(distance, away)
    walls = np.empty(height * width, np.int32)
    wall_distance = np.empty(height * width, np.int32)
    candidates = 0
    for cell in range(height * width):
        row, column = cell // width, cell % width
        near_enough = rules.lava_depth == 0 or away[row, column] <= rules.lava_depth
        if not part[row, column] and near_enough:
            walls[candidates] = cell
            wall_distance[candidates] = distance[row, column]
            candidates += 1
    lava = draw_by_rank(wall_distance[:candidates], rules.lava, random)
    for position in lava:
        tiles[walls[position] // width, walls[position] % width] = LAVA

    at_median = others[steps == median_floor(steps)]
    start_cell = at_median[draw_below(random, len(at_median))]
    start[0], start[1] = start_cell // width, start_cell % width
    tiles[start[0], start[1]] = EMPTY
    moss_follows = len(moss) == 0 or follows(
        rules.moss, tiles, MOSS, others.astype(np.int64), distance
    )
    lava_follows = len(lava) == 0 or follows(
        rules.lava, tiles, LAVA, np.flatnonzero(~part), distance
    )
    return moss_follows and lava_follows


@compiled
def follows(
    rule: TileRule,
    tiles: NDArray[np.uint8],
    tile: int,
    cells: NDArray[np.int64],
    distance: NDArray[np.int32],
) -> bool:
    """Whether a tile is correlated with distance as its rule says; also if it cannot be.

    It cannot be where all cells are alike. (Nor where no such tile was drawn; then nobody asks.)
    """
    width = tiles.shape[1]
    marked = np.empty(len(cells), np.bool_)
    away = np.empty(len(cells), np.float64)
    for position in range(len(cells)):
        row, column = cells[position] // width, cells[position] % width
        marked[position] = tiles[row, column] == tile
        away[position] = distance[row, column]
    found = correlation(marked, away)
    if np.isnan(found):
        return bool(marked.any())  # without any left, the start has taken the only one away
    return found < 0.0 if rule.near_goal else found > 0.0


@compiled
def fingerprint_of(
    tiles: NDArray[np.uint8], goal: NDArray[np.int32], start: NDArray[np.int32]
) -> np.uint64:
    """A number that depends on everything in a level but the heading."""
    width = tiles.shape[1]
    number = derive(
        derive(np.uint64(width), goal[0] * width + goal[1]), start[0] * width + start[1]
    )
    for row in range(tiles.shape[0]):
        for column in range(width):
            number = mix(number + np.uint64(tiles[row, column]) + np.uint64(1))
    return number


@compiled
def place_one(
    part: NDArray[np.bool_], rules: Rules, seed: np.uint64, made: Made, index: int
) -> bool:
    """Place until the level is of the CMDP and in the part to keep; False if it never was."""
    for tried in range(MAX_PLACEMENTS):
        random = np.array([derive(seed, tried)], np.uint64)
        tiles, goal, start = made.tiles[index], made.goal[index], made.start[index]
        follows_rules = place(part, rules, random, tiles, goal, start)
        if rules.only_correlated and not follows_rules:
            continue
        number = fingerprint_of(tiles, goal, start)
        made.fingerprint[index] = number
        if mix(number) % np.uint64(rules.parts) == np.uint64(rules.part):
            return True
    return False


@compiled
def furnish_one(
    floor: NDArray[np.bool_],
    part: NDArray[np.bool_],
    rules: Rules,
    seed: np.uint64,
    made: Made,
    index: int,
) -> int:
    """Keep the largest part of a layout and place everything: MADE, TOO_SMALL or NOT_PLACED."""
    if largest_part(floor, part) < rules.min_navigable:
        return TOO_SMALL
    return MADE if place_one(part, rules, seed, made, index) else NOT_PLACED


@compiled
def collapse_floor(
    tables: Tables,
    board: Board,
    is_wall: NDArray[np.uint8],
    max_attempts: int,
    wave: Wave,
    symbols: NDArray[np.uint8],
    seed: np.uint64,
    floor: NDArray[np.bool_],
) -> bool:
    """Draw a layout, given as its floor cells; False if it ended in contradictions."""
    if collapse(tables, board, wave, derive(seed, 0), max_attempts, symbols) == 0:
        return False
    for row in range(board.height):
        for column in range(board.width):
            floor[row, column] = is_wall[symbols[row, column]] == 0
    return True


@compiled
def make_levels(
    tables: Tables,
    board: Board,
    is_wall: NDArray[np.uint8],
    max_attempts: int,
    rules: Rules,
    stream: np.uint64,
    first: int,
    stop: NDArray[np.bool_],
    made: Made,
) -> None:
    """Levels number `first` and on: collapse a layout, keep its largest part, place everything.

    Ends early once `stop[0]` is set, which another thread may do.
    """
    wave = new_wave(board)
    symbols = np.empty((board.height, board.width), np.uint8)
    floor = np.empty((board.height, board.width), np.bool_)
    part = np.empty((board.height, board.width), np.bool_)
    for index in range(len(made.tiles)):
        level_seed = derive(stream, first + index)
        made.outcome[index] = TOO_SMALL
        for tried in range(MAX_LAYOUTS):
            if stop[0]:
                made.outcome[index] = STOPPED
                break
            seed = derive(level_seed, tried)
            if not collapse_floor(tables, board, is_wall, max_attempts, wave, symbols, seed, floor):
                made.outcome[index] = CONTRADICTION
                break
            outcome = furnish_one(floor, part, rules, derive(seed, 1), made, index)
            if outcome != TOO_SMALL:
                made.outcome[index] = outcome
            if outcome == MADE:
                break
