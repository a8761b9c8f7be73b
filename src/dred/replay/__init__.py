"""Which level next: the buffer of levels, their scores, and the distribution they are drawn from.

Nothing here knows what a level is.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dred.replay.level_buffer import LevelBuffer as LevelBuffer


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a class)
    if name == "LevelBuffer":
        return importlib.import_module("dred.replay.level_buffer").LevelBuffer
    raise AttributeError(f"module 'dred.replay' has no attribute {name!r}")
