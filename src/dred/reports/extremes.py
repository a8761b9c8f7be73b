"""The levels in which agents do best and worst."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dred.reports.kit.drawing import Drawing
from dred.reports.kit.pictures import Picture
from dred.reports.kit.sheet import sheet
from dred.reports.kit.table import NOTHING, Cell, Table, number
from dred.reports.material import Material, Method, Suite


class Extreme(NamedTuple):
    """A level at one end of how a method did in a suite."""

    suite: str
    method: str
    kind: str  # worst or best
    level: int
    structure: str
    solved: float
    returned: float
    optimal: float  # NaN if it is not known


def extremes_of(material: Material, *, most: int = 6) -> list[Extreme]:
    """Return the worst and best levels of each method on each suite."""
    return [
        one
        for suite in material.suites
        for method in material.methods
        for one in ends_of(method, suite, most)
    ]


def ends_of(method: Method, suite: Suite, most: int) -> list[Extreme]:
    """Return levels by what was missing to their optimal return, or by return if that is not known.

    So of levels that were never solved, the easiest are the worst. Ties are in order of number.
    """
    scores = method.scores[suite.name]
    returned, solved = scores.returned.mean(axis=0), scores.solved.mean(axis=0)
    optimal = np.full(suite.count, np.nan) if suite.optimal is None else suite.optimal
    missing = np.where(np.isnan(optimal), -returned, optimal - returned)
    most = min(most, max(1, suite.count // 2))
    ends = {
        "worst": np.argsort(-missing, kind="stable")[:most],
        "best": np.argsort(missing, kind="stable")[:most],
    }
    structure = [""] * suite.count if suite.levels is None else suite.levels.structure.tolist()
    return [
        Extreme(
            suite.name,
            method.name,
            kind,
            int(level),
            structure[level],
            float(solved[level]),
            float(returned[level]),
            float(optimal[level]),
        )
        for kind, levels in ends.items()
        for level in levels
    ]


def extremes_table(extremes: Iterable[Extreme], suite: str) -> Table:
    """Return the best and worst levels of one suite."""
    mine = [one for one in extremes if one.suite == suite]
    return Table(
        f"levels-{suite}",
        f"Worst and best levels of {suite}",
        ("Method", "End", "Level", "Structure", "Solved", "Return", "Optimal return"),
        tuple(
            (
                Cell(one.method),
                Cell(one.kind),
                Cell(str(one.level)),
                Cell(one.structure or NOTHING),
                Cell(number(one.solved, percent=True)),
                Cell(number(one.returned)),
                Cell(number(one.optimal)),
            )
            for one in mine
        ),
        ("method", "end", "level", "structure", "solved", "return", "optimal_return"),
        tuple(tuple(one[1:]) for one in mine),
        "Means over seeds. Chosen and judged by the same episodes, so chance has a part in them.",
    )


def extremes_sheet(
    suite: str, extremes: Sequence[Extreme], pictures: Mapping[tuple[str, int], bytes]
) -> Drawing:
    """Return the worst and best levels of each method, as a file."""
    rows: dict[str, list[Picture]] = {}
    for one in extremes:
        if one.suite == suite:
            row = rows.setdefault(f"{one.method}: {one.kind} levels of {suite}", [])
            row.append(level_caption(one, pictures[suite, one.level]))
    return Drawing(f"levels-{suite}", f"Worst and best levels of {suite}.", sheet([*rows.items()]))


def level_caption(one: Extreme, png: bytes) -> Picture:
    """Return a level of a suite with how agents did in it."""
    possible = "" if np.isnan(one.optimal) else f" of {one.optimal:.2f}"
    lines = (f"solved {100 * one.solved:.0f}\u00a0%", f"return {one.returned:.2f}{possible}")
    return Picture(png, f"Level {one.level}", lines)
