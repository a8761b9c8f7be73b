"""How environments are made and set to a level, here or in another process."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dred.errors import ConfigError
from dred.extras import how_to_install
from dred.plugins import module_in

Level = Mapping[str, Any]  # one level: its numbers by name
SetLevel = Callable[[Any, dict[str, float]], object]
NAME_OF_USER_FILES = "dred_user_"  # how the modules are called that `module_in` has loaded


def need_gymnasium() -> Any:  # noqa: ANN401  (the module)
    """Return the package gymnasium; stops, saying how to install it, if it is not there."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise ConfigError(
            "This task needs the package 'gymnasium', which is not installed. Install it with: "
            f"{how_to_install('gym')}"
        ) from None
    return gymnasium


@dataclass(frozen=True, eq=False)
class Recipe:
    """How an environment is made, and how it is set to a level before an episode begins."""

    make_env: Callable[..., Any] | str
    """A function that returns one; or where it is, FILE.py:NAME; or an id of Gymnasium's."""
    set_level: SetLevel | str | None = None
    """A function that is given an environment and a level; by `reset(options={"level": …})` if
    there is none."""

    def new_env(self, *, drawn: bool = False) -> Any:  # noqa: ANN401  (a gymnasium.Env)
        """Return an environment; one that draws itself, if asked to and if it can."""
        gymnasium, make = need_gymnasium(), self.make_env
        if isinstance(make, str) and ":" not in make:
            return gymnasium.make(make, render_mode="rgb_array" if drawn else None)
        function = found(make)
        takes_mode = drawn and "render_mode" in inspect.signature(function).parameters
        return function(render_mode="rgb_array") if takes_mode else function()

    @property
    def can_draw(self) -> bool:
        """Return whether environments can be asked to draw themselves."""
        if isinstance(self.make_env, str) and ":" not in self.make_env:
            return True
        return "render_mode" in inspect.signature(found(self.make_env)).parameters

    def elsewhere(self) -> "Recipe":
        """Return the same in words that another process understands."""
        return Recipe(
            located(self.make_env), None if self.set_level is None else located(self.set_level)
        )

    def begin(self, env: Any, level: Level, seed: int) -> Any:  # noqa: ANN401  (an observation)
        """Begin an episode in a level, and return what is seen first."""
        given = {name: float(value) for name, value in level.items()}
        if self.set_level is None:
            return env.reset(seed=seed, options={"level": given})[0]
        found(self.set_level)(env, given)
        return env.reset(seed=seed)[0]


def found(said: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a function, given itself or where it is: FILE.py:NAME or MODULE:NAME."""
    if callable(said):
        return said
    place, _, name = said.rpartition(":")
    is_file = place.endswith(".py")
    module = module_in(Path(place), what=name) if is_file else importlib.import_module(place)
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(f"{said}: there is no function {name!r} in {place}.")
    return function


def located(said: Callable[..., Any] | str) -> str:
    """Return where a function is, so that another process can import it; stops if it cannot."""
    if isinstance(said, str):
        return said
    name, module = getattr(said, "__qualname__", ""), getattr(said, "__module__", "")
    if not name.isidentifier():
        raise ConfigError(
            f"{name or said!r} cannot be imported by another process, which processes= asks for. "
            "Write a function at the top of a file, and give that: def make_env(): …"
        )
    if module != "__main__" and not module.startswith(NAME_OF_USER_FILES):
        return f"{module}:{name}"
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        raise ConfigError(
            f"{name} was written in a notebook or a shell, where other processes cannot import it "
            "from. Put it into a file, or leave out processes=."
        )
    return f"{Path(file).resolve()}:{name}"
