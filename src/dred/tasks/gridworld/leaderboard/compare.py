"""Compare generators: draw, measure, time, and write what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from dred import progress
from dred.compute import keep_compiled_programs
from dred.config import check_seed
from dred.errors import ConfigError, DatasetError
from dred.task import LevelSet
from dred.tasks.gridworld.generators.fitted import HasLikelihood
from dred.tasks.gridworld.leaderboard.lines import Line, Row, lines_of
from dred.tasks.gridworld.leaderboard.measures import (
    Number,
    Reference,
    mean_of,
    measure,
    reference_of,
)
from dred.tasks.gridworld.leaderboard.sources import (
    Source,
    open_folders,
    references,
    source_of,
)
from dred.tasks.gridworld.leaderboard.structures import NO_STRUCTURE
from dred.tasks.gridworld.leaderboard.timing import time_makers
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.dataset import load as load_levels
from dred.tasks.gridworld.levels.level import Level, has_outside, size_words

JUDGED_LIKELY = 256  # held-out levels of which the likelihood is taken
SAMPLES = 64  # for each of them
TIMED_FIRST = "random rooms"


@dataclass(frozen=True)
class Comparison:
    """What came of comparing generators."""

    dataset: LevelDataset
    held_out: LevelDataset | None
    count: int
    seed: int
    lines: tuple[Line, ...]
    structures: tuple[str, ...] = ()
    recognised: float = float("nan")  # share of held-out levels whose structure is found

    @property
    def notices(self) -> list[str]:
        """Return what readers should know of some of the generators."""
        return [
            f"{row.source.name} was fitted to other levels than those it is compared with, so "
            "novel, nearest and copied say little of it."
            for line in self.lines
            for row in line.rows
            if row.source.fitted_elsewhere
        ]


def compare_generators(
    folders: Sequence[str | Path],
    *,
    levels: str | Path | LevelSet,
    held_out: str | Path | LevelSet | None = None,
    count: int = 1024,
    seed: int = 0,
    timed: bool = True,
) -> Comparison:
    """Compare fitted generators with each other and with other sources of levels.

    Each makes so many levels from the same key. `timed` tells whether they are timed, too.
    """
    if count < 2:
        raise ConfigError(f"count (={count}) must be at least 2, to compare levels.")
    key = jax.random.key(check_seed(seed))
    dataset = opened(levels)
    judged = None if held_out is None else opened(held_out)
    if judged is not None and judged.shape != dataset.shape:
        raise DatasetError(
            f"The levels have {size_words(dataset.shape)} and those held out "
            f"{size_words(judged.shape)}. Compare with levels of one size."
        )
    for some in (dataset, dataset if judged is None else judged):
        if has_outside(some.tiles):
            raise DatasetError(
                "Generators are compared on levels of one size, and these have several. Keep those "
                "of one with `dred levels filter LEVELS --sizes 15 --out SOME`."
            )
    models = open_folders([Path(folder) for folder in folders], dataset)
    keep_compiled_programs()
    reference = reference_of(dataset, judged)
    total = len(models) + 5 - (judged is None)
    with progress.bar("comparing", total, unit="sources", first=progress.COMPILING) as advance:
        makers: list[Callable[[], list[Source]]] = [
            lambda: references(dataset, judged, count, key=key),
            *(lambda one=one: [source_of(one, dataset, count, key=key)] for one in models),
        ]
        rows: list[Row] = []
        for make in makers:
            for source in make():
                rows.append(row_of(source, reference, key=key, seed=seed))
                advance(1, note=source.name)
    if timed:
        rows = with_times(rows)
    return Comparison(
        dataset,
        judged,
        count,
        seed,
        tuple(lines_of(rows)),
        () if reference.structures is None else reference.structures.names,
        share_recognised(reference),
    )


def opened(levels: str | Path | LevelSet) -> LevelDataset:
    """Return a set of levels, read if it is a path."""
    return load_levels(levels) if isinstance(levels, str | Path) else cast(LevelDataset, levels)


def row_of(source: Source, reference: Reference, *, key: PRNGKeyArray, seed: int) -> Row:
    """Return all that can be measured of a source, but its time."""
    numbers = measure(source.levels, reference, seed=seed)
    judged = reference.held_out
    if judged is not None and isinstance(source.model, HasLikelihood):
        some = np.unique(np.linspace(0, len(judged) - 1, JUDGED_LIKELY).astype(np.int64))
        levels = Level(*(part[some] for part in judged.levels))
        found = source.model.log_likelihood(levels, key=key, samples=SAMPLES)
        numbers["likelihood"] = mean_of(np.asarray(found, np.float64))
    return Row(source, numbers)


def with_times(rows: Sequence[Row]) -> list[Row]:
    """Return rows with the time for a level, where it can be taken."""
    makers = {row.source.name: row.source.make for row in rows if row.source.make is not None}
    first = {name: make for name, make in makers.items() if name == TIMED_FIRST}
    times = time_makers(first | makers)
    found: list[Row] = []
    for row in rows:
        milliseconds, multiple = times.get(row.source.name, (float("nan"), float("nan")))
        timed = {"milliseconds": Number(milliseconds), "times": Number(multiple)}
        found.append(Row(row.source, {**row.numbers, **timed}))
    return found


def share_recognised(reference: Reference) -> float:
    """Return of which share of held-out levels the structure is found that they were made from."""
    structures, judged = reference.structures, reference.held_out
    if structures is None or judged is None or set(judged.structures) != set(structures.names):
        return float("nan")
    chosen = structures.of(judged.levels)
    names = np.array([*structures.names, ""])  # NO_STRUCTURE, −1, is the last
    assert NO_STRUCTURE == -1
    return float((names[chosen] == judged.structure).mean())
