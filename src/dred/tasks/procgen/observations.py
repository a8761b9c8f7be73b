"""What an agent sees in levels of a game, to be looked at."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from dred.config import check_seed
from dred.errors import ConfigError
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.simulator import Difficulty


def observations_of(
    game: str,
    levels: Sequence[int],
    *,
    steps: int = 0,
    difficulty: Difficulty = "easy",
    seed: int = 0,
) -> UInt8[np.ndarray, "level 64 64 3"]:
    """What the agent sees in each of these levels after so many random actions.

    Without any, that is a level's first image. An episode that ends on the way begins again in its
    own level, so the image is always of the level that was asked for.
    """
    if not levels or steps < 0:
        raise ConfigError(
            f"At least one level and no fewer than 0 steps are needed; found {len(levels)} levels "
            f"and steps (={steps})."
        )
    envs = ProcgenLevels(game, len(levels), difficulty=difficulty, num_threads=0)
    now = envs.reset_to(list(levels))
    random = np.random.default_rng(check_seed(seed))
    for _ in range(steps):
        actions = random.integers(NUM_ACTIONS, size=len(levels)).astype(np.int32)
        level = now.level
        now = envs.step(actions, lambda slots, level=level: level[slots])
    return now.image
