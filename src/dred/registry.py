"""What can be named: tasks, methods, scores and generators, of dred and of the user's own."""

import importlib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

from dred.config import MethodConfig
from dred.errors import ConfigError, lookup
from dred.plugins import load_installed, module_in
from dred.presets import METHODS
from dred.replay.scores import SCORES, Score
from dred.settings import merged, read_settings, read_table
from dred.task import Generator, Task

BUILT_IN = {"gridworld": "dred.tasks.gridworld.task:GRIDWORLD"}
FAMILIES = {  # named FAMILY/MEMBER
    "control": "dred.tasks.control.task:control_task",
    "procgen": "dred.tasks.procgen.task:procgen_task",
}
_TASKS: dict[str, Task] = {}
_OUR_METHODS, _OUR_SCORES = frozenset(METHODS), frozenset(SCORES)
_OUR_GENERATORS: dict[str, frozenset[str]] = {}  # by task


def find_task(name: str) -> Task:
    """Return a task by its name, or from a file: "path/to/file.py:name"."""
    file, attribute = split_name(name)
    if file is not None:
        return _attribute(module_in(file, what="task"), attribute, where=name)
    load_installed()
    if name in _TASKS:
        return _TASKS[name]
    family, slash, member = name.partition("/")
    if slash and family in FAMILIES:
        module, _, attribute = FAMILIES[family].partition(":")
        return getattr(importlib.import_module(module), attribute)(member)
    known = {**BUILT_IN, **dict.fromkeys(_TASKS, ""), **{f"{one}/…": "" for one in FAMILIES}}
    module, _, attribute = lookup(known, name, what="task").partition(":")
    return _attribute(importlib.import_module(module), attribute, where=name)


def full_name(name: str, folder: Path) -> str:
    """Return the name of a task so that it means the same everywhere, given where it was said."""
    file, attribute = split_name(name)
    return name if file is None else f"{(folder / file).resolve()}:{attribute}"


def split_name(name: str) -> tuple[Path | None, str]:
    """Return the file that a task is to be taken from, if one is named, and its name there."""
    file, colon, attribute = name.rpartition(":")
    if colon and file.endswith(".py"):
        return Path(file), attribute
    return None, name


def find_method(said: str | Path | Mapping[str, object], folder: Path = Path()) -> MethodConfig:
    """Return a method by its name, from a TOML file in a folder, or from the table of such a file.

    A table has the settings of `MethodConfig`; what it leaves out is that of the method that it
    names as its `base`, or as usual. A file need not give a name: it is that of the file.
    """
    load_installed()
    if isinstance(said, Mapping):
        return _method_in(said, where=f"The method {said.get('name', '')!r}")
    if str(said).endswith(".toml"):
        file = folder / said
        return _method_in({"name": file.stem, **read_table(file)}, where=str(file))
    if str(said) not in METHODS and Path(said).suffix:
        raise ConfigError(
            f"{said} is not a method: there is none of that name, and one of your own is a TOML "
            "file, whose name ends in .toml."
        )
    return lookup(METHODS, str(said), what="method")


def _method_in(table: Mapping[str, object], *, where: str) -> MethodConfig:
    rest = {name: value for name, value in table.items() if name != "base"}
    if "base" in table:
        base = lookup(METHODS, str(table["base"]), what=f"method, as base of {where},")
        settings = asdict(base)
        del settings["name"]  # which the method of one's own must have
        rest = merged(settings, rest)
    return read_settings(MethodConfig, rest, where=where)


def register_method(method: MethodConfig) -> MethodConfig:
    """Let a method be named wherever one of dred's can."""
    _check_free(method.name, _OUR_METHODS, "method")
    METHODS[method.name] = method
    return method


def register_score(name: str) -> Callable[[Score], Score]:
    """Let a function that scores each step of a rollout be named by methods; a decorator."""
    _check_free(name, _OUR_SCORES, "score")

    def register(score: Score) -> Score:
        SCORES[name] = score
        return score

    return register


def register_generator(name: str, generator: Generator, *, task: str = "gridworld") -> Generator:
    """Let a generator be named by methods of a task."""
    generators = find_task(task).generators
    if not isinstance(generators, MutableMapping):
        raise ConfigError(f"The task {task} takes no other generators: they are not a dictionary.")
    ours = _OUR_GENERATORS.setdefault(task, frozenset(generators))
    _check_free(name, ours, f"generator of the task {task}")
    generators[name] = generator
    return generator


def register_task(task: Task) -> Task:
    """Let a task be named by --task."""
    _check_free(task.name, frozenset(BUILT_IN), "task")
    _TASKS[task.name] = task
    return task


def _check_free(name: str, ours: frozenset[str], what: str) -> None:
    """Stop if something of dred's has this name. One's own may be registered anew."""
    if not name or name in ours:
        raise ConfigError(f"There is a {what} called {name!r} already. Give yours another name.")


def _attribute(module: ModuleType, name: str, *, where: str) -> Task:
    found = getattr(module, name, None)
    if not isinstance(found, Task):
        there = [key for key, value in vars(module).items() if isinstance(value, Task)]
        known = f" It has {', '.join(there)}." if there else " It has none."
        raise ConfigError(f"{where}: {name!r} is not a task in {module.__file__}.{known}")
    return found
