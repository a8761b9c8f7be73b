"""What every generator of levels is given, and gives."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import PRNGKeyArray

from dred.config import MethodConfig
from dred.levels.level import Level


class Material(eqx.Module):
    """What there is to make levels from. Each is a batch of levels."""

    dataset: Level
    parents: Level  # as many as levels are wanted: those to edit, from the last replay
    model: Any = None  # a fitted model, for generators that need one


Generator = Callable[[Material, MethodConfig, PRNGKeyArray], Level]
"""Material, settings and a key in; as many levels as there are parents out."""
