"""What every generator of levels is given, and gives."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import PRNGKeyArray

from dred.config import MethodConfig
from dred.tasks.gridworld.levels.level import Level


class Given(eqx.Module):
    """What a run is given and does not change: the dataset and, for some generators, a model."""

    dataset: Level
    model: Any = None  # such as a fitted model of the dataset


class Material(eqx.Module):
    """What there is to make levels from."""

    given: Given
    parents: Level  # as many as levels are wanted: those to edit, from the last replay


Generator = Callable[[Material, MethodConfig, PRNGKeyArray], Level]
"""Material, settings and a key in; as many levels as there are parents out."""
