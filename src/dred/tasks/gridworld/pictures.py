"""Pictures of an agent in a level: one moment, or an episode as a GIF."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, UInt8

from dred.errors import ConfigError
from dred.files import replacing
from dred.reports.kit.pictures import gif_of
from dred.tasks.gridworld.levels.level import Level, cropped, own_sizes
from dred.tasks.gridworld.levels.render import draw_level
from dred.tasks.gridworld.levels.text import START_OF, SYMBOL_OF

Pose = tuple[int, int, int]  # row, column, heading


def seen_cells(
    level: Level, row: int, column: int, heading: int
) -> Bool[np.ndarray, "outer_height outer_width"]:
    """Which cells the agent sees, the surrounding wall included."""
    height, width = (int(side) for side in own_sizes(level.tiles))
    forward = ((0, 1), (1, 0), (0, -1), (-1, 0))[heading]
    sideways = (forward[1], forward[0])
    seen = np.zeros((height + 2, width + 2), np.bool_)
    for ahead in range(5):
        for aside in range(-2, 3):
            y = row + 1 + ahead * forward[0] + aside * sideways[0]
            x = column + 1 + ahead * forward[1] + aside * sideways[1]
            if 0 <= y < height + 2 and 0 <= x < width + 2:
                seen[y, x] = True
    return seen


def draw_agent(
    level: Level, row: int, column: int, heading: int, *, cell: int = 16, show_view: bool = True
) -> UInt8[np.ndarray, "height width 3"]:
    """A level with the agent in it, and what it sees made lighter."""
    seen = seen_cells(level, row, column, heading) if show_view else None
    return draw_level(level, cell=cell, agent=(row, column, heading), seen=seen)


def draw_text(level: Level, row: int, column: int, heading: int) -> str:
    """The same as text: the agent is > v < or ^."""
    symbols = [[SYMBOL_OF[int(tile)] for tile in line] for line in cropped(level).tiles]
    symbols[int(level.goal[0])][int(level.goal[1])] = "G"
    symbols[row][column] = START_OF[heading]
    return "\n".join("".join(line) for line in symbols)


def save_episode(
    path: str | Path, level: Level, poses: Sequence[Pose], *, cell: int = 16, fps: float = 8.0
) -> None:
    """Write an episode as a GIF, a frame a pose; the last one stays a little longer."""
    if not poses:
        raise ConfigError("An episode needs at least one pose (row, column, heading) to be drawn.")
    frames = [draw_agent(level, *pose, cell=cell) for pose in poses]
    with replacing(Path(path)) as temporary:
        temporary.write_bytes(gif_of(frames, fps=fps))
