"""dred: zero-shot transfer in reinforcement learning by data-regularised environment design.

The sub-packages are the boxes of the loop in `docs/architecture.md`; each is imported on first
use, so that `import dred` and `dred --help` stay quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dred.gymnasium_ids import register_with_gymnasium

if TYPE_CHECKING:
    from dred import envs as envs
    from dred import generators as generators
    from dred import levels as levels
    from dred import replay as replay
    from dred import runs as runs
    from dred import tasks as tasks
    from dred.agents.simple import SimpleAgent as SimpleAgent
    from dred.api import compare_generators as compare_generators
    from dred.api import evaluate as evaluate
    from dred.api import fit as fit
    from dred.api import report as report
    from dred.api import train as train
    from dred.config import Method as Method
    from dred.config import Schedule as Schedule
    from dred.config import Term as Term
    from dred.environment import Environment as Environment
    from dred.environment import Transition as Transition
    from dred.level_table import LevelTable as LevelTable
    from dred.level_table import TableFormat as TableFormat
    from dred.registry import register_generator as register_generator
    from dred.registry import register_method as register_method
    from dred.registry import register_score as register_score
    from dred.registry import register_task as register_task
    from dred.task import Feature as Feature
    from dred.task import Generator as Generator
    from dred.task import Task as Task
    from dred.task_checks import check_task as check_task

__version__ = "0.2.0"  # the only place that says it

_SUBPACKAGES = ("envs", "generators", "levels", "replay", "runs", "tasks")
_NAMES = {
    "Environment": "environment",
    "Feature": "task",
    "Generator": "task",
    "LevelTable": "level_table",
    "Method": "config",
    "Schedule": "config",
    "SimpleAgent": "agents.simple",
    "TableFormat": "level_table",
    "Task": "task",
    "Term": "config",
    "Transition": "environment",
    "check_task": "task_checks",
    "compare_generators": "api",
    "evaluate": "api",
    "fit": "api",
    "register_generator": "registry",
    "register_method": "registry",
    "register_score": "registry",
    "register_task": "registry",
    "report": "api",
    "train": "api",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a module, class or function)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"dred.{name}")
    if name in _NAMES:
        module = importlib.import_module(f"dred.{_NAMES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'dred' has no attribute {name!r}")


register_with_gymnasium()


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBPACKAGES, *_NAMES])
