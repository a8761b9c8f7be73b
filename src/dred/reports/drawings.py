"""The figures of a report; those without anything to show are left out."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import UInt8

from dred.metrics import Metric, Section, in_section
from dred.reports import relations
from dred.reports.at_end import dataset_values
from dred.reports.curves import curve
from dred.reports.kit import chart, scatter
from dred.reports.kit.chart import ALL, Bar, BarPanel, LinePanel
from dred.reports.kit.drawing import Drawing, drawn
from dred.reports.kit.looks import Looks
from dred.reports.kit.table import counted
from dred.reports.looks import METHOD_LOOKS, looks_of
from dred.reports.material import Material, Suite
from dred.reports.over_training import OverTraining
from dred.reports.pictures import example_layouts
from dred.reports.results import (
    AGGREGATES,
    Improvement,
    Result,
    Results,
    best_method,
    standard_error,
)
from dred.reports.tables import heading

ABLATION = ("vae-dred", "el-dred")  # what a generative model adds, by the paper
TITLES: dict[Section, str] = {
    "learning": "Learning curves of {}",
    "gaps": "Gaps and shift over training of {}",
    "replayed": "What the replayed levels of {} are like",
}


def draw_all(
    material: Material,
    results: Results,
    pairs: Sequence[Improvement],
    curves: Sequence[OverTraining],
) -> list[Drawing]:
    """Return every figure with axes."""
    looks = looks_of(material)
    return [
        *(aggregate_drawing(results, suite, looks) for suite in material.suites),
        solved_drawing(results, material.suites, looks),
        *([improvement_drawing(results, pairs, looks)] if pairs else []),
        *pair_drawing(pairs, *ABLATION, looks),
        *lines_drawing(material, "learning", looks),
        *([over_training_drawing(curves, looks)] if curves else []),
        *lines_drawing(material, "gaps", looks),
        *relations_drawing(material, results, looks),
        *lines_drawing(material, "replayed", looks),
    ]


def aggregate_drawing(results: Results, suite: Suite, looks: Looks = METHOD_LOOKS) -> Drawing:
    """Return all aggregates of one suite, with intervals, beside example layouts."""
    most = 1.0 if suite.task is None else suite.task.max_return
    panels = [
        BarPanel(
            heading(aggregate),
            tuple(bar_of(aggregate.key, *each) for each in mine.items()),
            aggregate.percent,
            limits=alone(mine, 1.0 if aggregate.percent else most),
        )
        for aggregate in AGGREGATES
        if aggregate.headline and (mine := results[suite.name].get(aggregate.key))
    ]
    panels[0] = panels[0]._replace(examples=layouts_of(suite))
    beside = ", beside example layouts" if panels[0].examples else ""
    return drawn(
        f"aggregate-{suite.name}",
        f"Aggregates on {suite.name} for each method, with intervals{beside}; the table of this "
        "suite has the numbers.",
        lambda columns: chart.draw_bars(panels, looks, columns=columns),
        len(panels),
    )


def alone(results: Mapping[str, Result], most: float) -> tuple[float, float] | None:
    """Return limits from 0 to the most there can be, where a single value gives no others."""
    (first, *others) = (result.estimate.value for result in results.values())
    return (ALL[0] * most, ALL[1] * most) if not others and 0 <= first <= most else None


def bar_of(aggregate: str, method: str, result: Result) -> Bar:
    """Return an aggregate of one method; solved rates have one standard error, as the paper's."""
    value, _, intervals = result.estimate
    error = standard_error(result.by_run) if aggregate == "solved_rate" else math.nan
    return Bar(method, value, intervals[0.95], intervals[0.99], error=error)


def layouts_of(suite: Suite) -> tuple[UInt8[np.ndarray, "_ _ 3"], ...]:
    """Return pictures of a few levels of a suite; none if its levels are not known."""
    if suite.levels is None or suite.task is None:
        return ()
    return example_layouts(suite.levels, suite.task)


def solved_drawing(
    results: Results, suites: Sequence[Suite], looks: Looks = METHOD_LOOKS
) -> Drawing:
    """Return solved rates of all suites beside example layouts, with a dot for each seed."""
    panels = [
        BarPanel(
            f"{suite.name}, {counted(suite.count, 'level')}",
            tuple(
                bar_of("solved_rate", name, r)._replace(
                    dots=tuple(map(float, r.by_run)) if len(r.by_run) > 1 else ()
                )
                for name, r in results[suite.name]["solved_rate"].items()
            ),
            percent=True,
            limits=ALL,
            examples=layouts_of(suite),
        )
        for suite in suites
    ]
    return drawn(
        "solved-rate",
        "Share of levels solved on each suite by each method, with intervals, standard errors and "
        "a dot a seed, beside example layouts.",
        lambda columns: chart.draw_bars(panels, looks, columns=columns),
        in_rows(len(panels)),
    )


def in_rows(count: int) -> int:
    """Return how many panels stand side by side on a wide page."""
    return count if count <= 4 else 3


def pair_drawing(
    pairs: Sequence[Improvement], one: str, other: str, looks: Looks = METHOD_LOOKS
) -> list[Drawing]:
    """Return how likely one method beats another on each suite: one figure, or none."""
    bars = tuple(
        Bar(one, p.estimate.value, *ends_of(p), label=p.suite)
        for p in pairs
        if (p.better, p.other) == (one, other)
    )
    if not bars:
        return []
    panel = BarPanel(f"P({one} > {other})", bars, reference=0.5, limits=ALL)
    return [
        drawn(
            f"{one}-against-{other}",
            f"Probability that a run of {one} gets a higher return than a run of {other} in a "
            "level of each suite, with intervals; a dashed line at one half.",
            lambda columns: chart.draw_bars([panel], looks, columns=columns),
            1,
        )
    ]


def ends_of(pair: Improvement) -> tuple[chart.Interval, chart.Interval]:
    """Return both intervals of a probability of improvement."""
    return pair.estimate.intervals[0.95], pair.estimate.intervals[0.99]


def improvement_drawing(
    results: Results, pairs: Sequence[Improvement], looks: Looks = METHOD_LOOKS
) -> Drawing:
    """Return how likely the best method of each suite beats each other one."""
    panels: list[BarPanel] = []
    for suite, mine in results.items():
        best = best_method(mine)
        bars = tuple(
            Bar(p.other, p.estimate.value, *ends_of(p))
            for p in pairs
            if p.suite == suite and p.better == best
        )
        panels.append(BarPanel(f"{suite}: P({best} > …)", bars, reference=0.5, limits=ALL))
    return drawn(
        "improvement",
        "Probability that the best method of each suite beats each other method, with intervals; "
        "a dashed line at one half.",
        lambda columns: chart.draw_bars(panels, looks, columns=columns, all_named=True),
        in_rows(len(panels)),
    )


def lines_drawing(
    material: Material, section: Section, looks: Looks = METHOD_LOOKS
) -> list[Drawing]:
    """Return the metrics of a section over training: one figure, or none if none was measured."""
    reference = dataset_values(material) if section == "replayed" else {}
    metrics = [one for one in in_section(section, material.task.features) if one.shown == "curve"]
    panels = [
        panel_of(material, metric, reference.get(metric.name), in_full=section == "learning")
        for metric in metrics
    ]
    there = [panel for panel in panels if panel.curves]
    if not there:
        return []
    what = TITLES[section].format(", ".join(method.name for method in material.methods))
    alt = f"{what}: {', '.join(panel.title for panel in there)}."
    draw = chart.draw_lines
    return [drawn(section, alt, lambda columns: draw(there, looks, columns=columns), 3)]


def panel_of(
    material: Material, metric: Metric, reference: float | None, *, in_full: bool
) -> LinePanel:
    """Return a metric of all methods over training, `in_full` from 0 to the most there can be."""
    found = {method.name: curve(method, metric.name) for method in material.methods}
    curves = {method: one for method, one in found.items() if one is not None}
    most = 1.0 if metric.percent else material.task.max_return
    fits = all(one.mean.min() >= 0 and one.mean.max() <= most for one in curves.values())
    limits = (0.0, most) if in_full and fits else None
    return LinePanel(metric.title, curves, metric.percent, reference, limits)


def relations_drawing(
    material: Material, results: Results, looks: Looks = METHOD_LOOKS
) -> list[Drawing]:
    """Return shift against what agents do: one figure, or none if nothing was measured."""
    panels = relations.panels_of(material, results)
    if not panels:
        return []
    alt = (
        "Ranks of methods by distance from the dataset and on test, that distance against "
        "ShiftGap, and how far the ranks agree over training; the tables have the numbers."
    )
    draw = scatter.draw_scatter
    return [drawn("correlations", alt, lambda columns: draw(panels, looks, columns=columns), 3)]


def over_training_drawing(curves: Sequence[OverTraining], looks: Looks = METHOD_LOOKS) -> Drawing:
    """Return solved rates on each suite over training."""
    panels = [
        LinePanel(
            f"Solved, {one.suite} ({counted(one.num_levels, 'level')})",
            one.solved,
            percent=True,
            limits=(0.0, 1.0),
        )
        for one in curves
    ]
    return drawn(
        "over-training",
        f"Share of levels solved over training: {', '.join(one.suite for one in curves)}.",
        lambda columns: chart.draw_lines(panels, looks, columns=columns),
        2 if len(panels) == 4 else 3,
    )
