"""Levels from Minigrid's encoding, and borders that are drawn as tiles."""

import numpy as np
from jaxtyping import Integer, UInt8

from dred.errors import DatasetError
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    EMPTY,
    LAVA,
    MOSS,
    WALL,
    Level,
    make_level,
)

MINIGRID_TILES = {1: EMPTY, 2: WALL, 3: MOSS, 9: LAVA, 8: EMPTY, 10: EMPTY}
MINIGRID_GOAL, MINIGRID_AGENT = 8, 10


def from_minigrid(
    encoding: Integer[np.ndarray, "width height channel"], *, keep_heading: bool = False
) -> Level:
    """A level from Minigrid's encoding: [x, y, (object, colour, state)], border included.

    Empty is 1, wall 2, floor 3 (moss here), goal 8, lava 9 and the agent 10. The surrounding wall
    is stripped. The agent's state is its direction; without `keep_heading` the level has any
    heading, since the published level sets store 0 there whatever was meant.
    """
    if encoding.ndim != 3 or encoding.shape[2] != 3:
        raise DatasetError(
            f"a Minigrid encoding has the shape [width, height, 3]; this has {list(encoding.shape)}"
        )
    objects = encoding[:, :, 0].T  # [y, x] = [row, column]
    tiles = np.full(objects.shape, 255, np.uint8)
    for number, tile in MINIGRID_TILES.items():
        tiles[objects == number] = tile
    if (tiles == 255).any():
        row, column = np.argwhere(tiles == 255)[0]
        raise DatasetError(
            f"the object {int(objects[row, column])} at x {column}, y {row} has no counterpart "
            "here (only empty 1, wall 2, floor 3, goal 8, lava 9, agent 10)"
        )
    agents = np.argwhere(objects == MINIGRID_AGENT)
    heading = ANY_HEADING
    if keep_heading and len(agents) == 1:
        heading = int(encoding[agents[0][1], agents[0][0], 2])
        if not 0 <= heading <= 3:
            raise DatasetError(f"the agent's direction is {heading}; Minigrid has 0 to 3")
    level = with_places(tiles, np.argwhere(objects == MINIGRID_GOAL), agents, heading)
    return strip_border(level)


def with_places(
    tiles: UInt8[np.ndarray, "height width"],
    goals: Integer[np.ndarray, "goals 2"],
    starts: Integer[np.ndarray, "starts 2"],
    heading: int,
) -> Level:
    """A level from its tiles and where goals and starts were found, of which there must be one."""
    for what, found in (("goal", goals), ("start", starts)):
        if len(found) != 1:
            hint = (
                ". If a tile has more than one pixel, say so with --cell" if len(found) > 3 else ""
            )
            raise DatasetError(f"it has {len(found)} {what}s; a level has exactly one{hint}")
    (goal_row, goal_column), (start_row, start_column) = goals[0], starts[0]
    return make_level(
        tiles, (int(goal_row), int(goal_column)), (int(start_row), int(start_column)), heading
    )


def strip_border(level: Level) -> Level:
    """The level inside a surrounding wall that is drawn in its tiles."""
    tiles = level.tiles
    if min(tiles.shape) < 3:
        raise DatasetError(
            f"a {tiles.shape[0]}×{tiles.shape[1]} level has nothing inside its border"
        )
    ring = np.ones(tiles.shape, np.bool_)
    ring[1:-1, 1:-1] = False
    if (tiles[ring] != WALL).any():
        row, column = np.argwhere(ring & (tiles != WALL))[0]
        raise DatasetError(
            f"the border is not all wall (row {row}, column {column} is not), so it cannot be "
            "stripped"
        )
    inside = np.ascontiguousarray(tiles[1:-1, 1:-1])
    return Level(inside, level.goal - 1, level.start - 1, level.heading)
