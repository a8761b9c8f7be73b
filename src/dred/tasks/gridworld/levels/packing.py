"""Layouts at a bit a cell, compiled: making them, and furnishing them into levels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dred.tasks.gridworld.levels.compiled import compiled, derive, mix
from dred.tasks.gridworld.levels.placement import (
    CONTRADICTION,
    MADE,
    MAX_LAYOUTS,
    STOPPED,
    TOO_SMALL,
    Made,
    Rules,
    collapse_floor,
    furnish_one,
)
from dred.tasks.gridworld.levels.search import largest_part
from dred.tasks.gridworld.levels.wfc.engine import Board, Tables, new_wave


class MadeLayouts(NamedTuple):
    """Room for a batch of new layouts."""

    floor: NDArray[np.uint8]  # [batch, bytes]: a bit a cell, row by row, set where there is floor
    fingerprint: NDArray[np.uint64]  # [batch]
    outcome: NDArray[np.int32]  # [batch]: MADE, CONTRADICTION, TOO_SMALL or STOPPED


def packed_size(shape: tuple[int, ...]) -> int:
    """Bytes of a layout, at eight cells a byte."""
    return (int(np.prod(shape)) + 7) // 8


def empty_layouts(count: int, shape: tuple[int, ...]) -> MadeLayouts:
    """Room for `count` layouts of this height and width."""
    return MadeLayouts(
        floor=np.empty((count, packed_size(shape)), np.uint8),
        fingerprint=np.empty(count, np.uint64),
        outcome=np.empty(count, np.int32),
    )


@compiled
def pack(floor: NDArray[np.bool_], packed: NDArray[np.uint8]) -> None:
    """Eight cells a byte, the first in the highest bit, as `numpy.packbits` has them."""
    packed[:] = 0
    width = floor.shape[1]
    for cell in range(floor.size):
        if floor[cell // width, cell % width]:
            packed[cell // 8] |= np.uint8(128 >> (cell % 8))


@compiled
def unpack(packed: NDArray[np.uint8], floor: NDArray[np.bool_]) -> None:
    """The floor cells of a packed layout."""
    width = floor.shape[1]
    for cell in range(floor.size):
        floor[cell // width, cell % width] = packed[cell // 8] & np.uint8(128 >> (cell % 8)) != 0


@compiled
def make_layouts(
    tables: Tables,
    board: Board,
    is_wall: NDArray[np.uint8],
    max_attempts: int,
    min_navigable: int,
    stream: np.uint64,
    first: int,
    stop: NDArray[np.bool_],
    made: MadeLayouts,
) -> None:
    """Layouts number `first` and on: those in which `make_levels` puts its levels first."""
    wave = new_wave(board)
    symbols = np.empty((board.height, board.width), np.uint8)
    floor = np.empty((board.height, board.width), np.bool_)
    part = np.empty((board.height, board.width), np.bool_)
    for index in range(len(made.floor)):
        layout_seed = derive(stream, first + index)
        made.outcome[index] = TOO_SMALL
        for tried in range(MAX_LAYOUTS):
            if stop[0]:
                made.outcome[index] = STOPPED
                break
            seed = derive(layout_seed, tried)
            if not collapse_floor(tables, board, is_wall, max_attempts, wave, symbols, seed, floor):
                made.outcome[index] = CONTRADICTION
                break
            if largest_part(floor, part) >= min_navigable:
                pack(floor, made.floor[index])
                number = np.uint64(board.width)
                for byte in made.floor[index]:
                    number = mix(number + np.uint64(byte) + np.uint64(1))
                made.fingerprint[index] = number
                made.outcome[index] = MADE
                break


@compiled
def furnish_layouts(
    packed: NDArray[np.uint8],
    rules: Rules,
    stream: np.uint64,
    first: int,
    stop: NDArray[np.bool_],
    made: Made,
) -> None:
    """Levels number `first` and on, each in the layout of its number, beginning again at the end.

    The random numbers are those of `make_levels`, so a level comes out the same as there if it was
    made in the first layout. Where nothing can be placed, the next layout is taken.
    """
    floor = np.empty(made.tiles.shape[1:], np.bool_)
    part = np.empty(made.tiles.shape[1:], np.bool_)
    for index in range(len(made.tiles)):
        level_seed = derive(stream, first + index)
        made.outcome[index] = TOO_SMALL
        for tried in range(min(MAX_LAYOUTS, len(packed))):
            if stop[0]:
                made.outcome[index] = STOPPED
                break
            unpack(packed[(first + index + tried) % len(packed)], floor)
            seed = derive(derive(level_seed, tried), 1)
            outcome = furnish_one(floor, part, rules, seed, made, index)
            if outcome != TOO_SMALL:
                made.outcome[index] = outcome
            if outcome == MADE:
                break
