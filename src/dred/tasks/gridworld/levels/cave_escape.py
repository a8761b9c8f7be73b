"""Cave Escape: the level distribution of the paper.

A layout keeps its largest connected part. The goal goes anywhere in it; moss grows near the goal,
lava lies far from it, and the start is at the median distance. An agent that cannot see far does
well to follow the moss and keep off the lava.
"""

import numpy as np
from jaxtyping import Bool

from dred.errors import DatasetError
from dred.tasks.gridworld.config import CaveEscapeConfig, TileConfig
from dred.tasks.gridworld.levels import placement
from dred.tasks.gridworld.levels.compiled import seed_from
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level
from dred.tasks.gridworld.levels.paths import largest_component


def rules_of(config: CaveEscapeConfig, *, part: int = 0, parts: int = 1) -> placement.Rules:
    """The settings as the compiled code reads them."""

    def rule(tile: TileConfig) -> placement.TileRule:
        return placement.TileRule(*tile.fraction, tile.near_goal, tile.temperature)

    return placement.Rules(
        moss=rule(config.moss),
        lava=rule(config.lava),
        lava_depth=config.lava_depth,
        min_navigable=config.min_navigable,
        only_correlated=config.only_correlated,
        part=part,
        parts=parts,
    )


def furnish(
    floor: Bool[np.ndarray, "height width"], config: CaveEscapeConfig, *, seed: int = 0
) -> Level:
    """A level from a layout of your own, given as its floor cells."""
    part = largest_component(floor)
    if part.sum() < config.min_navigable:
        raise DatasetError(
            f"The largest connected part of the layout has {int(part.sum())} cells; at least "
            f"{config.min_navigable} are needed. Give a layout with more floor."
        )
    made = placement.empty_batch(1, part.shape)
    if not placement.place_one(part, rules_of(config), seed_from("furnish", seed), made, 0):
        raise DatasetError(
            f"No placement in {placement.MAX_PLACEMENTS} had moss and lava on the asked side of "
            "the goal in this layout. Set only_correlated = false, or a lower temperature."
        )
    return Level(made.tiles[0], made.goal[0], made.start[0], np.asarray(ANY_HEADING, np.int8))
