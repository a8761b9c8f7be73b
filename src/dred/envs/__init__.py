"""What happens inside a level.

env = dred.envs.Gridworld()
state, view = env.reset_to(level, key=jax.random.key(0))
step = env.step(state, 2)
"""

import importlib
from typing import TYPE_CHECKING, Any

from dred.envs.gridworld import Episode as Episode
from dred.envs.gridworld import Gridworld as Gridworld
from dred.envs.gridworld import State as State
from dred.envs.gridworld import Step as Step
from dred.envs.protocol import Environment as Environment
from dred.envs.protocol import Move as Move
from dred.envs.restart import Played as Played
from dred.envs.restart import play_on as play_on
from dred.envs.view import View as View
from dred.envs.view import World as World
from dred.errors import DredError

if TYPE_CHECKING:
    from dred.envs.gym import make_gym as make_gym
    from dred.envs.gym import make_gym_vector as make_gym_vector
    from dred.envs.minigrid import level_of as level_of
    from dred.envs.minigrid import to_minigrid as to_minigrid

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
        return getattr(importlib.import_module(f"dred.envs.{_BRIDGES[name]}"), name)
    except ModuleNotFoundError as error:
        raise DredError(
            f"dred.envs.{name} needs the package {error.name!r}, which is not installed. Install "
            "it with: pip install 'dred[gym]'"
        ) from None
