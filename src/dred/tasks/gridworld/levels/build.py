"""Making sets of levels: on all cores, in constant memory, the same for any number of workers.

Level i of a structure depends only on the set's name, the seed, the structure and i; if it
happens to equal an earlier level of the set, it is drawn again from a derived seed. Work is cut
into pieces that threads take in any order and that are put back in order.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import SupportsIndex, TypeVar

import numpy as np
from jaxtyping import Bool, Int32, UInt64

from dred import progress
from dred.errors import ConfigError, DatasetError
from dred.files import check_writable
from dred.tasks.gridworld.config import CaveEscapeConfig
from dred.tasks.gridworld.levels import placement
from dred.tasks.gridworld.levels.cave_escape import rules_of
from dred.tasks.gridworld.levels.compiled import mark_new, seed_from, sub_seed
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.growing import Contents, Growing, Records
from dred.tasks.gridworld.levels.level import ANY_HEADING
from dred.tasks.gridworld.levels.packing import MadeLayouts
from dred.tasks.gridworld.levels.placement import CONTRADICTION, NOT_PLACED, TOO_SMALL, Made
from dred.tasks.gridworld.levels.plan import Plan, make_plan
from dred.tasks.gridworld.levels.wfc.structures import Structure

CELLS_PER_PIECE = 40_000  # about 240 levels of 13×13, or 21 of 43×43
MAX_REDRAWS = 1000  # of a level that equals an earlier one


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


Some = TypeVar("Some", Made, MadeLayouts)
MakePiece = Callable[[int, range, Bool[np.ndarray, " 1"], int], Some]
"""Makes some of one structure: its position, their numbers, a flag to stop early, which redraw."""


def made_pieces(
    plan: Plan, *, workers: int | None = None, done: int = 0, seen: Seen | None = None
) -> Iterator[Made]:
    """The levels of a set in order, in pieces, from number `done` on."""
    return pieces_in_order(plan, partial(_make_piece, plan), workers=workers, done=done, seen=seen)


def pieces_in_order(
    plan: Contents,
    make_piece: MakePiece[Some],
    *,
    workers: int | None = None,
    done: int = 0,
    seen: Seen | None = None,
) -> Iterator[Some]:
    """All that is planned, in order, in pieces, from number `done` on, none of it twice."""
    workers = os.cpu_count() or 1 if workers is None else workers
    if workers < 1:
        raise ConfigError(f"workers (={workers}) must be at least 1.")
    seen = seen or Seen(sum(plan.counts))
    pieces = _pieces(plan, done)
    stop = np.zeros(1, np.bool_)
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[int, range, Future[Some]]] = deque()

        def submit(few: int) -> None:
            for which, numbers in islice(pieces, few):
                waiting.append((which, numbers, pool.submit(make_piece, which, numbers, stop, 0)))

        try:
            submit(2 * workers)
            while waiting:
                which, numbers, future = waiting.popleft()
                made = future.result()
                submit(1)
                _redraw_repeated(plan, make_piece, which, numbers, made, seen)
                yield made
        finally:
            stop[0] = True
            pool.shutdown(wait=True, cancel_futures=True)


def _pieces(plan: Contents, done: int) -> Iterator[tuple[int, range]]:
    """The work, in order: the position of a structure, and a run of numbers."""
    step = max(1, CELLS_PER_PIECE // math.prod(plan.shape))
    before = 0
    for which, count in enumerate(plan.counts):
        for first in range(min(max(done - before, 0), count), count, step):
            yield which, range(first, min(first + step, count))
        before += count


def make_fresh(plan: Plan, number: int, count: int) -> Made:
    """Levels by the same process as a plan's set, structures taking turns; `number` says which.

    They are fresh: those of the set, and of other numbers, appear among them only by chance.
    """
    stop = np.zeros(1, np.bool_)
    structures = plan.structures
    pieces = [
        make_some(
            plan,
            structure,
            range(len(range(index, count, len(structures)))),
            stop,
            stream=seed_from(f"{plan.config.name}/{structure.name}/fresh", number),
        )
        for index, structure in enumerate(structures[:count])
    ]
    order = np.argsort(
        np.concatenate([np.arange(i, count, len(structures)) for i in range(len(pieces))])
    )
    return Made(*(np.concatenate(parts)[order] for parts in zip(*pieces, strict=True)))


def _make_piece(
    plan: Plan, which: int, numbers: range, stop: Bool[np.ndarray, " 1"], redraw: int
) -> Made:
    """Make the levels of the plan's set with these numbers, unless told to stop."""
    structure = plan.structures[which]
    stream = stream_of(plan.config.name, structure.name, plan.seed, redraw)
    return make_some(plan, structure, numbers, stop, stream=stream)


def stream_of(name: str, structure: str, seed: int, redraw: int) -> np.uint64:
    """The seed of all levels of one structure of a set."""
    return sub_seed(seed_from(f"{name}/{structure}", seed), redraw)


def make_some(
    plan: Plan,
    structure: Structure,
    numbers: range,
    stop: Bool[np.ndarray, " 1"],
    *,
    stream: np.uint64,
) -> Made:
    """Make the levels with these numbers of a stream, unless told to stop."""
    side = plan.config.inside
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
    if (made.outcome == CONTRADICTION).any():
        raise structure.contradiction(side, side)
    check_outcomes(made.outcome, structure.name, plan.shape, plan.config.tiles)
    return made


def check_outcomes(
    outcome: Int32[np.ndarray, " batch"],
    structure: str,
    shape: tuple[int, int],
    tiles: CaveEscapeConfig,
) -> None:
    """Stop if a level could not be made in any layout of a structure."""
    size = f"{shape[0]}×{shape[1]}"
    if (outcome == TOO_SMALL).any():
        raise DatasetError(
            f"Structure {structure!r} gave no usable {size} layout in {placement.MAX_LAYOUTS} "
            f"tries: none had {tiles.min_navigable} connected floor cells. Draw more floor into "
            "its pattern, or lower min_navigable."
        )
    if (outcome == NOT_PLACED).any():
        raise DatasetError(
            f"Structure {structure!r}: {placement.MAX_PLACEMENTS} placements on each of many "
            f"{size} layouts gave no level with moss and lava on the asked side of the "
            "goal. Set only_correlated = false, a lower temperature, or larger layouts."
        )


def _redraw_repeated(
    plan: Contents,
    make_piece: MakePiece[Some],
    which: int,
    numbers: range,
    made: Some,
    seen: Seen,
) -> None:
    """Draw again, until it is new, each level that equals an earlier one."""
    for position in np.flatnonzero(~seen.add(made.fingerprint)):
        number = numbers[int(position)]
        for redraw in range(1, MAX_REDRAWS):
            alone = range(number, number + 1)
            again = make_piece(which, alone, np.zeros(1, np.bool_), redraw)
            if seen.add(again.fingerprint)[0]:
                for part, new in zip(made, again, strict=True):
                    part[position] = new[0]
                break
        else:
            raise DatasetError(
                f"Structure {plan.names[which]!r} has too few different levels at this size: "
                f"number {number} equalled an earlier one in each of {MAX_REDRAWS} draws. Ask for "
                "fewer levels, a larger size, or more structures."
            )


def make_file(plan: Plan, path: Path, *, workers: int | None = None) -> str:
    """Make a set of levels straight to an `.npz` file, with a progress bar; returns its digest."""
    check_boards(plan)
    return grow_file(plan, partial(_make_piece, plan), path, workers=workers)


def check_boards(plan: Plan) -> None:
    """Stop now, before any work, at a structure that does not fit the size."""
    for structure in plan.structures:
        structure.board(*plan.shape)


def grow_file(
    plan: Contents,
    make_piece: MakePiece[Some],
    path: Path,
    *,
    records: Records | None = None,
    workers: int | None = None,
) -> str:
    """Make all that is planned straight to a file, in constant memory; returns its digest."""
    check_writable(path)
    count = sum(plan.counts)
    with Growing.open(plan, path, records) as grown:
        seen = Seen(count)
        for fingerprints in grown.fingerprints():
            seen.add(fingerprints)
        with progress.bar(plan.title, count, unit="levels", done=grown.done) as advance:
            for made in pieces_in_order(
                plan, make_piece, workers=workers, done=grown.done, seen=seen
            ):
                grown.append(made)
                advance(len(made.fingerprint))
        return grown.finish()
