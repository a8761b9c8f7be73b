"""What a level is, and when it is a proper one."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Integer, UInt8
from numpy.typing import NDArray

from dred.errors import DatasetError

EMPTY, WALL, LAVA, MOSS = range(4)
OUTSIDE = 4  # not a tile of a level, but room beside a small one in a batch with larger ones
AnyArray = Any  # NumPy's or JAX's
ANY_HEADING = -1


class Level(NamedTuple):
    """One level: its tiles without the surrounding wall, and where the agent starts and must go.

    A named tuple of arrays, so JAX takes it as a pytree although this module does not need JAX;
    with a leading axis on every field it is a batch of levels. Row 0, column 0 is the top left.

    A batch has one height and width. Smaller levels in it stand at the top left, and the cells
    below and to the right of them are OUTSIDE: no part of the level, which is the same with any
    such padding. It is played as the wall that surrounds every level.
    """

    tiles: AnyArray  # uint8 [*batch, height, width]: EMPTY, WALL, LAVA or MOSS, and OUTSIDE
    goal: AnyArray  # int32 [*batch, 2]: row, column
    start: AnyArray  # int32 [*batch, 2]: row, column
    heading: AnyArray  # int8 [*batch]: 0 right, 1 down, 2 left, 3 up; −1 drawn anew each episode

    def __eq__(self, other: object) -> bool:
        """Two levels are equal if all their parts are; padding does not count."""
        if not isinstance(other, Level):
            return NotImplemented
        parts = zip(cropped(self), cropped(other), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in parts)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def size_words(shape: tuple[int, int]) -> str:
    """Return the size of levels in words: as they are drawn, and with the wall around them."""
    height, width = shape
    return f"{height}×{width} cells inside ({height + 2}×{width + 2} with the wall around)"


def own_sizes(tiles: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the height and width of a level, or of each of a batch, without padding."""
    inside = tiles != OUTSIDE
    return inside[..., 0].sum(-1), inside[..., 0, :].sum(-1)


def has_outside(tiles: AnyArray) -> bool:
    """Return whether any level is padded."""
    return bool((np.asarray(tiles) == OUTSIDE).any())


def is_well_padded(
    tiles: UInt8[np.ndarray, "batch height width"],
) -> Bool[np.ndarray, " batch"]:
    """Return which levels are a rectangle at the top left, with nothing but padding around."""
    if not has_outside(tiles):
        return np.ones(len(tiles), np.bool_)
    heights, widths = own_sizes(tiles)
    in_rows = np.arange(tiles.shape[1]) < heights[:, None]
    in_columns = np.arange(tiles.shape[2]) < widths[:, None]
    inside = in_rows[:, :, None] & in_columns[:, None, :]
    return ((tiles != OUTSIDE) == inside).all(axis=(1, 2)) & (heights > 0) & (widths > 0)


def cropped(level: Level) -> Level:
    """Return a level without padding; a batch, without what none of its levels needs."""
    tiles = np.asarray(level.tiles)
    if not has_outside(tiles):
        return level
    inside = np.argwhere((tiles != OUTSIDE).reshape(-1, *tiles.shape[-2:]).any(axis=0))
    height, width = inside.max(axis=0) + 1 if len(inside) else tiles.shape[-2:]
    return level._replace(tiles=np.ascontiguousarray(tiles[..., :height, :width]))


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
    found: dict[str, NDArray[np.bool_]] = {
        "a tile number is not 0 (empty), 1 (wall), 2 (lava) or 3 (moss)": np.any(
            levels.tiles > OUTSIDE, axis=(1, 2)
        ),
        "its padding (tile number 4) is not all below and to the right of one rectangle": (
            ~is_well_padded(levels.tiles)
        ),
        "the heading is not 0 (right), 1 (down), 2 (left), 3 (up) or -1 (any)": (
            (levels.heading < ANY_HEADING) | (levels.heading > 3)
        ),
        "the start and the goal are the same cell": np.all(levels.start == levels.goal, axis=1),
    }
    rows = np.arange(len(levels.tiles))
    for what, where in (("goal", levels.goal), ("start", levels.start)):
        outside = is_outside(levels.tiles, where)
        safe = np.where(outside[:, None], 0, where)
        tile = levels.tiles[rows, safe[:, 0], safe[:, 1]]
        found[f"the {what} is outside the grid"] = outside
        found[f"the {what} is on a wall or in lava"] = ~outside & ((tile == WALL) | (tile == LAVA))
        found[f"there is moss under the {what}, where the tile must be 0 (empty)"] = ~outside & (
            tile == MOSS
        )
    return found


def is_outside(
    tiles: UInt8[np.ndarray, "batch height width"], where: Integer[np.ndarray, "batch 2"]
) -> Bool[np.ndarray, " batch"]:
    """Return which of these places, one of each level, do not lie in their level."""
    size = np.stack(own_sizes(tiles), axis=-1) if has_outside(tiles) else tiles.shape[1:]
    return np.any((where < 0) | (where >= size), axis=1)


def for_compiled(levels: Level) -> Level:
    """A batch as compiled code wants it: plain arrays of the stored types, all places inside.

    Compiled code does not check its indices, so this must.
    """
    tiles, goal, start = (
        np.ascontiguousarray(part, dtype)
        for part, dtype in zip(levels[:3], (np.uint8, np.int32, np.int32), strict=True)
    )
    if not (well_padded := is_well_padded(tiles)).all():
        raise DatasetError(
            f"Level {int(well_padded.argmin())} is padded (tile number 4) otherwise than below "
            "and to the right of one rectangle. Repair or drop such levels."
        )
    for what, where in (("goal", goal), ("start", start)):
        outside = is_outside(tiles, where)
        if outside.any():
            index = int(outside.argmax())
            height, width = (int(size) for size in own_sizes(tiles[index]))
            raise DatasetError(
                f"Level {index} has its {what} at row {where[index, 0]}, column {where[index, 1]}, "
                f"outside its {height}×{width} cells. Repair or drop such levels."
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
