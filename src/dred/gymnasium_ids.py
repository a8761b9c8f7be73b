"""Registering `dred/CaveEscape-v0` with Gymnasium, without importing that for those who do not.

Gymnasium has no entry points for environments any more, so an id must be registered by code that
runs. It runs when Gymnasium is imported, before or after dred.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

NAME = "dred/CaveEscape-v0"


def register() -> None:
    """Register the environments."""
    import gymnasium

    if NAME not in gymnasium.registry:
        gymnasium.register(
            NAME,
            entry_point="dred.tasks.gridworld.gym:CaveEscape",
            vector_entry_point="dred.tasks.gridworld.gym:CaveEscapeVector",
        )


def register_with_gymnasium() -> None:
    """Register the environments now, or as soon as Gymnasium is imported, if it ever is."""
    if sys.modules.get("gymnasium") is not None:
        register()
    else:
        sys.meta_path.insert(0, _Watcher())


class _Watcher(MetaPathFinder):
    """Waits for the import of Gymnasium, once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find Gymnasium as usual, but with a loader that registers afterwards."""
        del path, target
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


class _Registering(Loader):
    """Loads a module as its own loader would, then registers."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which knows only its own loader."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        register()
