"""Rows of the table: a generator each, and fits that differ in their seed alone as one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from jaxtyping import Float

from dred.evaluation.statistics import deviation
from dred.tasks.gridworld.leaderboard.columns import Column
from dred.tasks.gridworld.leaderboard.measures import Number
from dred.tasks.gridworld.leaderboard.sources import Source

NOISE = 2.0  # standard errors within which two numbers are not told apart
FEW_SEEDS = 3  # from which on the deviation over seeds is the error, and not that over levels


@dataclass(frozen=True)
class Row:
    """A source of levels with all that was measured of it."""

    source: Source
    numbers: Mapping[str, Number]


@dataclass(frozen=True)
class Line:
    """One source, or the fits of one model with several seeds."""

    name: str
    rows: tuple[Row, ...]

    @property
    def source(self) -> Source:
        """Return the first of its sources."""
        return self.rows[0].source

    def values(self, column: str) -> Float[np.ndarray, " fit"]:
        """Return what was measured of each source."""
        nothing = Number(math.nan)
        return np.array([row.numbers.get(column, nothing).value for row in self.rows])

    def mean(self, column: str) -> float:
        """Return the mean over seeds."""
        return float(self.values(column).mean())

    def error(self, column: str) -> float:
        """Return the standard error of the mean: over seeds if there are enough, or over levels."""
        count = len(self.rows)
        if count >= FEW_SEEDS:
            return deviation(self.values(column)) / math.sqrt(count)
        found = [row.numbers.get(column, Number(math.nan)).error for row in self.rows]
        known = [0.0 if math.isnan(one) else one for one in found]
        return math.sqrt(sum(one**2 for one in known)) / count


def lines_of(rows: Sequence[Row]) -> list[Line]:
    """Return rows in their order, fits of one model with several seeds together."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.source.group or row.source.name, []).append(row)
    names = [shared_name([row.source.name for row in some]) for some in groups.values()]
    if len(set(names)) < len(names):  # then each is called by all its folders
        names = [", ".join(row.source.name for row in some) for some in groups.values()]
    return [Line(name, tuple(some)) for name, some in zip(names, groups.values(), strict=True)]


def shared_name(names: Sequence[str]) -> str:
    """Return what several folders are called alike: vae of runs/vae-0 and runs/vae-1."""
    if len(names) == 1:
        return names[0]
    letters = zip(*names, strict=False)
    alike = takewhile(lambda some: len(set(some)) == 1, letters)
    start = "".join(some[0] for some in alike).rstrip("-_. 0123456789/")
    return start or ", ".join(names)


def best_in(lines: Sequence[Line], column: Column) -> set[str]:
    """Return the names of the best lines: the best and all that cannot be told from it.

    References do not take part. None is the best if all are.
    """
    playing = [
        line
        for line in lines
        if line.source.role != "reference" and math.isfinite(line.mean(column.name))
    ]
    if column.better == 0 or len(playing) < 2:
        return set()
    best = max(playing, key=lambda line: column.better * line.mean(column.name))

    def is_as_good(line: Line) -> bool:
        apart = abs(line.mean(column.name) - best.mean(column.name))
        return apart <= NOISE * math.hypot(line.error(column.name), best.error(column.name))

    found = {line.name for line in playing if line is best or is_as_good(line)}
    return set() if len(found) == len(playing) else found
