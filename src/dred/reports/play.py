"""Which levels a report shows episodes in, and these episodes."""

from collections.abc import Callable

import jax
import numpy as np

from dred.errors import CheckpointError
from dred.reports.episodes import Episode, play_levels, telling_levels
from dred.reports.material import Material, Suite
from dred.task import LevelSet

Advance = Callable[[int], None]


def play_all(
    material: Material, count: int, *, seed: int, advance: Advance
) -> dict[str, list[Episode] | str]:
    """Return episodes of each method's first agent in the same levels; or why there are none."""
    suite = stage_of(material)
    played: dict[str, list[Episode] | str] = {}
    numbers: list[int] = []
    if suite is not None:
        solved = [method.scores[suite.name].solved for method in material.methods]
        numbers = telling_levels(np.concatenate(solved).mean(axis=0), count)
    for method in material.methods:
        played[method.name] = "No level file of a suite is there to play in."
        if suite is not None and suite.levels is not None and numbers:
            run, first, _ = method.trainings[0]
            try:
                agent = run.policy(first).agent
                played[method.name] = play_levels(
                    agent, suite.levels, numbers, material.task, seed=seed
                )
            except CheckpointError as problem:
                played[method.name] = f"No episodes: {problem}"
        advance(1)
    return played if count else {name: "No episodes were asked for." for name in played}


def stage_of(material: Material) -> Suite | None:
    """Return the suite that episodes are played in: held-out levels of the usual size if there."""
    there = [suite for suite in material.suites if suite.levels is not None]
    small = [suite for suite in there if suite.levels is not None and extent(suite.levels) <= 24]
    return next((suite for suite in small if suite.name == "test"), (small or there or [None])[0])


def extent(levels: LevelSet) -> int:
    """Return the longest side of a level's arrays."""
    leaves = jax.tree.leaves(levels.levels)
    return max(max(leaf.shape[1:], default=1) for leaf in leaves)
