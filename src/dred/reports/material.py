"""What a report is made of: methods with their agents and scores, and suites of levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dred.config import TrainConfig
from dred.reports.paper import SUITES
from dred.reports.scores import Scores
from dred.runs import Run
from dred.task import LevelSet, Task

# The order of the paper's tables; methods that are not in it come after these.
ORDER = (
    "vae-dred",
    "resample-dred",
    "el-dred",
    "plr",
    "uniform",
    "dr",
    "accel-d",
    "accel",
    "rplr",
)


class Training(NamedTuple):
    """One agent: a seed of a run."""

    run: Run
    seed: int
    metrics: tuple[Mapping[str, Any], ...]  # the lines of its seed, by update


@dataclass(frozen=True)
class Method:
    """All agents that were trained with one method."""

    name: str
    trainings: tuple[Training, ...]
    scores: Mapping[str, Scores]  # by suite; a row for each training

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the run folders, each once."""
        return tuple({training.run.path: training.run for training in self.trainings}.values())

    @property
    def config(self) -> TrainConfig:
        """Return the settings, which are those of all its runs."""
        return self.trainings[0].run.config


@dataclass(frozen=True)
class Suite:
    """A set of levels that all agents were evaluated on."""

    name: str
    count: int
    levels: LevelSet | None = None  # None if its file is not known or not there
    optimal: Float[np.ndarray, " level"] | None = None  # the highest possible return of each level
    task: Task | None = None


@dataclass(frozen=True)
class Material:
    """Everything that is known of some runs."""

    methods: tuple[Method, ...]
    suites: tuple[Suite, ...]
    dataset: LevelSet | None  # the training levels, if their file is there
    notes: tuple[str, ...]  # what readers should know

    @property
    def task(self) -> Task:
        """Return what kind of problem they are about."""
        return self.runs[0].task

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return all run folders."""
        return tuple(run for method in self.methods for run in method.runs)


def suite_place(name: str) -> tuple[int, str]:
    """Return where a suite stands: in the order of the paper, parts after the whole; by name."""
    places = [place for place, whole in enumerate(SUITES) if name.split("-")[0] == whole]
    return (places or [len(SUITES)])[0], name
