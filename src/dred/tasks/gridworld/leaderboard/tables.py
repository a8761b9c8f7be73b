"""The leaderboard as tables: what is shown, and the numbers behind it."""

import math
from collections.abc import Sequence

from dred.evaluation.statistics import deviation
from dred.reports.kit.table import NOTHING, Cell, Table, Value, counted
from dred.tasks.gridworld.leaderboard.columns import COLUMNS, Column
from dred.tasks.gridworld.leaderboard.compare import Comparison
from dred.tasks.gridworld.leaderboard.lines import Line, best_in
from dred.tasks.gridworld.leaderboard.measures import Number

NOTE = (
    "Bold: the best generator of a column, and all that cannot be told from it (two standard "
    "errors: over seeds where there are three or more, over levels otherwise). Nothing is bold "
    "where all are alike, and the sets themselves and the true process do not take part. "
    "± is the standard deviation over seeds."
)


def columns_for(lines: Sequence[Line]) -> list[Column]:
    """Return the columns in which anything is known."""
    return [
        column
        for column in COLUMNS
        if any(math.isfinite(value) for line in lines for value in line.values(column.name))
    ]


def leaderboard(found: Comparison) -> Table:
    """Return a line for each source, fits with several seeds as one."""
    columns = columns_for(found.lines)
    best = {column.name: best_in(found.lines, column) for column in columns}
    rows = [
        (
            Cell(line.name, about(line)),
            *(cell(line, column, line.name in best[column.name]) for column in columns),
        )
        for line in found.lines
    ]
    header, data = numbers_of(found)
    return Table(
        "leaderboard",
        "Generators",
        ("levels from", *(column.heading for column in columns)),
        tuple(rows),
        header,
        data,
        NOTE,
    )


def about(line: Line) -> str:
    """Return what a line is of."""
    count = round(line.mean("levels"))
    words = [counted(count, "level")]
    if line.source.model is not None:
        words.insert(0, line.source.model.kind)
        if len(line.rows) > 1:
            words.append(counted(len(line.rows), "seed"))
    if any(row.source.fitted_elsewhere for row in line.rows):
        words.append("fitted to other levels")
    return ", ".join(words)


def cell(line: Line, column: Column, is_best: bool) -> Cell:
    """Return what is shown at one place: the mean, and the deviation over seeds."""
    value, spread = line.mean(column.name), deviation(line.values(column.name))
    if math.isnan(value):
        return Cell(NOTHING)
    extra = "" if math.isnan(spread) else f"± {shown(spread, column)}"
    return Cell(shown(value, column), extra, bold=is_best)


def shown(value: float, column: Column) -> str:
    """Return a number as this column shows it."""
    if column.percent:
        return f"{100 * value:.1f}\u00a0%"
    digits = column.digits if abs(value) < 1000 else 0
    return f"{value:z.{digits}f}"


def numbers_of(found: Comparison) -> tuple[tuple[str, ...], tuple[tuple[Value, ...], ...]]:
    """Return all numbers: a row for each source, and one for the mean of several seeds."""
    structures = [f"structure/{name}" for name in found.structures]
    names = ["levels", *(column.name for column in COLUMNS), *structures]
    header = ("levels_from", "role", "kind", "seed", "fits", "fitted_to_these_levels")
    data: list[tuple[Value, ...]] = []
    nothing = Number(math.nan)
    for line in found.lines:
        for row in line.rows:
            source = row.source
            kind = "" if source.model is None else source.model.kind
            seed: Value = "" if source.seed is None else source.seed
            here = "" if source.model is None else str(not source.fitted_elsewhere).lower()
            numbers = [row.numbers.get(name, nothing) for name in names]
            facts: tuple[Value, ...] = (source.name, source.role, kind, seed, 1, here)
            data.append((*facts, *(value for one in numbers for value in one)))
        if len(line.rows) > 1:
            source = line.source
            kind = "" if source.model is None else source.model.kind
            facts = (line.name, source.role, kind, "", len(line.rows), "")
            means = [(line.mean(name), deviation(line.values(name))) for name in names]
            data.append((*facts, *(value for one in means for value in one)))
    pairs = [part for name in names for part in (name, f"{name}_error")]
    return (*header, *pairs), tuple(data)


def structure_table(found: Comparison) -> Table | None:
    """Return which share of each source's levels has each structure; None if they are not known."""
    if not found.structures:
        return None
    names = [f"structure/{name}" for name in found.structures]
    rows: list[tuple[Cell, ...]] = []
    for line in found.lines:
        values = [line.mean(name) for name in names]
        none = 1.0 - sum(values)
        rows.append((Cell(line.name), *(Cell(f"{100 * v:.1f}\u00a0%") for v in (*values, none))))
    known = (
        ""
        if math.isnan(found.recognised)
        else f" Of held-out levels, {found.recognised:.1%} are given the structure that they were "
        "made from."
    )
    return Table(
        "structures",
        "Structures of the levels",
        ("levels from", *found.structures, "none"),
        tuple(rows),
        (),
        (),
        "By the windows of 3×3 cells, floor or wall, of which a level's layout consists." + known,
    )
