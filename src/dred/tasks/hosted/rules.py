"""The rules of Gymnasium, tried in an environment: spaces, kinds of values, and resets."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dred.tasks.hosted.recipe import Recipe


def broken_rules(recipe: Recipe, levels: Mapping[str, Any], steps: int, seed: int) -> list[str]:
    """Return what is wrong with an environment, as seen in one episode in each level."""
    found: dict[str, None] = {}
    env = recipe.new_env()
    count = len(next(iter(levels.values())))
    env.action_space.seed(seed)
    for place in range(count):
        level = {name: float(np.asarray(column)[place]) for name, column in levels.items()}
        seen = recipe.begin(env, level, seed)
        found |= dict.fromkeys(unlike_space(env, seen, "reset"))
        for _ in range(steps):
            action = env.action_space.sample()
            result = env.step(action)
            found |= dict.fromkeys(unlike_step(env, result))
            if len(result) != 5 or result[2] or result[3]:
                break
    env.close()
    return list(found)


def unlike_space(env: Any, seen: Any, where: str) -> list[str]:  # noqa: ANN401
    """Return whether an observation is outside the space that the environment states."""
    if env.observation_space.contains(seen):
        return []
    kind = f"{getattr(seen, 'dtype', type(seen).__name__)}{list(np.shape(seen))}"
    return [
        f"{where} shows an observation ({kind}) outside of observation_space "
        f"({env.observation_space}): its shape, its type or its numbers are others."
    ]


def unlike_step(env: Any, result: Any) -> list[str]:  # noqa: ANN401  (what step returned)
    """Return what is wrong with what a step returned."""
    if len(result) != 5:
        return [
            f"step returns {len(result)} values, not five: observation, reward, terminated, "
            "truncated and info."
        ]
    seen, reward, terminated, truncated, _ = result
    problems = unlike_space(env, seen, "step")
    if not np.isscalar(reward) and np.shape(reward) != ():
        problems.append(f"step gives a reward of shape {list(np.shape(reward))}, not one number.")
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            problems.append(f"step gives {type(value).__name__} for {name}, not a truth value.")
    return problems
