"""The folders that the page shows, and the names by which it asks for what is in them.

A name is the label of a folder that is served, and a path in it with `/` between its parts. No name
leads out of these folders: neither by `..`, nor by a link.
"""

import os
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from dred.errors import ConfigError
from dred.storage import meta_of

Kind = Literal["levels", "generator", "run", "report"]
MARKS: dict[str, Kind] = {"run.json": "run", "generator.json": "generator"}  # files in folders
REPORT = "report.html"
DEEPEST, MOST_FOLDERS = 5, 4000  # of what is looked through


class Found(NamedTuple):
    """Something in a folder that the page can show."""

    kind: Kind
    name: str
    path: Path
    meta: dict[str, object]  # of a set of levels


class Places:
    """The folders that are served, by their labels."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.roots: dict[str, Path] = {}
        for folder in folders:
            root = folder.resolve()
            if not root.is_dir():
                raise ConfigError(
                    f"{folder} is not a folder. Give run folders, or folders that have runs, sets "
                    "of levels or generators in them."
                )
            if root not in self.roots.values():
                self.roots[self._free_label(root.name or "root")] = root

    def _free_label(self, wanted: str) -> str:
        label, number = wanted, 2
        while label in self.roots:
            label, number = f"{wanted}-{number}", number + 1
        return label

    @property
    def home(self) -> str:
        """Return the label of the folder in which new files are written."""
        plain = [label for label, root in self.roots.items() if not (root / "run.json").exists()]
        return (plain or list(self.roots))[0]

    def find(self, name: str) -> Path:
        """Return the file or folder of a name, which must exist."""
        path = self._inside(name)
        if not path.exists():
            raise ConfigError(f"There is no {name!r} any more. Load the page again.")
        return path

    def new(self, name: str, *, suffix: str = "") -> Path:
        """Return where a new file or folder of a name is to be; its folder must be no run's."""
        path = self._inside(name)
        if suffix and path.suffix != suffix:
            raise ConfigError(f"{name!r} must end with {suffix}. Give another name.")
        if path in self.roots.values():
            raise ConfigError("A new file needs a name. Give one.")
        for above in path.parents:
            if any((above / mark).exists() for mark in MARKS):
                raise ConfigError(
                    f"{name!r} would be inside a run or a generator, which stay as they were made. "
                    "Give another place."
                )
            if above in self.roots.values():
                break
        return path

    def _inside(self, name: str) -> Path:
        label, _, rest = name.partition("/")
        root = self.roots.get(label)
        parts = [part for part in rest.split("/") if part]
        if root is None or "\\" in name or "\0" in name or any(p in (".", "..") for p in parts):
            raise ConfigError(f"{name!r} is not in a folder that is served here.")
        try:
            path = root.joinpath(*parts).resolve()
        except (OSError, RuntimeError):  # a name that is too long, or links in a circle
            path = Path()
        if path != root and root not in path.parents:
            raise ConfigError(f"{name!r} leads out of the folder that is served here.")
        return path

    def scan(self, *kinds: Kind) -> list[Found]:
        """Return all that there is to show of these kinds, or of any, in order of names."""
        wanted, found = kinds or get_args(Kind), list[Found]()
        for label, root in self.roots.items():
            for folder, files in _folders(root):
                name = "/".join((label, *folder.relative_to(root).parts))
                found += _in_folder(name, folder, files, wanted)
        return sorted(found, key=lambda one: (one.kind, one.name))

    def listed(self) -> dict[str, object]:
        """Return all that there is to show, by kind."""
        kinds: dict[str, list[dict[str, object]]] = {kind: [] for kind in get_args(Kind)}
        for one in self.scan():
            facts = {
                name: one.meta.get(name)
                for name in ("levels", "height", "width", "sizes", "task", "damaged")
            }
            count = facts["levels"] if facts["levels"] is not None else one.meta.get("count")
            kinds[one.kind].append({"name": one.name, **facts, "levels": count})
        return {"home": self.home, **kinds}


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Walk through a folder, not into hidden ones, links, runs and generators."""
    for seen, (place, folders, files) in enumerate(os.walk(root)):
        folder = Path(place)
        depth = len(folder.relative_to(root).parts)
        is_whole = bool(MARKS.keys() & set(files)) or depth >= DEEPEST
        folders[:] = [] if is_whole else sorted(one for one in folders if _is_plain(one))
        yield folder, sorted(one for one in files if not one.startswith("."))
        if seen >= MOST_FOLDERS:
            return


def _is_plain(folder: str) -> bool:
    return not folder.startswith(".") and folder not in ("node_modules", "__pycache__")


def _in_folder(
    name: str, folder: Path, files: list[str], wanted: Collection[Kind]
) -> Iterator[Found]:
    for mark, kind in MARKS.items():
        if mark in files:
            if kind in wanted:
                yield Found(kind, name, folder, {})
            return
    for file in files:
        path = folder / file
        if path.is_symlink():
            continue
        if file == REPORT and "report" in wanted:
            yield Found("report", f"{name}/{file}", path, {})
        meta = _meta(path) if path.suffix == ".npz" and "levels" in wanted else None
        if meta is not None and meta.get("kind") != "policy":
            yield Found("levels", f"{name}/{file}", path, meta)


def _meta(path: Path) -> dict[str, object] | None:
    """Return what a set says of itself; that it is damaged, if it is no whole file of arrays."""
    return meta_of(path) if zipfile.is_zipfile(path) else {"damaged": True}
