"""The tables of the Procgen study by game, with the paper's numbers beside ours.

Each measurement has a table in the form of the paper's tb:procgen_train_scores,
tb:procgen_test_scores, tb:procgen_mi and tb:procgen_accuracy; `over-games` holds the numbers of its
figure fig:procgen_results. The other tables are in `comparisons`.
"""

import math
from collections.abc import Mapping, Sequence

from dred.evaluation.comparison import FEWEST_RUNS
from dred.reports import significance
from dred.reports.kit.table import NOTHING, Cell, Table, Value, between, number
from dred.reports.paper import PAPER_COLUMNS, Printed, paper_columns
from dred.tasks.procgen.analysis import Aggregate, Findings, best_of
from dred.tasks.procgen.comparisons import correlations, probabilities_of_improvement, sizes
from dred.tasks.procgen.controls import beside_untrained
from dred.tasks.procgen.outcomes import (
    MEASURES,
    Measure,
    Outcome,
    Spread,
    by_game,
    spread_of,
    strategies_of,
)
from dred.tasks.procgen.paper import ALL, NUM_LEVELS, printed
from dred.tasks.procgen.shown import INTERVALS, capital, ends, interval_note, plus_minus

NOBODY = Spread(0, math.nan, math.nan)
NORMALISED_NOTE = (
    "Normalised: divided by the mean test score of uniform in the same game, before taking means "
    "over games. "
)
IN_PAPER = f"Small print: the paper, with {NUM_LEVELS} levels, after 25 million transitions."
SAME_GAMES = "Means over games count only games in which all strategies were measured. "


def all_tables(findings: Findings) -> dict[str, Table]:
    """Return every table, by name."""
    tables = [
        over_games(findings),
        *(per_game(findings, measure) for measure in MEASURES),
        correlations(findings),
        probabilities_of_improvement(findings),
        sizes(findings),
        beside_untrained(findings),
        all_outcomes(findings.outcomes),
    ]
    return {table.name: table for table in tables}


def per_game(findings: Findings, measure: Measure) -> Table:
    """Return one measurement: games × strategies, and the mean over games in the last row."""
    strategies = strategies_of(findings.usual)
    table = by_game(findings.usual, measure.key)
    over = {name: one.by_run for name, one in findings.over[measure.over_games].items()}
    is_ratio = measure.over_games != measure.key
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for game, here in {**table, ALL: over}.items():
        last = game == ALL
        percent = measure.percent or (last and is_ratio)
        key = measure.over_games if last else measure.key
        label = f"all games, {measure.over_games_label}" if last else game
        rows.append((Cell(label + (", per cent" if percent and last else "")),))
        best = best_of(here, higher=measure.higher)
        for name in strategies:
            mine = spread_of(here[name]) if name in here else NOBODY
            paper = printed(game, name, key)
            rows[-1] += (
                Cell(
                    plus_minus(mine, percent=percent),
                    in_paper(paper, percent=percent, digits=measure.printed_digits),
                    name in best,
                ),
            )
            data.append((game, name, *mine, int(name in best), *paper_columns(paper)))
    unit = ", per cent" if measure.percent else ""
    return Table(
        measure.table,
        f"{measure.label}{unit}, mean ± standard deviation over seeds",
        ("Game", *strategies),
        tuple(rows),
        ("game", "strategy", "runs", "mean", "deviation", "is_best", *PAPER_COLUMNS),
        tuple(data),
        bold_note(findings.usual, higher=measure.higher)
        + (NORMALISED_NOTE if is_ratio else "")
        + SAME_GAMES
        + IN_PAPER,
    )


def in_paper(known: Printed | None, *, percent: bool, digits: int) -> str:
    """Return the paper's number as it prints it, for small print."""
    if known is None:
        return ""
    spread = Spread(5, known.mean, math.nan if known.spread is None else known.spread)
    return f"paper {plus_minus(spread, percent=percent, digits=digits)}"


def bold_note(outcomes: Sequence[Outcome], *, higher: bool) -> str:
    """Return what bold means, or why nothing is bold."""
    if len(strategies_of(outcomes)) < 2:
        return ""
    enough = len({one.seed for one in outcomes}) >= FEWEST_RUNS
    return significance.bold_note([enough], word="best" if higher else "lowest")


def over_games(findings: Findings) -> Table:
    """Return each measurement as a mean over games, with intervals."""
    over = findings.over
    best = {measure.key: best_among(over[measure.over_games], measure) for measure in MEASURES}
    rows = tuple(
        (
            Cell(name),
            *(
                aggregate_cell(over[one.over_games].get(name), one, bold=name in best[one.key])
                for one in MEASURES
            ),
        )
        for name in strategies_of(findings.usual)
    )
    data = tuple(
        (name, key, one.games, len(one.by_run), one.value, *ends(one.intervals), *paper)
        for key, here in over.items()
        for name, one in here.items()
        for paper in [paper_columns(printed(ALL, name, key))]
    )
    arrows = {True: "↑", False: "↓"}
    return Table(
        "over-games",
        "Means over games",
        ("Strategy", *(f"{capital(m.over_games_label)} {arrows[m.higher]}" for m in MEASURES)),
        rows,
        (
            *("strategy", "measure", "games", "runs", "mean", *INTERVALS),
            *PAPER_COLUMNS,
        ),
        data,
        f"{bold_note(findings.usual, higher=True)}{NORMALISED_NOTE}{SAME_GAMES}"
        + interval_note(findings.usual),
    )


def best_among(over: Mapping[str, Aggregate], measure: Measure) -> frozenset[str]:
    """Return the best strategies over all games."""
    return best_of({name: one.by_run for name, one in over.items()}, higher=measure.higher)


def aggregate_cell(one: Aggregate | None, measure: Measure, *, bold: bool) -> Cell:
    """Return a mean over games with its interval."""
    if one is None:
        return Cell(NOTHING)
    interval = between(one.intervals[0.95], percent=measure.percent)
    return Cell(number(one.value, percent=measure.percent), interval, bold)


def all_outcomes(outcomes: Sequence[Outcome]) -> Table:
    """Return every run with all that was measured."""
    header = (
        *("game", "strategy", "num_levels", "seed", "train", "test", "gen_gap"),
        *("information", "accuracy", "shift_gap", "effective_levels", "value_loss"),
        *("untrained_train", "untrained_test", "untrained_information", "untrained_accuracy"),
    )
    ordered = sorted(outcomes, key=lambda one: one.run)
    data = tuple(tuple(getattr(one, name) for name in header) for one in ordered)
    rows = tuple(
        tuple(Cell(number(v) if isinstance(v, float) else str(v)) for v in row) for row in data
    )
    return Table("outcomes", "Every run", header, rows, header, data)
