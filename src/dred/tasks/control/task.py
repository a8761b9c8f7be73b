"""Contextual control as tasks, one for each system: `control/pendulum`, `control/cartpole`."""

from collections.abc import Mapping
from functools import cache

import numpy as np
from jaxtyping import Array, Bool, Float

from dred.agents.simple import SimpleAgent
from dred.errors import lookup
from dred.task import Feature, LevelSet, Suite, Task
from dred.tasks.control.cartpole import CARTPOLE
from dred.tasks.control.environment import ControlEnvironment
from dred.tasks.control.generators import generators_of
from dred.tasks.control.levels import make
from dred.tasks.control.pendulum import PENDULUM
from dred.tasks.control.pictures import ControlPictures
from dred.tasks.control.presets import CONTROL_BUDGETS
from dred.tasks.control.system import System
from dred.tasks.vectors.fitted import vector_vae
from dred.tasks.vectors.shift import pair_histograms
from dred.tasks.vectors.table import VectorFormat

SYSTEMS = {system.name: system for system in (PENDULUM, CARTPOLE)}
SOLVED = 0.5  # of a return: upright for more than half of the time
SUITES = ("train", "test", "edge", "hard")


def is_solved(returned: Float[Array, "*batch"]) -> Bool[Array, "*batch"]:
    """Return whether a device was upright for more than half of the time."""
    return returned > SOLVED


@cache
def control_task(name: str) -> Task:
    """Return the task of a system, "pendulum" or "cartpole"."""
    return new_task(lookup(SYSTEMS, name, what="control system"))


def new_task(system: System) -> Task:
    """Return a task whose levels are the parameters of a system."""
    environment, level_format = ControlEnvironment(system=system), VectorFormat(system)

    def measure(levels: Mapping[str, np.ndarray]) -> dict[str, Float[np.ndarray, " level"]]:
        return {name: np.asarray(levels[name], np.float64) for name in system.names}

    def suite(train: LevelSet) -> dict[str, LevelSet]:
        return {"train": train, **{one: make(system, one) for one in SUITES[1:]}}

    def histogram(
        levels: Mapping[str, np.ndarray], weights: Float[np.ndarray, " level"] | None
    ) -> Float[np.ndarray, "pair bin other_bin"]:
        return pair_histograms(system, levels, weights)

    return Task(
        name=system.title,
        environment=environment,
        level_format=level_format,
        new_agent=SimpleAgent(environment, make(system, "train", count=1).levels),
        budgets=CONTROL_BUDGETS,
        return_meaning="A return is how upright the device was, on average over the episode.",
        is_solved=is_solved,
        features={one.name: Feature(one.label) for one in system.parameters},
        measure=measure,
        histogram=histogram,
        generators={**generators_of(system), "vae": vector_vae(system, level_format.load)},
        pictures=ControlPictures(system),
        picture_meaning="The bars are the parameters of the device, from the low to the high side "
        "of the box; the line below is the push of the motor.",
        suites={"control": Suite(SUITES, suite)},
        make_levels=lambda name, count, seed: make(system, name, count=count, seed=seed),
        usual_levels={one: f"{system.title}/{one}" for one in ("train", "test")},
        default_levels=lambda: {"train": make(system, "train"), "test": make(system, "test")},
    )
