"""Wave function collapse, overlapping model, compiled.

Every cell of the output starts with all patterns possible. Again and again the least undecided
cell is given one pattern, by weight, and what its neighbours can no longer be is taken away until
nothing changes. A cell left with nothing is a contradiction, and the attempt is given up.

**Why it is fast.** Whether pattern q may stand to the right of p depends only on their overlap: the
right K×(K−1) part of p must equal the left part of q. So patterns are grouped by overlap, and each
cell counts, per direction and overlap, how many of its remaining patterns show that overlap.
Taking a pattern away is four decrements; when a count reaches zero, the neighbour loses the whole
group that needed it. The common AC-4 solver instead decrements one count per *compatible pair*,
some eight times as many for two symbols and K = 3. The result is the same arc-consistent wave.

"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import RandomState, compiled, derive, draw

RIGHT, DOWN, LEFT, UP = range(4)
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # (row, column) of the neighbour in each direction


class Tables(NamedTuple):
    """A pattern catalogue as the solver reads it. P patterns of K×K symbols."""

    patterns: NDArray[np.uint8]  # [P, K, K]
    weight: NDArray[np.float64]  # [P]
    weight_log: NDArray[np.float64]  # [P]: w ln w, for Shannon's entropy
    overlap: NDArray[np.int32]  # [4, P]: the overlap that a pattern shows in each direction
    group_start: NDArray[
        np.int32
    ]  # [4, overlaps + 1]: where each overlap's group begins in `group`
    group: NDArray[np.int32]  # [4, P]: patterns sorted by the overlap they show in each direction


class Board(NamedTuple):
    """The cells to decide for one output size, and the wave that every attempt starts from."""

    height: int  # of the output
    width: int
    rows: int  # of cells to decide: fewer than `height` when the output is bounded
    columns: int
    shannon: bool  # choose the next cell by entropy rather than by the number of patterns left
    neighbour: NDArray[np.int32]  # [cells, 4]: −1 outside
    possible: NDArray[np.uint8]  # [cells, P]: 1 where a pattern may still stand
    remaining: NDArray[np.int32]  # [cells]: how many may
    shown: NDArray[np.int32]  # [cells, 4, overlaps]: how many of them show each overlap


class Wave(NamedTuple):
    """One attempt in progress: the parts of a board that change."""

    possible: NDArray[np.uint8]
    remaining: NDArray[np.int32]
    shown: NDArray[np.int32]
    noise: NDArray[np.float64]  # [cells]: breaks ties between equally undecided cells
    disorder: NDArray[np.float64]  # [cells]: how undecided, as of `measured` patterns left
    measured: NDArray[np.int32]
    pending: NDArray[np.int32]  # stack of (cell, direction, overlap) no longer shown


def group_by_overlap(patterns: NDArray[np.uint8]) -> tuple[NDArray[np.int32], int]:
    """Number the overlaps: the same content has the same number on facing sides.

    Returns the overlap each pattern shows in each direction, and how many there are.
    """
    sides = {
        RIGHT: patterns[:, :, 1:],
        LEFT: patterns[:, :, :-1],
        DOWN: patterns[:, 1:, :],
        UP: patterns[:, :-1, :],
    }
    overlap = np.zeros((4, len(patterns)), np.int32)
    num_overlaps = 1
    for direction, facing in ((RIGHT, LEFT), (DOWN, UP)):
        numbers: dict[bytes, int] = {}
        for side in (direction, facing):
            for index, part in enumerate(sides[side]):
                overlap[side, index] = numbers.setdefault(part.tobytes(), len(numbers))
        num_overlaps = max(num_overlaps, len(numbers))
    return overlap, num_overlaps


def make_tables(patterns: NDArray[np.uint8], weight: NDArray[np.float64]) -> Tables:
    """Prepare a catalogue for the solver; done once per structure."""
    overlap, num_overlaps = group_by_overlap(patterns)
    starts = np.arange(num_overlaps + 1)
    group = np.argsort(overlap, axis=1, kind="stable").astype(np.int32)
    group_start = np.stack(
        [np.searchsorted(overlap[d][group[d]], starts).astype(np.int32) for d in range(4)]
    )
    return Tables(patterns, weight, weight * np.log(weight), overlap, group_start, group)


def make_board(
    tables: Tables, height: int, width: int, *, periodic: bool, shannon: bool
) -> Board | None:
    """The starting wave for one output size, already consistent; None if nothing can stand there.

    A bounded output has one cell for each place where a whole K×K window fits; a periodic one has
    a cell for each output symbol, and windows wrap round.
    """
    num_patterns, pattern_width, _ = tables.patterns.shape
    num_overlaps = tables.group_start.shape[1] - 1
    margin = 0 if periodic else pattern_width - 1
    rows, columns = height - margin, width - margin
    neighbour = np.full((rows * columns, 4), -1, np.int32)
    for cell in range(rows * columns):
        for direction, (down, right) in enumerate(OFFSETS):
            row, column = cell // columns + down, cell % columns + right
            if periodic:
                row, column = row % rows, column % columns
            if 0 <= row < rows and 0 <= column < columns:
                neighbour[cell, direction] = row * columns + column
    counts = np.stack([np.bincount(tables.overlap[d], minlength=num_overlaps) for d in range(4)])
    cells = rows * columns
    board = Board(
        height=height,
        width=width,
        rows=rows,
        columns=columns,
        shannon=shannon,
        neighbour=neighbour,
        possible=np.ones((cells, num_patterns), np.uint8),
        remaining=np.full(cells, num_patterns, np.int32),
        shown=np.tile(counts.astype(np.int32), (cells, 1, 1)),
    )
    wave = new_wave(board)
    if not settle_start(tables, board, wave):
        return None
    return board._replace(possible=wave.possible, remaining=wave.remaining, shown=wave.shown)


@compiled
def new_wave(board: Board) -> Wave:
    """Room for one attempt, filled with the board's starting wave."""
    cells = len(board.remaining)
    return Wave(
        board.possible.copy(),
        board.remaining.copy(),
        board.shown.copy(),
        np.zeros(cells),
        np.zeros(cells),
        np.zeros(cells, np.int32),
        np.zeros((cells * 4 * board.shown.shape[2] + 1, 3), np.int32),
    )


@compiled
def remove(tables: Tables, wave: Wave, cell: int, pattern: int, top: int) -> int:
    """Take a pattern away from a cell, noting the overlaps it was the last to show."""
    wave.possible[cell, pattern] = 0
    wave.remaining[cell] -= 1
    for direction in range(4):
        overlap = tables.overlap[direction, pattern]
        wave.shown[cell, direction, overlap] -= 1
        if wave.shown[cell, direction, overlap] == 0:
            wave.pending[top, 0] = cell
            wave.pending[top, 1] = direction
            wave.pending[top, 2] = overlap
            top += 1
    return top


@compiled
def propagate(tables: Tables, board: Board, wave: Wave, top: int) -> bool:
    """Work through the noted overlaps until nothing changes; False on a contradiction."""
    while top > 0:
        top -= 1
        cell = wave.pending[top, 0]
        direction = wave.pending[top, 1]
        overlap = wave.pending[top, 2]
        other = board.neighbour[cell, direction]
        if other < 0:
            continue
        facing = (direction + 2) % 4
        first = tables.group_start[facing, overlap]
        last = tables.group_start[facing, overlap + 1]
        for position in range(first, last):
            pattern = tables.group[facing, position]
            if wave.possible[other, pattern]:
                top = remove(tables, wave, int(other), int(pattern), top)
        if wave.remaining[other] == 0:
            return False
    return True


@compiled
def settle_start(tables: Tables, board: Board, wave: Wave) -> bool:
    """Take away what no neighbour supports before anything is decided."""
    for cell in range(len(wave.remaining)):
        for direction in range(4):
            for overlap in range(wave.shown.shape[2]):
                if wave.shown[cell, direction, overlap] == 0:
                    wave.pending[0, 0] = cell
                    wave.pending[0, 1] = direction
                    wave.pending[0, 2] = overlap
                    if not propagate(tables, board, wave, 1):
                        return False
    return True


@compiled
def entropy(tables: Tables, wave: Wave, cell: int) -> float:
    """Shannon's entropy of the patterns left in a cell, by weight."""
    total = 0.0
    total_log = 0.0
    for pattern in range(len(tables.weight)):
        if wave.possible[cell, pattern]:
            total += tables.weight[pattern]
            total_log += tables.weight_log[pattern]
    return np.log(total) - total_log / total


@compiled
def least_undecided(tables: Tables, board: Board, wave: Wave) -> int:
    """The undecided cell to decide next; −1 when all are decided."""
    best = -1
    lowest = np.inf
    for cell in range(len(wave.remaining)):
        left = wave.remaining[cell]
        if left == 1:
            continue
        if wave.measured[cell] != left:
            wave.measured[cell] = left
            disorder = entropy(tables, wave, cell) if board.shannon else float(left)
            wave.disorder[cell] = disorder + wave.noise[cell]
        if wave.disorder[cell] < lowest:
            lowest = wave.disorder[cell]
            best = cell
    return best


@compiled
def choose_pattern(tables: Tables, wave: Wave, cell: int, random: RandomState) -> int:
    """One of the patterns left in a cell, by weight."""
    total = 0.0
    for pattern in range(len(tables.weight)):
        if wave.possible[cell, pattern]:
            total += tables.weight[pattern]
    threshold = draw(random) * total
    chosen = -1
    for pattern in range(len(tables.weight)):
        if wave.possible[cell, pattern]:
            chosen = pattern
            threshold -= tables.weight[pattern]
            if threshold < 0.0:
                break
    return chosen


@compiled
def attempt(tables: Tables, board: Board, wave: Wave, seed: np.uint64) -> bool:
    """Collapse once, into `wave`; False on a contradiction."""
    random = np.array([seed], np.uint64)
    wave.possible[:] = board.possible
    wave.remaining[:] = board.remaining
    wave.shown[:] = board.shown
    wave.measured[:] = 0
    for cell in range(len(wave.noise)):
        wave.noise[cell] = 0.1 * draw(random)
    while True:
        cell = least_undecided(tables, board, wave)
        if cell < 0:
            return True
        chosen = choose_pattern(tables, wave, cell, random)
        top = 0
        for pattern in range(len(tables.weight)):
            if pattern != chosen and wave.possible[cell, pattern]:
                top = remove(tables, wave, cell, pattern, top)
        if not propagate(tables, board, wave, top):
            return False


@compiled
def read_symbols(tables: Tables, board: Board, wave: Wave, output: NDArray[np.uint8]) -> None:
    """Write the symbols of a collapsed wave."""
    for row in range(board.height):
        for column in range(board.width):
            cell_row = min(row, board.rows - 1)
            cell_column = min(column, board.columns - 1)
            possible = wave.possible[cell_row * board.columns + cell_column]
            for pattern in range(len(possible)):
                if possible[pattern]:
                    inside = tables.patterns[pattern]
                    output[row, column] = inside[row - cell_row, column - cell_column]
                    break


@compiled
def collapse(
    tables: Tables,
    board: Board,
    wave: Wave,
    seed: np.uint64,
    max_attempts: int,
    output: NDArray[np.uint8],
) -> int:
    """Collapse into `output`, trying again with derived seeds; attempts made, 0 if all failed."""
    for tried in range(max_attempts):
        if attempt(tables, board, wave, derive(seed, tried)):
            read_symbols(tables, board, wave, output)
            return tried + 1
    return 0


@compiled
def collapse_many(
    tables: Tables,
    board: Board,
    seeds: NDArray[np.uint64],
    max_attempts: int,
    output: NDArray[np.uint8],
    attempts: NDArray[np.int32],
) -> None:
    """One output per seed, into `output[i]`; `attempts[i]` is 0 where none was found."""
    wave = new_wave(board)
    for index in range(len(seeds)):
        attempts[index] = collapse(tables, board, wave, seeds[index], max_attempts, output[index])
