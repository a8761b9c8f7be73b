"""Minigrid in both directions: a level as a real Minigrid environment, and back."""

from typing import Any, cast

import gymnasium
import numpy as np
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Floor, Goal, Lava, Wall
from minigrid.minigrid_env import MiniGridEnv

from dred.errors import ConfigError, DatasetError
from dred.tasks.gridworld.environment import Gridworld, time_limit
from dred.tasks.gridworld.levels.encodings import MINIGRID_AGENT, from_minigrid
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    LAVA,
    MOSS,
    WALL,
    Level,
    as_batch,
    cropped,
)
from dred.tasks.gridworld.view import check_levels

OBJECTS = {WALL: Wall, LAVA: Lava, MOSS: Floor}


class LevelEnv(MiniGridEnv):
    """A dred level, played by Minigrid itself."""

    def __init__(
        self,
        level: Level,
        *,
        max_steps: int | None = None,
        heading: int | None = None,
        **options: Any,  # noqa: ANN401  (Minigrid's own)
    ) -> None:
        check_levels(as_batch(level))
        level = cropped(level)
        limit = Gridworld(max_steps=max_steps).max_steps  # checks it
        if heading is not None and not ANY_HEADING <= heading <= 3:
            raise ConfigError(f"heading (={heading}) must be 0 to 3, or −1 for any.")
        self.level = level
        self.first_heading = int(level.heading) if heading is None else heading
        height, width = level.tiles.shape
        super().__init__(
            mission_space=MissionSpace(mission_func=lambda: "reach the goal"),
            width=width + 2,
            height=height + 2,
            max_steps=limit or time_limit(height, width),
            agent_view_size=5,
            see_through_walls=True,
            **options,
        )

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for (row, column), tile in np.ndenumerate(self.level.tiles):
            if int(tile) in OBJECTS:
                self.grid.set(column + 1, row + 1, OBJECTS[int(tile)]())
        goal_row, goal_column = (int(part) for part in self.level.goal)
        self.grid.set(goal_column + 1, goal_row + 1, Goal())
        start_row, start_column = (int(part) for part in self.level.start)
        self.agent_pos = (start_column + 1, start_row + 1)
        given = self.first_heading
        self.agent_dir = int(self.np_random.integers(4)) if given == ANY_HEADING else given
        self.mission = "reach the goal"


def to_minigrid(
    level: Level,
    *,
    max_steps: int | None = None,
    heading: int | None = None,
    **options: Any,  # noqa: ANN401  (Minigrid's own)
) -> LevelEnv:
    """This level as a Minigrid environment: 5×5 view, walls do not block the sight.

    `options` go to Minigrid, for example `render_mode="rgb_array"`.
    """
    return LevelEnv(level, max_steps=max_steps, heading=heading, **options)


def level_of(environment: gymnasium.Env[Any, Any]) -> Level:
    """The level that a Minigrid environment is in now, from where its agent stands.

    Takes grids of empty cells, walls, floor, lava and one goal, with a wall around; anything else
    is an error that names it. What lies under the agent is not kept: a start is an empty cell.
    """
    inner = environment.unwrapped
    if not isinstance(inner, MiniGridEnv):
        raise DatasetError(f"{inner} is not a Minigrid environment, so it has no level.")
    if cast("object", inner.agent_pos) is None:  # before the first reset
        raise DatasetError("The environment has no level yet: call its reset() first.")
    encoding = inner.grid.encode()
    column, row = inner.agent_pos
    encoding[column, row] = (MINIGRID_AGENT, 0, inner.agent_dir)
    return from_minigrid(encoding, keep_heading=True)
