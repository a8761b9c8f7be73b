"""The tables of a report: aggregates, probabilities of improvement, runs."""

import math
from collections.abc import Iterable, Mapping

from dred.evaluation.comparison import FEWEST_RUNS
from dred.evaluation.statistics import Estimate
from dred.reports.kit.table import NOTHING, Cell, Table, Value, between, counted, number, plus_minus
from dred.reports.material import Material
from dred.reports.paper import (
    PAPER_COLUMNS,
    Printed,
    in_print,
    paper_columns,
    paper_note,
    printed_on,
)
from dred.reports.results import (
    AGGREGATES,
    Aggregate,
    Improvement,
    Result,
    Results,
    end_numbers,
)
from dred.reports.significance import bold_note

CVAR = (
    "CVaR picks the worst levels by how these same episodes went, bad luck included: expect other "
    "episodes in the same levels to go a little better than it says."
)
FEW_SEEDS = (
    "Two seeds are too few to tell by themselves how others would differ, so seeds and levels are "
    "resampled; with three or more, seeds alone."
)
NUMBERS = ("value", "deviation", "low_95", "high_95", "low_99", "high_99", "is_best")


def intervals_note(material: Material, estimates: Iterable[Estimate]) -> str:
    """Return what the small print is, or why there is none."""
    seeds = [len(method.trainings) for method in material.methods]
    if max(seeds) == 1:
        return "One seed of each, so without intervals. "
    if all(math.isnan(one.intervals[0.95].low) for one in estimates):
        return "Resampled seeds and levels all give the same, so without intervals. "
    if min(count for count in seeds if count > 1) >= FEWEST_RUNS:
        few = "; where these do not differ, from resampled seeds and levels"
        return f"Small print: 95 % interval from resampled seeds{few}. "
    return f"Small print: 95 % interval. {FEW_SEEDS} "


def summary(material: Material, results: Results, suite: str) -> Table:
    """Return all aggregates of one suite: a row for each method."""
    known = [one for one in AGGREGATES if one.key in results[suite]]
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for method in material.methods:
        mine = [results[suite][one.key][method.name] for one in known]
        levels = method.scores[suite].returned.shape[1]
        rows.append(
            (
                Cell(method.name, counted(len(method.trainings), "seed")),
                *(
                    summary_cell(one, result, printed_on(one.key, suite, levels, method.name))
                    for one, result in zip(known, mine, strict=True)
                    if one.headline
                ),
            )
        )
        data += [
            (
                *(method.name, len(method.trainings), levels, one.key, *numbers_of(result)),
                *paper_columns(printed_on(one.key, suite, levels, method.name)),
            )
            for one, result in zip(known, mine, strict=True)
        ]
    estimates = [one.estimate for each in results[suite].values() for one in each.values()]
    return Table(
        f"summary-{suite}",
        f"Suite {suite}",
        ("Method", *(heading(one) for one in known if one.headline)),
        tuple(rows),
        ("method", "seeds", "levels", "aggregate", *NUMBERS, *PAPER_COLUMNS),
        tuple(data),
        f"{intervals_note(material, estimates)}{bold_note(tested_in(results[suite].values()))}"
        f"{CVAR} {paper_note(levels_of(material))}".strip(),
    )


def numbers_of(result: Result) -> tuple[Value, ...]:
    """Return a result with all its digits."""
    value, spread, intervals = result.estimate
    return (value, spread, *intervals[0.95], *intervals[0.99], int(result.is_best))


def heading(aggregate: Aggregate) -> str:
    """Return what a column is called, with the direction that is better."""
    return f"{aggregate.label} {'↑' if aggregate.higher_is_better else '↓'}"


def summary_cell(aggregate: Aggregate, result: Result, paper: Printed | None) -> Cell:
    """Return a value, its interval, bold if it is among the best, and what the paper has."""
    return Cell(
        number(result.estimate.value, percent=aggregate.percent),
        between(result.estimate.intervals[0.95], percent=aggregate.percent),
        result.is_best,
        paper=in_print(paper, percent=aggregate.percent),
    )


def levels_of(material: Material) -> dict[str, int]:
    """Return how many levels each suite has."""
    return {suite.name: suite.count for suite in material.suites}


def spread_of(material: Material) -> str:
    """Return what numbers of methods are, over their seeds."""
    if all(len(method.trainings) == 1 for method in material.methods):
        return "one seed of each method"
    return "mean ± standard deviation over seeds"


def tested_in(columns: Iterable[Mapping[str, Result]]) -> list[bool]:
    """Return of each comparison whether it was tested; none with a single method."""
    return [next(iter(one.values())).is_tested for one in columns if len(one) > 1]


def by_suite(material: Material, results: Results, key: str) -> Table:
    """Return one aggregate in the form of the paper's tables: suites × methods."""
    aggregate = next(one for one in AGGREGATES if one.key == key)
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for suite in material.suites:
        rows.append((Cell(suite.name, counted(suite.count, "level")),))
        for method in material.methods:
            mine = results[suite.name][key][method.name]
            paper = printed_on(key, suite.name, suite.count, method.name)
            shown = plus_minus(mine.by_run, percent=aggregate.percent)
            beside = in_print(paper, percent=aggregate.percent)
            rows[-1] += (Cell(shown, "", mine.is_best, paper=beside),)
            data.append(
                (
                    *(suite.name, method.name, *end_numbers(mine.by_run), int(mine.is_best)),
                    *paper_columns(paper),
                )
            )
    unit = " in per cent" if aggregate.percent else ""
    return Table(
        key.replace("_", "-"),
        f"{aggregate.label}{unit}, {spread_of(material)}",
        ("Suite", *(m.name for m in material.methods)),
        tuple(rows),
        ("suite", "method", "seeds", "mean", "deviation", "is_best", *PAPER_COLUMNS),
        tuple(data),
        (
            bold_note(tested_in(results[suite.name][key] for suite in material.suites))
            + paper_note(levels_of(material))
        ).strip(),
    )


def improvement(material: Material, pairs: Iterable[Improvement], suite: str) -> Table:
    """Return P(row beats column) on one suite."""
    names = [method.name for method in material.methods]
    found = {(p.better, p.other): p.estimate for p in pairs if p.suite == suite}
    rows = tuple(
        (
            Cell(one),
            *(improvement_cell(found.get((one, other))) for other in names),
        )
        for one in names
    )
    data = tuple(
        (one, other, e.value, *e.intervals[0.95], *e.intervals[0.99])
        for (one, other), e in found.items()
    )
    return Table(
        f"improvement-{suite}",
        f"Probability that a run of the row beats a run of the column in a level of {suite}",
        ("Method", *names),
        rows,
        ("method", "other", "probability", "low_95", "high_95", "low_99", "high_99"),
        data,
        f"By return; ties count half. {intervals_note(material, found.values())}It says how often "
        "the row gets more, not how much more: whether mean returns differ is tested with these.",
    )


def improvement_cell(found: Estimate | None) -> Cell:
    """Return a probability, coloured by how far from one half it is."""
    if found is None:
        return Cell(NOTHING)
    return Cell(f"{found.value:.2f}", between(found.intervals[0.95]), share=found.value)


def runs_table(material: Material) -> Table:
    """Return every run with its settings in short and the digests of its levels."""
    header = ("Run", "Method", "Seeds", "Updates", "Status", "Training levels", "Digest")
    rows: list[tuple[str, ...]] = []
    for method in material.methods:
        for run in method.runs:
            record = run.record
            train = record.levels.get("train")
            rows.append(
                (
                    str(run.path),
                    method.name,
                    " ".join(map(str, run.seeds)),
                    str(run.config.num_updates),
                    record.status,
                    NOTHING if train is None else train.path,
                    NOTHING if train is None else train.digest,
                )
            )
    return Table(
        "runs",
        "Runs",
        header,
        tuple(tuple(Cell(v[:12] + "…" if len(v) == 64 else v) for v in row) for row in rows),
        tuple(name.lower().replace(" ", "_") for name in header),
        tuple(rows),
    )
