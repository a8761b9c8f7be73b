"""Tables of metrics at the end of training."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.comparison import compare
from dred.metrics import Metric
from dred.reports.curves import at_the_end
from dred.reports.kit.table import NOTHING, Cell, Table, Value, number, plus_minus
from dred.reports.material import Material, Method
from dred.reports.paper import PAPER_COLUMNS, SUITES, Printed, in_print, paper_columns, printed
from dred.reports.results import end_numbers
from dred.reports.significance import bold_note
from dred.reports.tables import levels_of, spread_of

Values = Mapping[str, Float[np.ndarray, "_"]]  # a value for each seed, by method
ABOUT_DRAWS = ("shift_gap", "jsd_distance", "jsd_divergence")  # 0 for uniform draws, by definition
DATA_HEADER = (
    *("metric", "method", "seeds", "mean", "deviation", "is_best"),
    *("source", "error_over_levels", "measured_on", *PAPER_COLUMNS),
)
UNIFORM = "Uniform draws from the dataset have no shift by definition and are not compared in it."


def has_no_shift(method: Method) -> bool:
    """Return whether a method draws the dataset uniformly, whatever the agent does."""
    how = method.config.method
    only_dataset = (
        how.initial_buffer == "dataset"
        and how.new_level_generator == how.mutation_generator == "none"
    )
    return only_dataset and how.primary.score == "uniform"


class Source(NamedTuple):
    """A metric of all methods, and where it comes from."""

    values: Values
    name: str = "metrics"  # the runs' own, while they trained
    words: str = ""  # what it was measured on
    errors: Values = MappingProxyType({})  # standard errors over levels, as far as they are known


class Line(NamedTuple):
    """A metric of all methods, and which of them are best."""

    metric: Metric
    source: Source
    best: frozenset[str]
    is_tested: bool | None  # None if there is nothing to compare
    paper: Mapping[str, Printed | None]


def at_end(
    material: Material,
    name: str,
    title: str,
    metrics: Sequence[Metric],
    *,
    sources: Mapping[str, Source] | None = None,
) -> Table:
    """Return metrics at the end of training: a row for each that some method has.

    `sources` are, by metric, where numbers come from that are not just the last line of the runs'
    own metrics.
    """
    reference = dataset_values(material) if name == "replayed" else {}
    lines = [line_of(material, metric, sources or {}) for metric in metrics]
    lines = [line for line in lines if any(map(len, line.source.values.values()))]
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for line in lines:
        metric = line.metric
        known = [Cell(shown(reference.get(metric.name), metric))] if reference else []
        rows.append((Cell(metric.row, line.source.words), *known, *cells_of(line)))
        data += numbers_of(line)
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
        DATA_HEADER,
        tuple(data),
        f"{words[:1].upper()}{words[1:]}. {bold_note(tested, word='lowest')}{uniform}".strip(),
    )


def line_of(material: Material, metric: Metric, sources: Mapping[str, Source]) -> Line:
    """Return a metric of all methods at the end of training."""
    live = Source({m.name: at_the_end(m, metric.name) for m in material.methods})
    source = sources.get(metric.name, live)
    able = {
        m.name: source.values[m.name]
        for m in material.methods
        if len(source.values[m.name]) and not (metric.name in ABOUT_DRAWS and has_no_shift(m))
    }
    best, is_tested = frozenset[str](), None
    if metric.better and len(able) > 1:
        best, is_tested = compare(able, higher_is_better=metric.better == "higher")
    paper = {m: printed_at_end(material, metric.name, m) for m in source.values}
    return Line(metric, source, best, is_tested, paper)


def cells_of(line: Line) -> Iterable[Cell]:
    """Yield what is shown of a metric: a cell for each method."""
    percent = line.metric.percent
    for method, values in line.source.values.items():
        error = error_of(line.source, method)
        alone = len(values) == 1 and not math.isnan(error)
        small = f"standard error {number(error, percent=percent)}" if alone else ""
        main = plus_minus(values, percent=percent)
        yield Cell(main, small, method in line.best, paper=in_print(line.paper[method]))


def numbers_of(line: Line) -> list[tuple[Value, ...]]:
    """Return a metric with all its digits: a row for each method."""
    return [
        (
            *(line.metric.name, method, *end_numbers(values), int(method in line.best)),
            *(line.source.name, error_of(line.source, method), line.source.words),
            *paper_columns(line.paper[method]),
        )
        for method, values in line.source.values.items()
    ]


def error_of(source: Source, method: str) -> float:
    """Return the standard error over levels of a method's mean, whose seeds play the same ones.

    The mean of its seeds' errors: with levels in common, more seeds do not make it smaller.
    """
    known = source.errors.get(method, np.empty(0))
    return float(known.mean()) if len(known) else math.nan


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
