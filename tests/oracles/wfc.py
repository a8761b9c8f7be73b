"""Wave function collapse written slowly and obviously: sets, all pairs, sweeps until still."""

import itertools
import math

import numpy as np

from tests.oracles.randomness import Random

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def windows(array, k, *, periodic):
    """Every K×K window of an array, one by one."""
    height, width = array.shape
    rows = range(height if periodic else height - k + 1)
    columns = range(width if periodic else width - k + 1)
    return [
        tuple(
            int(array[(row + i) % height, (column + j) % width]) for i in range(k) for j in range(k)
        )
        for row in rows
        for column in columns
    ]


def all_outputs(catalogue, k, height, width, num_symbols, *, periodic):
    """Every output whose windows are all in the catalogue, found by trying every output."""
    found = set()
    for symbols in itertools.product(range(num_symbols), repeat=height * width):
        output = np.array(symbols).reshape(height, width)
        if all(window in catalogue for window in windows(output, k, periodic=periodic)):
            found.add(symbols)
    return found


def fits(p, q, down, right):
    """Whether q may stand at this offset from p: they agree wherever they overlap."""
    k = len(p)
    return all(
        p[i][j] == q[i - down][j - right]
        for i in range(k)
        for j in range(k)
        if 0 <= i - down < k and 0 <= j - right < k
    )


def settle(wave, compatible, neighbour):
    """Sweep until nothing changes; False if a cell is left with nothing."""
    changed = True
    while changed:
        changed = False
        for (cell, direction), other in neighbour.items():
            allowed = {
                q for q in wave[other] if any((p, q) in compatible[direction] for p in wave[cell])
            }
            if allowed != wave[other]:
                wave[other] = allowed
                changed = True
    return all(wave.values())


def collapse(patterns, weights, height, width, *, periodic, entropy, seed):
    """One attempt: the output, or None on a contradiction."""
    patterns = [pattern.tolist() for pattern in patterns]
    k = len(patterns[0])
    rows, columns = (height, width) if periodic else (height - k + 1, width - k + 1)
    compatible = [
        {
            (p, q)
            for p in range(len(patterns))
            for q in range(len(patterns))
            if fits(patterns[p], patterns[q], *step)
        }
        for step in STEPS
    ]
    neighbour = {}
    for row, column in itertools.product(range(rows), range(columns)):
        for direction, (down, right) in enumerate(STEPS):
            there = (row + down, column + right)
            if periodic:
                there = (there[0] % rows, there[1] % columns)
            if 0 <= there[0] < rows and 0 <= there[1] < columns:
                neighbour[(row, column), direction] = there
    wave = {
        cell: set(range(len(patterns))) for cell in itertools.product(range(rows), range(columns))
    }
    if not settle(wave, compatible, neighbour):
        return None
    random = Random(seed)
    noise = {cell: 0.1 * random.draw() for cell in wave}

    def disorder(cell):
        if not entropy:
            return len(wave[cell]) + noise[cell]
        total = sum(weights[p] for p in sorted(wave[cell]))
        total_log = sum(weights[p] * math.log(weights[p]) for p in sorted(wave[cell]))
        return math.log(total) - total_log / total + noise[cell]

    while undecided := [cell for cell in wave if len(wave[cell]) > 1]:
        cell = min(undecided, key=disorder)
        threshold = random.draw() * sum(weights[p] for p in sorted(wave[cell]))
        for chosen in sorted(wave[cell]):
            threshold -= weights[chosen]
            if threshold < 0:
                break
        wave[cell] = {chosen}
        if not settle(wave, compatible, neighbour):
            return None
    output = np.zeros((height, width), np.uint8)
    for row, column in itertools.product(range(height), range(width)):
        at = (min(row, rows - 1), min(column, columns - 1))
        (pattern,) = wave[at]
        output[row, column] = patterns[pattern][row - at[0]][column - at[1]]
    return output
