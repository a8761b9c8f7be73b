"""Plug-ins: files and installed packages of the user's own that register things with dred.

A plug-in is a Python file that calls `dred.register_score` and the like when it is imported. It is
named by `--plugin FILE.py`; a package names its own under the entry-point group `dred.plugins`. A
run notes the files, also that of its task if it came from one, so that whoever opens it loads the
same ones.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType

from dred.errors import ConfigError

GROUP = "dred.plugins"
_LOADED: dict[Path, str] = {}  # files and their digests, in the order in which they were loaded


def load_plugins(files: Iterable[str | Path]) -> None:
    """Import files that register something, each once."""
    load_installed()
    for file in files:
        path = Path(file).resolve()
        if path in _LOADED:
            continue
        _LOADED[path] = digest_of(path)
        try:
            module_in(path, what="plug-in")
        except BaseException:
            del _LOADED[path]
            raise


@cache
def load_installed() -> dict[str, str]:
    """Load what installed packages register; return their versions by name."""
    versions: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        found = point.load()
        if not isinstance(found, ModuleType):
            found()
        if point.dist is not None:
            versions[point.dist.name] = point.dist.version
    return versions


def notes(more: Iterable[Path] = ()) -> list[dict[str, str]]:
    """Return what a run notes of the files that were loaded, and of others that it needs."""
    files = _LOADED | {path.resolve(): digest_of(path) for path in more}
    return [{"path": str(path), "digest": digest} for path, digest in files.items()]


def place_now(path: Path) -> Path:
    """Return where a file that a run notes was loaded from, which may be another of its name."""
    if path in _LOADED:
        return path
    return next((loaded for loaded in _LOADED if loaded.name == path.name), path)


def load_noted(
    noted: Sequence[tuple[str, str]], *, where: str, copies: Mapping[str, str] | None = None
) -> None:
    """Load the files that a run notes, given as path and digest, which must not have changed.

    One of the same name that was loaded already, as by --plugin, is taken instead. The copies that
    a run keeps are not loaded by themselves: whoever opens a run of others decides about its code.
    """
    names = {path.name for path in _LOADED}
    for path, digest in noted:
        if Path(path).name in names:
            continue
        copy = (copies or {}).get(path, "")
        if not Path(path).exists() and Path(copy).is_file():
            raise ConfigError(
                f"The file {path}, which {where} was trained with, is not there any more. The run "
                f"keeps a copy: add --plugin {copy}, if you trust it, as it is run."
            )
        if digest_of(Path(path)) != digest:
            raise ConfigError(
                f"The file {path} has changed since {where} began. Put the old one back, or add "
                f"--plugin {path} to use it as it is now."
            )
        load_plugins([path])


def digest_of(path: Path) -> str:
    """Return what tells a file from others."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(
            f"The plug-in {path} cannot be read: {(error.strerror or str(error)).lower()}. Give "
            "the place of a Python file with --plugin."
        ) from None


class FromSource(SourceFileLoader):
    """Compiles a file each time: Python's kept bytecode misses a change within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is now."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def module_in(path: Path, *, what: str) -> ModuleType:
    """Return the module in a file; the same one if it was asked for before."""
    path = path.resolve()
    name = f"dred_user_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = FromSource(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if not path.is_file() or spec is None:
        raise ConfigError(f"There is no file {path} to take a {what} from.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
