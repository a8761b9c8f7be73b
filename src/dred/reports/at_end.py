"""Tables of metrics at the end of training."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.statistics import compare
from dred.metrics import Metric
from dred.reports.curves import at_the_end
from dred.reports.kit.table import NOTHING, Cell, Table, Value, plus_minus
from dred.reports.material import Material, Method
from dred.reports.paper import PAPER_COLUMNS, SUITES, Printed, in_print, paper_columns, printed
from dred.reports.results import end_numbers
from dred.reports.significance import bold_note
from dred.reports.tables import levels_of, spread_of

Values = Mapping[str, Float[np.ndarray, "_"]]  # a value for each seed, by method
Evaluated = Mapping[str, Values]  # by metric
ABOUT_DRAWS = ("shift_gap", "jsd_distance", "jsd_divergence")  # 0 for uniform draws, by definition
UNIFORM = "Uniform draws from the dataset have no shift by definition and are not compared in it."


def has_no_shift(method: Method) -> bool:
    """Return whether a method draws the dataset uniformly, whatever the agent does."""
    how = method.config.method
    only_dataset = (
        how.initial_buffer == "dataset"
        and how.new_level_generator == how.mutation_generator == "none"
    )
    return only_dataset and how.primary.score == "uniform"


class Line(NamedTuple):
    """A metric of all methods, and which of them are best."""

    metric: Metric
    values: Values
    best: frozenset[str]
    is_tested: bool | None  # None if there is nothing to compare
    source: str
    paper: Mapping[str, Printed | None]


def at_end(
    material: Material,
    name: str,
    title: str,
    metrics: Sequence[Metric],
    *,
    evaluated: Evaluated | None = None,
    origins: Mapping[str, str] | None = None,
) -> Table:
    """Return metrics at the end of training: a row for each that some method has.

    `evaluated` holds each seed's value of metrics that evaluations tell better than the last line
    of the runs' own metrics does, and `origins` words about where a metric comes from.
    """
    reference = dataset_values(material) if name == "replayed" else {}
    lines = [line_of(material, metric, evaluated or {}) for metric in metrics]
    lines = [line for line in lines if any(map(len, line.values.values()))]
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for metric, values, best, _, source, paper in lines:
        label = Cell(metric.row, (origins or {}).get(metric.name, ""))
        known = [Cell(shown(reference.get(metric.name), metric))] if reference else []
        cells = (
            Cell(plus_minus(v, percent=metric.percent), "", m in best, paper=in_print(paper[m]))
            for m, v in values.items()
        )
        rows.append((label, *known, *cells))
        data += [
            (metric.name, m, *end_numbers(v), int(m in best), source, *paper_columns(paper[m]))
            for m, v in values.items()
        ]
    words = spread_of(material)
    tested = [line.is_tested for line in lines if line.is_tested is not None]
    uniform = UNIFORM if tested and any(map(has_no_shift, material.methods)) else ""
    return Table(
        name,
        title,
        (
            "At the end of training",
            *(("the dataset",) if reference else ()),
            *(method.name for method in material.methods),
        ),
        tuple(rows),
        ("metric", "method", "seeds", "mean", "deviation", "is_best", "source", *PAPER_COLUMNS),
        tuple(data),
        f"{words[:1].upper()}{words[1:]}. {bold_note(tested, word='lowest')}{uniform}".strip(),
    )


def line_of(material: Material, metric: Metric, evaluated: Evaluated) -> Line:
    """Return a metric of all methods at the end of training."""
    live = {m.name: at_the_end(m, metric.name) for m in material.methods}
    values = evaluated.get(metric.name, live)
    able = {
        m.name: values[m.name]
        for m in material.methods
        if len(values[m.name]) and not (metric.name in ABOUT_DRAWS and has_no_shift(m))
    }
    best, is_tested = frozenset[str](), None
    if metric.better and len(able) > 1:
        best, is_tested = compare(able, higher_is_better=metric.better == "higher")
    source = "evaluation" if metric.name in evaluated else "metrics"
    paper = {m: printed_at_end(material, metric.name, m) for m in values}
    return Line(metric, values, best, is_tested, source, paper)


def printed_at_end(material: Material, metric: str, method: str) -> Printed | None:
    """Return what the paper prints of a metric, if the levels may be taken for the paper's."""
    counts = levels_of(material)
    if material.dataset is not None:
        counts["train"] = len(material.dataset)
    needed = ("train", "test") if metric == "gen_gap" else ("train",)
    same = all(counts.get(name, SUITES[name]) == SUITES[name] for name in needed)
    return printed(metric, "", method) if same and "train" in counts else None


def dataset_values(material: Material) -> dict[str, float]:
    """Return what the training levels themselves are like; empty if they are not known."""
    if material.dataset is None:
        return {}
    measure = material.task.measure
    features = {} if measure is None else measure(material.dataset.levels)
    return {
        **{name: float(np.nanmean(values)) for name, values in features.items()},
        "dataset_mass": 1.0,
        "effective_levels": float(len(material.dataset)),
    }


def shown(value: float | None, metric: Metric) -> str:
    """Return a single number in a row."""
    return NOTHING if value is None else plus_minus(np.array([value]), percent=metric.percent)
