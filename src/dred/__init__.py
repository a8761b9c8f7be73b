"""dred: zero-shot transfer in reinforcement learning by data-regularised environment design.

The sub-packages are the boxes of the loop in `docs/architecture.md`; each is imported on first
use, so that `import dred` and `dred --help` stay quick.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dred import envs as envs
    from dred import generators as generators
    from dred import levels as levels
    from dred import runs as runs

__version__ = "0.1.0"

_SUBPACKAGES = ("envs", "generators", "levels", "runs")


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"dred.{name}")
    raise AttributeError(f"module 'dred' has no attribute {name!r}")


def _register_with_gymnasium() -> None:
    """Make `gymnasium.make("dred/CaveEscape-v0", levels=…)` work, if Gymnasium is installed."""
    try:
        import gymnasium
    except ImportError:
        return
    name = "dred/CaveEscape-v0"
    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point="dred.tasks.gridworld.gym:CaveEscape",
            vector_entry_point="dred.tasks.gridworld.gym:CaveEscapeVector",
        )


_register_with_gymnasium()


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBPACKAGES])
