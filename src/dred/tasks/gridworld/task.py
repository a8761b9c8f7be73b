"""The gridworld as a task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from dred.agents.network import ActorCritic, keys_for_agent, new_agent
from dred.config import AgentConfig
from dred.errors import lookup
from dred.task import Feature, LevelSet, Suite, Task
from dred.tasks.gridworld.encoders import ENCODERS
from dred.tasks.gridworld.environment import GridworldEnvironment, State
from dred.tasks.gridworld.generators import GENERATORS
from dred.tasks.gridworld.levels.build import make
from dred.tasks.gridworld.levels.dataset import LevelDataset, concatenate, load
from dred.tasks.gridworld.levels.level import Level, has_outside
from dred.tasks.gridworld.levels.metrics import level_metrics
from dred.tasks.gridworld.levels.render import draw_level
from dred.tasks.gridworld.levels.shift import aligned, histogram_of
from dred.tasks.gridworld.levels.sizes import sizes_in_words, sizes_of
from dred.tasks.gridworld.levels.text import from_text
from dred.tasks.gridworld.optimal import optimal_returns
from dred.tasks.gridworld.pictures import draw_agent
from dred.tasks.gridworld.presets import GRIDWORLD_BUDGETS
from dred.tasks.gridworld.view import View, World

ENVIRONMENT = GridworldEnvironment()
PAPER = ("train", "test", "edge", "hardcore")  # the sets of the suite `paper`


class GridworldLevels:
    """How levels of the gridworld are stored."""

    treedef = jax.tree.structure(Level(0, 0, 0, 0))

    def load(self, path: str | Path) -> LevelDataset:
        """Read a set of levels, and check it."""
        return load(path)

    def collect(self, levels: Level, structure: Any, meta: Mapping[str, object]) -> LevelDataset:  # noqa: ANN401
        """Return a batch of levels as a set, each with a word about it."""
        return LevelDataset(*levels, structure=np.asarray(structure), meta=dict(meta))


class GridworldPictures:
    """How levels and agents are drawn."""

    def draw_level(self, level: Level, *, size: int) -> UInt8[np.ndarray, "height width 3"]:
        """Return a picture of a level, about so many pixels wide."""
        return draw_level(level, cell=cell_of(level, size))

    def draw_state(
        self, level: Level, state: State, *, size: int
    ) -> UInt8[np.ndarray, "height width 3"]:
        """Return a picture of an agent in a level."""
        row, column, heading = (int(part) for part in (state.row, state.column, state.heading))
        return draw_agent(level, row, column, heading, cell=cell_of(level, size))

    def legend(self) -> dict[str, UInt8[np.ndarray, "height width 3"]]:
        """Return a small picture of each kind of tile, by name."""
        names = ("wall", "empty", "moss", "lava", "goal", "start, any heading")
        pixels = draw_level(from_text("#.,~GS"), cell=18)
        return {
            name: pixels[18:36, 18 * (place + 1) : 18 * (place + 2)]
            for place, name in enumerate(names)
        }


def cell_of(level: Level, size: int) -> int:
    """Return the pixels of a tile, so that levels of any size make pictures of about one size."""
    return max(4, size // (max(level.tiles.shape) + 2))


def new_gridworld_agent(config: AgentConfig, key: PRNGKeyArray) -> ActorCritic:
    """Return an agent that has learned nothing."""
    for_encoder, rest = keys_for_agent(key)
    name = config.encoder or next(iter(ENCODERS))
    encoder = lookup(ENCODERS, name, what="encoder of the gridworld")(for_encoder)
    return new_agent(config, encoder, ENVIRONMENT.num_actions, keys=rest)


def optimal(levels: Level, world: World) -> Float[Array, " level"]:
    """Return the highest return that each level allows."""
    return optimal_returns(levels, ENVIRONMENT.time_limit(world))


def measure(levels: Level) -> dict[str, Float[np.ndarray, " level"]]:
    """Return the features of levels."""
    found = level_metrics(levels)
    area = {"area": sizes_of(levels).prod(axis=1).astype(np.float64)}
    return {
        **(area if has_outside(levels.tiles) else {}),
        "solvable_mass": np.isfinite(found.path).astype(np.float64),
        "path": found.path,
        "moss_density": found.moss_density,
        "lava_density": found.lava_density,
    }


def paper_suite(train: LevelSet) -> dict[str, LevelSet]:
    """Return the sets of the paper: trained on, 2048 held out, 448 edge cases, 216 large levels.

    All but the first are made anew, which takes seconds and gives the same levels each time.
    """
    edge = concatenate([make(f"cave-escape-edge-{kind}") for kind in ("moss", "lava")])
    sets = (train, make("cave-escape-test"), edge, make("cave-escape-hardcore"))
    return cast("dict[str, LevelSet]", dict(zip(PAPER, sets, strict=True)))


def describe_size(levels: LevelSet) -> str:
    """Return how large levels are."""
    sizes = cast(LevelDataset, levels).sizes
    return f"{sizes_in_words(sizes)}{' each' if len(sizes) == 1 else ''}"


def sizes_in(levels: LevelSet) -> list[str]:
    """Return the size of each level, with the wall around, as 15x15."""
    return [f"{height + 2}x{width + 2}" for height, width in sizes_of(levels.levels).tolist()]


def from_gym(observation: View | Mapping[str, Any]) -> View:
    """Return what the agent sees, from that or from an observation of Gymnasium's."""
    if isinstance(observation, View):
        return observation
    return View(jnp.asarray(observation["image"]), jnp.asarray(observation["direction"]))


GRIDWORLD = Task(
    name="gridworld",
    environment=ENVIRONMENT,
    level_format=GridworldLevels(),
    new_agent=new_gridworld_agent,
    budgets=GRIDWORLD_BUDGETS,
    optimal_returns=optimal,
    return_meaning=(
        "Return is 1 for reaching the goal at once and falls to 0.1 at the time limit; 0 without "
        "reaching it."
    ),
    features={
        "path": Feature(
            "steps from start to goal",
            meaning="mean under P_Λ of the steps from start to goal, over levels that can be "
            "solved",
        ),
        "moss_density": Feature(
            "moss, of navigable cells",
            percent=True,
            meaning="mean under P_Λ of moss among navigable cells",
        ),
        "lava_density": Feature(
            "lava, of other cells",
            percent=True,
            meaning="mean under P_Λ of lava among lava and walls",
        ),
        "area": Feature(
            "cells of a level",
            meaning="mean under P_Λ of the cells of a level, without the wall around, where levels "
            "differ in size",
            optional=True,
        ),
        "solvable_mass": Feature(
            "probability of a solvable level",
            percent=True,
            meaning="probability of drawing a level that can be solved",
        ),
    },
    measure=measure,
    histogram=histogram_of,
    align_histograms=aligned,
    generators=GENERATORS,
    pictures=GridworldPictures(),
    picture_meaning="Lighter tiles are what the agent sees.",
    describe_size=describe_size,
    sizes_of=sizes_in,
    from_gym=from_gym,
    suites={"paper": Suite(PAPER, paper_suite)},
    usual_levels={"train": "cave-escape-train", "test": "cave-escape-test"},
)
