"""The tables of a report."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.statistics import Estimate, not_worse_than_best
from dred.reports.curves import at_the_end
from dred.reports.gather import Material, Method
from dred.reports.paper import (
    PAPER_COLUMNS,
    SUITES,
    Printed,
    in_print,
    paper_columns,
    paper_note,
    printed,
    printed_on,
)
from dred.reports.results import (
    AGGREGATES,
    Aggregate,
    Improvement,
    Result,
    Results,
    deviation,
)
from dred.reports.table import NOTHING, Cell, Table, Value, between, number, plus_minus

BOLD = (
    "Bold: best, or not significantly different from the best (Welch's test, p < 0.05); "
    "none if that would be all."
)


def intervals_note(material: Material) -> str:
    """What the small print is, or why there is none."""
    if all(len(method.trainings) == 1 for method in material.methods):
        return "One seed of each, so without intervals. "
    return "Small print: 95 % interval from resampled runs. "


def bold_note(material: Material) -> str:
    """What bold means; nothing if there is nothing to compare."""
    testable = [method for method in material.methods if len(method.trainings) > 1]
    return f"{BOLD} " if len(testable) > 1 else ""


LOWEST = (
    f" {BOLD.replace('best', 'lowest')} Uniform draws from the dataset have no shift by definition "
    "and are not compared in it."
)


def summary(material: Material, results: Results, suite: str) -> Table:
    """All aggregates of one suite: a row for each method."""
    known = [one for one in AGGREGATES if one.key in results[suite]]
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for method in material.methods:
        mine = [results[suite][one.key][method.name] for one in known]
        levels = method.scores[suite].returned.shape[1]
        rows.append(
            (
                Cell(method.name, seeds_of(method)),
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
    return Table(
        f"summary-{suite}",
        f"Suite {suite}",
        ("Method", *(heading(one) for one in known if one.headline)),
        tuple(rows),
        ("method", "seeds", "levels", "aggregate", *NUMBERS, *PAPER_COLUMNS),
        tuple(data),
        f"{intervals_note(material)}{bold_note(material)}CVaR is judged by the episodes that chose "
        f"its levels, so chance makes it too low, and its interval even more so. "
        f"{paper_note(levels_of(material))}",
    )


NUMBERS = ("value", "deviation", "low_95", "high_95", "low_99", "high_99", "is_best")


def numbers_of(result: Result) -> tuple[Value, ...]:
    """A result with all its digits."""
    value, spread, intervals = result.estimate
    return (value, spread, *intervals[0.95], *intervals[0.99], int(result.is_best))


def heading(aggregate: Aggregate) -> str:
    """What a column is called, with the direction that is better."""
    return f"{aggregate.label} {'↑' if aggregate.higher_is_better else '↓'}"


def summary_cell(aggregate: Aggregate, result: Result, paper: Printed | None) -> Cell:
    """A value, its interval, bold if it is among the best, and what the paper has."""
    return Cell(
        number(result.estimate.value, percent=aggregate.percent),
        between(result.estimate.intervals[0.95], percent=aggregate.percent),
        result.is_best,
        paper=in_print(paper, percent=aggregate.percent),
    )


def levels_of(material: Material) -> dict[str, int]:
    """How many levels each suite has."""
    return {suite.name: suite.count for suite in material.suites}


def seeds_of(method: Method) -> str:
    """How many agents there are."""
    count = len(method.trainings)
    return f"{count} seed" if count == 1 else f"{count} seeds"


def by_suite(material: Material, results: Results, key: str) -> Table:
    """One aggregate in the form of the paper's tables: suites × methods, mean ± deviation."""
    aggregate = next(one for one in AGGREGATES if one.key == key)
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for suite in material.suites:
        rows.append((Cell(suite.name, f"{suite.count} levels"),))
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
        f"{aggregate.label}{unit}, mean ± standard deviation over seeds",
        ("Suite", *(m.name for m in material.methods)),
        tuple(rows),
        ("suite", "method", "seeds", "mean", "deviation", "is_best", *PAPER_COLUMNS),
        tuple(data),
        f"{bold_note(material)}{paper_note(levels_of(material))}".strip(),
    )


class Row(NamedTuple):
    """A metric at the end of training, as a row of a table."""

    metric: str
    label: str
    percent: bool = False
    lower_is_better: bool = False
    about_draws: bool = False  # 0 by definition for a method that draws the dataset uniformly
    origin: str = ""  # where its numbers come from, in smaller print

    def is_fixed(self, method: Method) -> bool:
        """Whether the metric is 0 whatever the agent does, so that it is not compared."""
        return self.about_draws and has_no_shift(method)


def has_no_shift(method: Method) -> bool:
    """Whether a method draws the dataset uniformly, whatever the agent does."""
    how = method.config.method
    only_dataset = (
        how.initial_buffer == "dataset"
        and how.new_level_generator == how.mutation_generator == "none"
    )
    return only_dataset and how.primary.score == "uniform"


GAPS = (
    Row("gen_gap", "GenGap", lower_is_better=True),
    Row("gen_gap_bound", "bound on GenGap from estimated I(L; b), D = 2"),
    Row("shift_gap", "ShiftGap", lower_is_better=True, about_draws=True),
    Row("jsd_distance", "JSD (distance)", lower_is_better=True, about_draws=True),
    Row("jsd_divergence", "JSD (divergence)", lower_is_better=True, about_draws=True),
    Row("effective_levels_averaged", "effective number of levels in ShiftGap and JSD"),
    Row("mutual_information", "estimated I(L; b), nats"),
    Row("probe_accuracy", "accuracy of the level classifier", percent=True),
)
REPLAYED = (
    Row("path", "steps from start to goal"),
    Row("moss_density", "moss density", percent=True),
    Row("lava_density", "lava density", percent=True),
    Row("solvable_mass", "probability of a solvable level", percent=True),
    Row("dataset_mass", "probability of a dataset level", percent=True),
    Row("effective_levels", "effective number of levels"),
)


Evaluated = Mapping[str, Mapping[str, Float[np.ndarray, "_"]]]  # by metric and method


def at_end(
    material: Material, name: str, title: str, wanted: Sequence[Row], evaluated: Evaluated
) -> Table:
    """Metrics at the end of training: a row for each that some method has.

    `evaluated` holds each seed's value of metrics that evaluations tell better than the last line
    of the runs' own metrics does.
    """
    reference = dataset_values(material) if name == "replayed" else {}
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for row in wanted:
        live = {m.name: at_the_end(m, row.metric) for m in material.methods}
        values = evaluated.get(row.metric, live)
        if not any(map(len, values.values())):
            continue
        able = {m.name: values[m.name] for m in material.methods if not row.is_fixed(m)}
        best = lowest(able) if row.lower_is_better else frozenset[str]()
        known = [Cell(shown(reference.get(row.metric), row))] if reference else []
        label = Cell(row.label + (", per cent" if row.percent else ""), row.origin)
        paper = {m: printed_at_end(material, row.metric, m) for m in values}
        rows.append(
            (
                *(label, *known),
                *(
                    Cell(
                        plus_minus(v, percent=row.percent), "", m in best, paper=in_print(paper[m])
                    )
                    for m, v in values.items()
                ),
            )
        )
        source = "evaluation" if row.metric in evaluated else "metrics"
        data += [
            (row.metric, m, *end_numbers(v), int(m in best), source, *paper_columns(paper[m]))
            for m, v in values.items()
        ]
    dataset = ("the dataset",) if reference else ()
    return Table(
        name,
        title,
        ("At the end of training", *dataset, *(m.name for m in material.methods)),
        tuple(rows),
        (
            *("metric", "method", "seeds", "mean", "deviation", "is_best", "source"),
            *PAPER_COLUMNS,
        ),
        tuple(data),
        "Mean ± standard deviation over seeds."
        + (LOWEST if name == "gaps" and bold_note(material) else ""),
    )


def printed_at_end(material: Material, metric: str, method: str) -> Printed | None:
    """What the paper prints of a metric, if the levels may be taken for the paper's."""
    counts = levels_of(material)
    if material.dataset is not None:
        counts["train"] = len(material.dataset)
    needed = ("train", "test") if metric == "gen_gap" else ("train",)
    same = all(counts.get(name, SUITES[name]) == SUITES[name] for name in needed)
    return printed(metric, "", method) if same and "train" in counts else None


def end_numbers(runs: Float[np.ndarray, " run"]) -> tuple[int, float, float]:
    """The number of seeds, their mean and their deviation; NaN where there are too few."""
    return len(runs), float(runs.mean()) if len(runs) else math.nan, deviation(runs)


def lowest(values: Mapping[str, Float[np.ndarray, "_"]]) -> frozenset[str]:
    """The methods with the lowest mean, as in the paper."""
    there = {name: runs for name, runs in values.items() if len(runs)}
    if not there:
        return frozenset()
    return not_worse_than_best(there, higher_is_better=False, none_if_all=True)


def dataset_values(material: Material) -> dict[str, float]:
    """What the training levels themselves are like; empty if they are not known."""
    if material.dataset is None:
        return {}
    measure = material.task.measure
    features = {} if measure is None else measure(material.dataset.levels)
    return {
        **{name: float(np.nanmean(values)) for name, values in features.items()},
        "dataset_mass": 1.0,
        "effective_levels": float(len(material.dataset)),
    }


def shown(value: float | None, row: Row) -> str:
    """A single number in a row."""
    return NOTHING if value is None else plus_minus(np.array([value]), percent=row.percent)


def improvement(material: Material, pairs: Iterable[Improvement], suite: str) -> Table:
    """P(row beats column) on one suite."""
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
        "By return; ties count half. Small print: 95 % interval from resampled runs. An interval "
        "above 0.5 means that the row is better.",
    )


def improvement_cell(found: Estimate | None) -> Cell:
    """A probability, coloured by how far from one half it is."""
    if found is None:
        return Cell(NOTHING)
    return Cell(f"{found.value:.2f}", between(found.intervals[0.95]), share=found.value)


def runs_table(material: Material) -> Table:
    """Every run with its settings in short and the digests of its levels."""
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
