"""Sets of levels that are open: files, and the buffers of runs as they were last saved.

What was read is kept until its file changes, a few sets at a time.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
from jaxtyping import Float

from dred.checkpoint import checkpoints_in, update_of
from dred.errors import ConfigError, DatasetError, DredError
from dred.registry import find_task
from dred.runs import Run, open_run
from dred.storage import meta_of
from dred.studio.places import Places
from dred.task import Feature, LevelSet, Task

BUFFER = "::buffer"  # after the name of a run; then -SEED, and @UPDATE if not the newest is meant
MOST_OPEN, MOST_BUFFERS = 8, 24
FACTS = {  # what is known of a level in a buffer
    "probability": Feature("probability", percent=True),
    "score": Feature("score"),
    "best": Feature("highest return so far"),
    "number": Feature("number"),
    "parent": Feature("number of its parent"),
    "generation": Feature("generation"),
    "birth": Feature("updates when it was admitted"),
}

KeptT = TypeVar("KeptT")


class Kept(Generic[KeptT]):
    """What was made from files, until they change; at most so many."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self.most = most
        self._kept: OrderedDict[object, KeptT] = OrderedDict()
        self._lock = threading.RLock()  # what is asked for twice is made once

    def get(self, key: object, make: Callable[[], KeptT]) -> KeptT:
        """Return what was made for this key, or make it."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
            return self._kept[key]

    def drop(self, key: object) -> None:
        """Forget what was made for this key."""
        with self._lock:
            self._kept.pop(key, None)

    def keys(self) -> list[object]:
        """Return for what something is kept."""
        with self._lock:
            return list(self._kept)


@dataclass(frozen=True, eq=False)
class OpenSet:
    """A set of levels with its task, and what is known of each level."""

    task: Task
    levels: LevelSet
    facts: Mapping[str, Float[np.ndarray, " level"]]  # by the names in FACTS; may be empty

    @cached_property
    def columns(self) -> dict[str, Float[np.ndarray, " level"]]:
        """Return the facts and the features of all levels."""
        measured = {} if self.task.measure is None else self.task.measure(self.levels.levels)
        return {**self.facts, **measured}

    @property
    def features(self) -> dict[str, Feature]:
        """Return what the columns are."""
        known = {**FACTS, **self.task.features}
        return {name: known.get(name, Feature(name.replace("_", " "))) for name in self.columns}

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401  (a level of the task)
        """Return one level."""
        if not 0 <= index < len(self.levels):
            raise DatasetError(f"There is no level {index}: the set has {len(self.levels)}.")
        return self.levels[index]


def stamp(path: Path) -> tuple[str, int, int]:
    """Return what changes whenever a file is replaced."""
    told = path.stat()
    return str(path), told.st_mtime_ns, told.st_size


class Shelf:
    """Opens sets by their names."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._open: Kept[OpenSet] = Kept()
        self._buffers: Kept[OpenSet] = Kept(MOST_BUFFERS)

    def open(self, name: str) -> OpenSet:
        """Return a set: of a file, or the buffer of a run."""
        run, mark, rest = name.partition(BUFFER)
        if mark:
            seed, _, update = rest.lstrip("-").partition("@")
            return self.buffer(run, whole(seed), whole(update) if update else None)
        path = self.places.find(name)
        return self._open.get(stamp(path), lambda: _read(path))

    def exact(self, name: str) -> tuple[str, OpenSet]:
        """Return a set, and a name that goes on to mean it: of a buffer, with its update.

        A page that heard of a checkpoint a moment ago may find it gone: it asks for the newest.
        """
        run, mark, rest = name.partition(BUFFER)
        if not mark or "@" in rest:
            return name, self.open(name)
        update, there = self._newest(open_run(self.places.find(run)), whole(rest.lstrip("-")))
        return (name if update is None else f"{name}@{update}"), there

    def buffer(self, name: str, seed: int, update: int | None = None) -> OpenSet:
        """Return the buffer of a run: as it was last saved, or after an update that was seen.

        A run keeps few checkpoints; what was once read from them stays here for longer.
        """
        run = open_run(self.places.find(name))
        return self._newest(run, seed)[1] if update is None else self._after(run, seed, update)

    def _newest(self, run: Run, seed: int) -> tuple[int | None, OpenSet]:
        """Return the buffer as it was last saved, and after which update that was.

        Training may drop a checkpoint before it is read here: then there is a newer one.
        """
        while True:
            update = newest_update(run)
            try:
                return update, self._after(run, seed, update)
            except (DredError, OSError):
                if newest_update(run) == update:
                    raise

    def _after(self, run: Run, seed: int, update: int | None) -> OpenSet:
        key = (str(run.path), run.record.started, seed, update)
        return self._buffers.get(key, lambda: _read_buffer(run, seed, update))

    def numbered(self, name: str, number: int) -> tuple[OpenSet, int]:
        """Return a level by its number in any buffer of a run and seed that is still known."""
        run, _, rest = name.partition(BUFFER)
        seed = whole(rest.lstrip("-"))
        for update in reversed(self.updates(run, seed)):
            there = self.buffer(run, seed, update)
            places = np.flatnonzero(there.facts["number"] == number)
            if len(places):
                return there, int(places[0])
        raise DatasetError(f"No level of the number {number} is on record.")

    def begun(self, name: str) -> str:
        """Return when the run of a buffer began, which another run of its name did not."""
        return open_run(self.places.find(name.partition(BUFFER)[0])).record.started

    def updates(self, name: str, seed: int) -> list[int]:
        """Return after which updates the buffer of a run can be shown, oldest first."""
        run = open_run(self.places.find(name))
        known = {update_of(path) for path in checkpoints_in(run.checkpoints)}
        first = (str(run.path), run.record.started, seed)
        keys = cast("list[tuple[Any, ...]]", self._buffers.keys())
        return sorted(known | {key[3] for key in keys if key[:3] == first})


def newest_update(run: Run) -> int | None:
    """Return after how many updates a run was last saved; None if it never was."""
    newest = checkpoints_in(run.checkpoints)[-1:]
    return update_of(newest[0]) if newest else None


def whole(said: str) -> int:
    """Return a number in the name of a buffer."""
    if not said.isdecimal() or len(said) > 11:
        raise ConfigError(f"Seeds and updates are whole numbers, not {said!r}.")
    return int(said)


def _read(path: Path) -> OpenSet:
    meta = meta_of(path)
    if meta is None:
        raise DatasetError(
            f"{path.name} is not a set of levels that dred wrote, or it is damaged. Make or copy "
            "it again."
        )
    task = find_task(str(meta.get("task", "gridworld")))
    levels = task.level_format.load(path)
    noted = {name: cast("Any", levels.meta.get(name)) for name in FACTS}
    facts = {
        name: np.array([np.nan if one is None else one for one in column], np.float64)
        for name, column in noted.items()
        if isinstance(column, list) and len(cast("list[object]", column)) == len(levels)
    }
    return OpenSet(task, levels, facts)


def _read_buffer(run: Run, seed: int, update: int | None) -> OpenSet:
    saved = run.buffer(seed, update=update)
    facts = {name: np.asarray(getattr(saved, name), np.float64) for name in FACTS}
    return OpenSet(run.task, saved.levels, facts)
