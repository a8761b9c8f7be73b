"""What a level is, and when it is a proper one."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8
from numpy.typing import NDArray

from dred.errors import DatasetError

EMPTY, WALL, LAVA, MOSS = range(4)
AnyArray = Any  # NumPy's or JAX's
ANY_HEADING = -1


class Level(NamedTuple):
    """One level: its tiles without the surrounding wall, and where the agent starts and must go.

    A named tuple of arrays, so JAX takes it as a pytree although this module does not need JAX;
    with a leading axis on every field it is a batch of levels. Row 0, column 0 is the top left.
    """

    tiles: AnyArray  # uint8 [*batch, height, width]: EMPTY, WALL, LAVA or MOSS
    goal: AnyArray  # int32 [*batch, 2]: row, column
    start: AnyArray  # int32 [*batch, 2]: row, column
    heading: AnyArray  # int8 [*batch]: 0 right, 1 down, 2 left, 3 up; −1 drawn anew each episode

    def __eq__(self, other: object) -> bool:
        """Two levels are equal if all their parts are."""
        if not isinstance(other, Level):
            return NotImplemented
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self, other, strict=True))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def size_words(shape: tuple[int, int]) -> str:
    """Return the size of levels in words: as they are drawn, and with the wall around them."""
    height, width = shape
    return f"{height}×{width} cells inside ({height + 2}×{width + 2} with the wall around)"


def make_level(
    tiles: UInt8[np.ndarray, "height width"],
    goal: tuple[int, int],
    start: tuple[int, int],
    heading: int = ANY_HEADING,
) -> Level:
    """A level from plain numbers."""
    return Level(
        np.asarray(tiles, np.uint8),
        np.asarray(goal, np.int32),
        np.asarray(start, np.int32),
        np.asarray(heading, np.int8),
    )


def is_navigable(
    tiles: UInt8[np.ndarray, "*batch height width"],
) -> Bool[np.ndarray, "*batch height width"]:
    """Where the agent can walk. Walls stop it and lava ends the episode."""
    return (tiles == EMPTY) | (tiles == MOSS)


def faults(levels: Level) -> dict[str, NDArray[np.bool_]]:
    """For each rule of a proper level, in words, which levels of a batch break it."""
    height, width = levels.tiles.shape[1:]
    found: dict[str, NDArray[np.bool_]] = {
        "a tile number is not 0 (empty), 1 (wall), 2 (lava) or 3 (moss)": np.any(
            levels.tiles > MOSS, axis=(1, 2)
        ),
        "the heading is not 0 (right), 1 (down), 2 (left), 3 (up) or -1 (any)": (
            (levels.heading < ANY_HEADING) | (levels.heading > 3)
        ),
        "the start and the goal are the same cell": np.all(levels.start == levels.goal, axis=1),
    }
    rows = np.arange(len(levels.tiles))
    for what, where in (("goal", levels.goal), ("start", levels.start)):
        outside = np.any((where < 0) | (where >= (height, width)), axis=1)
        safe = np.where(outside[:, None], 0, where)
        tile = levels.tiles[rows, safe[:, 0], safe[:, 1]]
        found[f"the {what} is outside the grid"] = outside
        found[f"the {what} is on a wall or in lava"] = ~outside & ((tile == WALL) | (tile == LAVA))
        found[f"there is moss under the {what}, where the tile must be 0 (empty)"] = ~outside & (
            tile == MOSS
        )
    return found


def for_compiled(levels: Level) -> Level:
    """A batch as compiled code wants it: plain arrays of the stored types, all places inside.

    Compiled code does not check its indices, so this must.
    """
    tiles, goal, start = (
        np.ascontiguousarray(part, dtype)
        for part, dtype in zip(levels[:3], (np.uint8, np.int32, np.int32), strict=True)
    )
    for what, where in (("goal", goal), ("start", start)):
        outside = np.any((where < 0) | (where >= tiles.shape[1:]), axis=1)
        if outside.any():
            index = int(outside.argmax())
            raise DatasetError(
                f"Level {index} has its {what} at row {where[index, 0]}, column {where[index, 1]}, "
                f"outside its {tiles.shape[1]}×{tiles.shape[2]} cells. Repair or drop such levels."
            )
    return Level(tiles, goal, start, np.asarray(levels.heading, np.int8))


def as_batch(level: Level) -> Level:
    """A batch that holds just this level."""
    return Level(*(np.asarray(part)[None] for part in level))


def problems(level: Level) -> list[str]:
    """Why this is not a proper level, in words; empty if it is one."""
    return [reason for reason, broken in faults(as_batch(level)).items() if broken[0]]


def is_valid(level: Level) -> bool:
    """Whether this is a proper level: known tiles, start and goal on different empty cells."""
    return not problems(level)
