"""Making sets of levels: on all cores, in constant memory, the same for any number of workers.

Level i of a structure depends only on the set's name, the seed, the structure and i; if it
happens to equal an earlier level of the set, it is drawn again from a derived seed. Work is cut
into pieces that threads take in any order and that are put back in order.

A set written to a file grows in a folder `NAME.partial` beside it. If the work is interrupted, the
same command continues from there, and the result is the same as if it had not been.
"""

import dataclasses
import fcntl
import json
import os
import shutil
import tomllib
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Bool, UInt64
from numpy.typing import NDArray

from dred import progress
from dred.config import DatasetConfig, check_seed, read_settings
from dred.errors import ConfigError, DatasetError, lookup
from dred.files import OutputError, cannot_write, check_writable, write_text
from dred.levels import placement, storage
from dred.levels.cave_escape import rules_of
from dred.levels.compiled import mark_new, seed_from, sub_seed
from dred.levels.dataset import LevelDataset
from dred.levels.level import ANY_HEADING
from dred.levels.placement import CONTRADICTION, NOT_PLACED, TOO_SMALL, Made
from dred.levels.wfc.structures import Structure, find_structure
from dred.presets import LEVEL_SETS

CELLS_PER_PIECE = 40_000  # about 240 levels of 13×13, or 21 of 43×43
MAX_REDRAWS = 1000  # of a level that equals an earlier one


@dataclass(frozen=True)
class Plan:
    """A set to make, with everything looked up."""

    config: DatasetConfig
    structures: tuple[Structure, ...]
    seed: int

    @property
    def counts(self) -> list[int]:
        """How many levels each structure gives: equally many, the first ones taking the rest."""
        each, rest = divmod(self.config.count, len(self.structures))
        return [each + (index < rest) for index in range(len(self.structures))]

    @property
    def recipe(self) -> dict[str, object]:
        """All that the levels depend on, for JSON."""
        return {
            "by": "dred levels make",
            "seed": self.seed,
            "config": dataclasses.asdict(self.config),
            "patterns": {
                structure.name: {
                    **vars(structure.config),
                    "symbols": structure.symbols,
                    "drawing": [
                        " ".join(str(number) for number in row) for row in structure.template
                    ],
                }
                for structure in self.structures
            },
        }


def find_config(name: str | Path) -> tuple[DatasetConfig, Path]:
    """The settings of a preset or a TOML file, and the folder that its files are relative to."""
    name = str(name)
    if not name.lower().endswith(".toml"):
        return lookup(LEVEL_SETS, name, what="level set (or .toml file)"), Path()
    path = Path(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        known = ", ".join(LEVEL_SETS)
        raise ConfigError(
            f"There is no file {path}. Give a TOML file or one of: {known}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    table.setdefault("name", path.stem)
    return read_settings(DatasetConfig, table, where=str(path)), path.parent


def make_plan(
    name: str | Path,
    *,
    seed: SupportsIndex = 0,
    count: int | None = None,
    size: int | None = None,
    structures: Sequence[str] = (),
) -> Plan:
    """What to make: a preset or a TOML file, with the caller's changes."""
    config, folder = find_config(name)
    changes: dict[str, object] = {"count": count, "size": size}
    config = replace(config, **{key: value for key, value in changes.items() if value is not None})
    if structures:
        names = (structures,) if isinstance(structures, str) else tuple(structures)
        config, folder = replace(config, structures=names), Path()
    found = tuple(_find(item, folder) for item in config.structures)
    repeated = [name for name, n in Counter(structure.name for structure in found).items() if n > 1]
    if repeated:
        raise ConfigError(
            f"Several structures are called {repeated[0]!r} (files are called by their name "
            "without the ending). Rename one of them, or name it only once."
        )
    return Plan(config, found, check_seed(seed))


def _find(item: str | Mapping[str, object], folder: Path) -> Structure:
    if isinstance(item, str):
        return find_structure(item, folder=folder)
    changes = dict(item)
    pattern = changes.pop("pattern", None)
    if not isinstance(pattern, str):
        raise ConfigError(
            "A structure given as a table needs a `pattern`, the name of a structure or of a "
            f"file: {dict(item)}."
        )
    return find_structure(pattern, folder=folder, changes=changes)


def make(
    name: str | Path,
    *,
    seed: SupportsIndex = 0,
    count: int | None = None,
    size: int | None = None,
    structures: Sequence[str] = (),
    workers: int | None = None,
) -> LevelDataset:
    """Make a set of levels in memory: a preset by name, or a TOML file.

    `dred.levels.make("cave-escape-train")` gives the same levels as
    `dred levels make cave-escape-train --out F.npz`.
    """
    plan = make_plan(name, seed=seed, count=count, size=size, structures=structures)
    pieces = list(made_pieces(plan, workers=workers))
    return LevelDataset(
        tiles=np.concatenate([piece.tiles for piece in pieces]),
        goal=np.concatenate([piece.goal for piece in pieces]),
        start=np.concatenate([piece.start for piece in pieces]),
        heading=np.full(plan.config.count, ANY_HEADING, np.int8),
        structure=np.repeat([structure.name for structure in plan.structures], plan.counts),
        meta={"made": plan.recipe},
    )


class Seen:
    """The fingerprints of the levels so far, in a table of fixed size.

    Two different levels may share a fingerprint; the second is then drawn again, which does no
    harm. Two equal levels always do share it.
    """

    def __init__(self, capacity: int) -> None:
        self._table = np.zeros(1 << (2 * capacity - 1).bit_length(), np.uint64)

    def add(self, fingerprints: UInt64[np.ndarray, " few"]) -> Bool[np.ndarray, " few"]:
        """Which of these had not been seen; all of them now have."""
        new = np.zeros(len(fingerprints), np.bool_)
        mark_new(self._table, fingerprints, new)
        return new


def made_pieces(
    plan: Plan, *, workers: int | None = None, done: int = 0, seen: Seen | None = None
) -> Iterator[Made]:
    """The levels of a set in order, in pieces, from number `done` on."""
    workers = os.cpu_count() or 1 if workers is None else workers
    if workers < 1:
        raise ConfigError(f"workers (={workers}) must be at least 1.")
    seen = seen or Seen(plan.config.count)
    pieces = _pieces(plan, done)
    stop = np.zeros(1, np.bool_)
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[Structure, range, Future[Made]]] = deque()

        def submit(few: int) -> None:
            for structure, numbers in islice(pieces, few):
                future = pool.submit(_make_piece, plan, structure, numbers, stop)
                waiting.append((structure, numbers, future))

        try:
            submit(2 * workers)
            while waiting:
                structure, numbers, future = waiting.popleft()
                made = future.result()
                submit(1)
                _redraw_repeated(plan, structure, numbers, made, seen)
                yield made
        finally:
            stop[0] = True
            pool.shutdown(wait=True, cancel_futures=True)


def _pieces(plan: Plan, done: int) -> Iterator[tuple[Structure, range]]:
    """The work, in order: runs of level numbers of one structure."""
    step = max(1, CELLS_PER_PIECE // plan.config.inside**2)
    before = 0
    for structure, count in zip(plan.structures, plan.counts, strict=True):
        for first in range(min(max(done - before, 0), count), count, step):
            yield structure, range(first, min(first + step, count))
        before += count


def _make_piece(
    plan: Plan,
    structure: Structure,
    numbers: range,
    stop: Bool[np.ndarray, " 1"],
    redraw: int = 0,
) -> Made:
    """Make the levels with these numbers, unless told to stop."""
    side = plan.config.inside
    stream = sub_seed(seed_from(f"{plan.config.name}/{structure.name}", plan.seed), redraw)
    made = placement.empty_batch(len(numbers), (side, side))
    placement.make_levels(
        structure.tables,
        structure.board(side, side),
        structure.is_wall,
        structure.config.max_attempts,
        rules_of(plan.config.tiles, part=plan.config.part, parts=plan.config.parts),
        stream,
        numbers.start,
        stop,
        made,
    )
    if (made.outcome == TOO_SMALL).any():
        raise DatasetError(
            f"Structure {structure.name!r} gave no usable {side}×{side} layout in "
            f"{placement.MAX_LAYOUTS} tries: none had {plan.config.tiles.min_navigable} connected "
            "floor cells. Draw more floor into its pattern, or lower min_navigable."
        )
    if (made.outcome == NOT_PLACED).any():
        raise DatasetError(
            f"Structure {structure.name!r}: {placement.MAX_PLACEMENTS} placements on each of many "
            f"{side}×{side} layouts gave no level with moss and lava on the asked side of the "
            "goal. Set only_correlated = false, a lower temperature, or larger layouts."
        )
    if (made.outcome == CONTRADICTION).any():
        raise structure.contradiction(side, side)
    return made


def _redraw_repeated(
    plan: Plan, structure: Structure, numbers: range, made: Made, seen: Seen
) -> None:
    """Draw again, until it is new, each level that equals an earlier one."""
    for position in np.flatnonzero(~seen.add(made.fingerprint)):
        number = numbers[int(position)]
        for redraw in range(1, MAX_REDRAWS):
            alone = range(number, number + 1)
            again = _make_piece(plan, structure, alone, np.zeros(1, np.bool_), redraw)
            if seen.add(again.fingerprint)[0]:
                for part, new in zip(made, again, strict=True):
                    part[position] = new[0]
                break
        else:
            raise DatasetError(
                f"Structure {structure.name!r} has too few different levels at this size: number "
                f"{number} equalled an earlier one in each of {MAX_REDRAWS} draws. Ask for fewer "
                "levels, a larger size, or more structures."
            )


def make_file(plan: Plan, path: Path, *, workers: int | None = None) -> str:
    """Make a set of levels straight to an `.npz` file, with a progress bar; returns its digest."""
    check_writable(path)
    for structure in plan.structures:
        structure.board(plan.config.inside, plan.config.inside)  # fails now if it must
    count = plan.config.count
    with Growing.open(plan, path) as growing:
        seen = Seen(count)
        for fingerprints in growing.fingerprints():
            seen.add(fingerprints)
        with progress.bar(plan.config.name, count, unit="levels", done=growing.done) as advance:
            for made in made_pieces(plan, workers=workers, done=growing.done, seen=seen):
                growing.append(made)
                advance(len(made.tiles))
        return growing.finish()


class Growing:
    """A set on its way to disk: raw arrays in a folder, and how many levels of them count."""

    PARTS = ("tiles", "goal", "start", "fingerprint")

    def __init__(self, plan: Plan, path: Path) -> None:
        self.plan, self.path, self.done = plan, path, 0
        self.folder = folder_of(path)
        side = plan.config.inside
        self.shapes = {"tiles": (side, side), "goal": (2,), "start": (2,), "fingerprint": ()}
        self.dtypes = {**storage.DTYPES, "fingerprint": "<u8"}

    @classmethod
    @contextmanager
    def open(cls, plan: Plan, path: Path) -> Generator["Growing"]:
        """Begin a set, or go on with one that was interrupted, as the only one to do so.

        What was made is kept if the work is interrupted or the disk is full, and only then.
        """
        growing = cls(plan, path)
        keep = (KeyboardInterrupt, OSError, OutputError)
        try:
            growing.folder.mkdir(exist_ok=True)
            lock = (growing.folder / "lock").open("w")
        except OSError as error:
            raise OutputError(cannot_write(growing.folder, error)) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DatasetError(
                    f"Another command is making {path} right now. Wait for it, or choose another "
                    "name with --out."
                ) from None
            growing.resume()
            try:
                yield growing
            except BaseException as error:
                if not growing.done or not isinstance(error, keep):
                    shutil.rmtree(growing.folder, ignore_errors=True)
                raise

    def resume(self) -> None:
        """Take up what an earlier run has left, as far as it is whole."""
        recipe = json.dumps(self.plan.recipe, sort_keys=True)
        noted = self.folder / "recipe.json"
        if noted.exists() and noted.read_text(encoding="utf-8") != recipe:
            raise DatasetError(
                f"{self.folder} holds an unfinished set with other settings or another seed. Give "
                "the command that began it to finish that one, or delete the folder."
            )
        write_text(noted, recipe)
        try:
            counted = int((self.folder / "done.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            counted = 0
        whole = [self._size(name) // self._bytes_per_level(name) for name in self.PARTS]
        self.done = max(0, min(counted, self.plan.config.count, *whole))
        for name in self.PARTS:  # drop what was written after the last count
            with (self.folder / name).open("ab") as stream:
                stream.truncate(self.done * self._bytes_per_level(name))

    def _size(self, name: str) -> int:
        path = self.folder / name
        return path.stat().st_size if path.exists() else 0

    def _bytes_per_level(self, name: str) -> int:
        return int(np.prod(self.shapes[name], dtype=int)) * np.dtype(self.dtypes[name]).itemsize

    def append(self, made: Made) -> None:
        """Add some levels; they count once they are safe on disk and the new count is written."""
        try:
            for name in self.PARTS:
                array = np.ascontiguousarray(getattr(made, name), self.dtypes[name])
                with (self.folder / name).open("ab") as stream:
                    stream.write(array.tobytes())
                    stream.flush()
                    os.fsync(stream.fileno())
            self.done += len(made.tiles)
            write_text(self.folder / "done.json", str(self.done))
        except OSError as error:
            kept = f"What was made is kept in {self.folder}; the same command continues."
            raise OutputError(cannot_write(self.path, error, instead=kept)) from error

    def _read(self, name: str, levels: int = 8192) -> Iterator[NDArray[np.generic]]:
        size = self._bytes_per_level(name) * levels
        with (self.folder / name).open("rb") as stream:
            while content := stream.read(size):
                yield np.frombuffer(content, self.dtypes[name]).reshape(-1, *self.shapes[name])

    def fingerprints(self) -> Iterator[NDArray[np.uint64]]:
        """The fingerprints of the levels so far."""
        for piece in self._read("fingerprint"):
            yield piece.astype(np.uint64)

    def _repeat(self, values: Sequence[object], levels: int = 65_536) -> Iterator[NDArray[Any]]:
        """One value for all levels of each structure, in pieces."""
        for value, count in zip(values, self.plan.counts, strict=True):
            for first in range(0, count, levels):
                yield np.full(min(levels, count - first), value)

    def finish(self) -> str:
        """Put the file together under its final name and remove the folder; its digest."""
        count = self.plan.config.count
        columns = {
            name: storage.Column(
                np.dtype(self.dtypes[name]), (count, *self.shapes[name]), self._read(name)
            )
            for name in ("tiles", "goal", "start")
        }
        names = [structure.name for structure in self.plan.structures]
        text = np.array(names).dtype
        columns["heading"] = storage.Column(
            np.dtype(np.int8), (count,), self._repeat([np.int8(ANY_HEADING)] * len(names))
        )
        columns["structure"] = storage.Column(text, (count,), self._repeat(names))
        side = self.plan.config.inside
        facts = {"levels": count, "height": side, "width": side, "solvable": count}
        with progress.bar("writing", count, unit="levels") as advance:
            columns["tiles"] = columns["tiles"]._replace(
                pieces=counted(columns["tiles"].pieces, advance)
            )
            digest = storage.write_file(self.path, columns, {"made": self.plan.recipe, **facts})
        shutil.rmtree(self.folder)
        return digest


def counted(pieces: Iterable[NDArray[Any]], advance: progress.Advance) -> Iterator[NDArray[Any]]:
    """The same pieces, telling a progress bar of each."""
    for piece in pieces:
        yield piece
        advance(len(piece))


def folder_of(path: Path) -> Path:
    """Where a set grows before it gets its final name."""
    return path.with_name(f"{path.name}.partial")
