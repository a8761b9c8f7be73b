"""What happens inside a level.

env = dred.envs.Gridworld()
state, view = env.reset_to(level, key=jax.random.key(0))
step = env.step(state, 2)
"""

import importlib
from typing import TYPE_CHECKING, Any

from dred.agents.episodes import Start as Start
from dred.agents.episodes import play_on as play_on
from dred.environment import Environment as Environment
from dred.environment import Transition as Transition
from dred.errors import DredError
from dred.extras import how_to_install
from dred.tasks.gridworld.environment import Episode as Episode
from dred.tasks.gridworld.environment import Gridworld as Gridworld
from dred.tasks.gridworld.environment import GridworldEnvironment as GridworldEnvironment
from dred.tasks.gridworld.environment import State as State
from dred.tasks.gridworld.environment import Step as Step
from dred.tasks.gridworld.view import View as View
from dred.tasks.gridworld.view import World as World

if TYPE_CHECKING:
    from dred.tasks.gridworld.gym import make_gym as make_gym
    from dred.tasks.gridworld.gym import make_gym_vector as make_gym_vector
    from dred.tasks.gridworld.minigrid import level_of as level_of
    from dred.tasks.gridworld.minigrid import to_minigrid as to_minigrid

_BRIDGES = {
    "make_gym": "gym",
    "make_gym_vector": "gym",
    "to_minigrid": "minigrid",
    "level_of": "minigrid",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  (functions of several kinds)
    if name not in _BRIDGES:
        raise AttributeError(f"module 'dred.envs' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"dred.tasks.gridworld.{_BRIDGES[name]}"), name)
    except ModuleNotFoundError as error:
        raise DredError(
            f"dred.envs.{name} needs the package {error.name!r}, which is not installed. Install "
            f"it with: {how_to_install('gym')}"
        ) from None
