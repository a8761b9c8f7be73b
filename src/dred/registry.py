"""Tasks by name: those that come with dred, and those in files of the user's own."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from dred.errors import ConfigError, lookup
from dred.task import Task

BUILT_IN = {"gridworld": "dred.tasks.gridworld.task:GRIDWORLD"}


def find_task(name: str) -> Task:
    """Return a task by its name, or from a file: "path/to/file.py:name"."""
    file, colon, attribute = name.rpartition(":")
    if colon and file.endswith(".py"):
        return _attribute(_module_in(Path(file)), attribute, where=name)
    module, _, attribute = lookup(BUILT_IN, name, what="task").partition(":")
    return _attribute(importlib.import_module(module), attribute, where=name)


def _module_in(path: Path) -> ModuleType:
    """Return the module in a file; the same one if it was asked for before."""
    path = path.resolve()
    name = f"dred_task_{path.stem}_{abs(hash(path))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ConfigError(f"There is no file {path} to take a task from.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _attribute(module: ModuleType, name: str, *, where: str) -> Task:
    found = getattr(module, name, None)
    if not isinstance(found, Task):
        there = [key for key, value in vars(module).items() if isinstance(value, Task)]
        known = f" It has {', '.join(there)}." if there else " It has none."
        raise ConfigError(f"{where}: {name!r} is not a task in {module.__file__}.{known}")
    return found
