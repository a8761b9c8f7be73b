"""How shift goes with what agents do, as appendix C.1 of the paper has it.

It says, of its last measurements: but for U, methods sorted by their Jensen–Shannon distance, the
lowest first, are sorted nearly as by their scores on the test set, all through training; and the
distance is positively correlated with ShiftGap, but for DR and PLR, which are far from the dataset
without a ShiftGap. Methods that draw the dataset uniformly have no shift by definition and are left
out, as the paper leaves out U.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dred.metrics import in_section
from dred.reports.agreement import agreement_over_training, agreement_table
from dred.reports.at_end import has_no_shift
from dred.reports.correlations import (
    Correlation,
    Points,
    coefficient,
    correlation,
    in_words,
    places,
)
from dred.reports.curves import read
from dred.reports.gaps import gaps_after
from dred.reports.kit.scatter import Dots, ScatterPanel
from dred.reports.kit.table import NOTHING, Cell, Table, Value, number
from dred.reports.material import Material, Method, Training
from dred.reports.paper import printed, table
from dred.reports.results import Results

DISTANCE, GAP, TEST = "jsd_distance", "shift_gap", "test_return"
EXCEPTIONS = ("dr", "plr")  # of the paper, in the relation of distance and ShiftGap
WITHOUT = f"without {' and '.join(EXCEPTIONS)}"
RELATIONS = {
    (DISTANCE, GAP): "JS distance and ShiftGap",
    (DISTANCE, TEST): "JS distance and mean return on test",
}
RANKS = ("jsd_rank", "test_rank")


class Shift(NamedTuple):
    """What is related, of one run, or of the mean of a method's runs; NaN where it is not known."""

    method: str
    which: str  # its seed, or a word for the mean
    jsd_distance: float
    shift_gap: float
    test_return: float


class Rank(NamedTuple):
    """Where a method stands among others; equal ones share the mean of their places."""

    method: str
    by_distance: float  # the lowest first
    on_test: float  # the highest first


def shifts_of(material: Material, results: Results) -> list[Shift]:
    """Return the measurements of each run that can have a shift, as the table of gaps has them."""
    after = gaps_after(material, in_section("gaps", {}))

    def measured(method: Method, place: int, metric: str) -> float:
        if metric in after:
            return float(after[metric].values[method.name][place])
        return last(method.trainings[place], metric)

    return [
        Shift(
            method.name,
            str(training.seed),
            measured(method, place, DISTANCE),
            measured(method, place, GAP),
            return_on_test(results, method, place),
        )
        for method in material.methods
        if not has_no_shift(method)
        for place, training in enumerate(method.trainings)
    ]


def last(training: Training, metric: str) -> float:
    """Return the last value of a metric of one seed, or NaN."""
    values = read(training, metric).values
    return values[max(values)] if values else math.nan


def return_on_test(results: Results, method: Method, place: int) -> float:
    """Return the mean return of one seed on the whole suite `test`, or else the last live one."""
    if "test" in results:
        return float(results["test"]["mean_return"][method.name].by_run[place])
    return last(method.trainings[place], "return/test")


def means_of(shifts: Sequence[Shift]) -> list[Shift]:
    """The mean over the runs of each method; NaN if something is not known of one of them."""
    groups: dict[str, list[Shift]] = {}
    for one in shifts:
        groups.setdefault(one.method, []).append(one)
    return [
        Shift(name, "mean", *np.mean([one[2:] for one in some], axis=0).tolist())
        for name, some in groups.items()
    ]


def printed_shifts(among: Collection[str] | None = None) -> list[Shift]:
    """The means that the paper prints of some methods, or of all but U, for which it has none."""
    there = dict.fromkeys(method for measure, _, method in table() if measure == DISTANCE)
    methods = [method for method in there if among is None or method in among]
    found: list[Shift] = []
    for method in methods:
        distance, gap = printed(DISTANCE, "", method), printed(GAP, "", method)
        test = printed("mean_return", "test", method)
        if distance and gap and test and distance.spread is not None:
            found.append(Shift(method, "paper", distance.mean, gap.mean, test.mean))
    return found


def points_of(shifts: Sequence[Shift], x: str, y: str, leave_out: Sequence[str] = ()) -> Points:
    """Return two measurements of all that have both, grouped by method."""
    pairs = [
        ((one.method, one.which), (getattr(one, x), getattr(one, y)))
        for one in shifts
        if one.method not in leave_out
    ]
    known = [pair for pair in pairs if np.isfinite(pair[1]).all()]
    values = np.array([value for _, value in known], np.float64).reshape(-1, 2)
    return Points(tuple(name for name, _ in known), values[:, 0], values[:, 1])


def ranks_of(shifts: Sequence[Shift]) -> list[Rank]:
    """Return where methods stand by distance and on the test levels, from their means."""
    points = points_of(means_of(shifts), DISTANCE, TEST)
    by_distance, on_test = places(points.x), places(-points.y)
    return [
        Rank(method, float(one), float(other))
        for (method, _), one, other in zip(points.name, by_distance, on_test, strict=True)
    ]


def of_ranks(ranks: Sequence[Rank]) -> Correlation:
    """Return how far the two orders agree; Pearson's correlation of ranks is Spearman's."""
    names = tuple((one.method, "") for one in ranks)
    x, y = (np.array([one[place] for one in ranks], np.float64) for place in (1, 2))
    return correlation(Points(names, x, y))


def ranks_table(shifts: Sequence[Shift]) -> Table:
    """Methods by their distance from the dataset, the nearest first, with their test rank."""
    means = {one.method: one for one in means_of(shifts)}
    theirs = {one.method: one for one in ranks_of(printed_shifts(means))}
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for one in sorted(ranks_of(shifts), key=lambda one: one.by_distance):
        mine = means[one.method]
        paper = theirs.get(one.method, Rank(one.method, math.nan, math.nan))
        rows.append(
            (
                Cell(one.method),
                *(Cell(number(mine.jsd_distance)), place_cell(one, paper, 1)),
                *(Cell(number(mine.test_return)), place_cell(one, paper, 2)),
            )
        )
        data.append((one.method, mine.jsd_distance, mine.test_return, *one[1:], *paper[1:]))
    return Table(
        "ranks",
        "Methods by their distance from the dataset",
        ("Method", "JS distance", "Rank, lowest first", "Return on test", "Rank, highest first"),
        tuple(rows),
        ("method", DISTANCE, TEST, *RANKS, "paper_jsd_rank", "paper_test_rank"),
        tuple(data),
        f"{'Means over seeds' if len(shifts) > len(means) else 'One seed of each method'}. Equal "
        "methods share a rank. Methods that draw the dataset uniformly have no shift and are left "
        "out, as the paper leaves out U. After “paper”: the rank among those of these methods that "
        "the paper has, from the means that it prints.",
    )


def place_cell(ours: Rank, paper: Rank, which: int) -> Cell:
    """Return a rank, and the paper's."""
    theirs = paper[which]
    assert isinstance(theirs, float)
    return Cell(f"{ours[which]:g}", paper="" if math.isnan(theirs) else f"{theirs:g}")


def correlations_table(shifts: Sequence[Shift]) -> Table:
    """Return what goes with what over runs and over methods, with what the paper's numbers give."""
    found = [*correlations_of(shifts)]
    return Table(
        "correlations",
        "Correlations",
        ("Between", "Over", "Points", "Pearson", "Kendall τ-b", "Pearson within methods"),
        tuple(
            (
                *(Cell(words), Cell(over), Cell(str(one.points))),
                coefficient(one.pearson, one.pearson_p),
                coefficient(one.kendall, one.kendall_p),
                coefficient(one.within, one.within_p),
            )
            for _, words, over, one in found
        ),
        ("x", "y", "over", *Correlation._fields),
        tuple((*relation, over, *one) for relation, _, over, one in found),
        "Small print: two-sided p-values, which take points for independent although runs of one "
        "method are alike. Within methods: after taking away each method's mean. The paper says "
        "that distance and ShiftGap are positively correlated for all methods but DR and PLR. "
        f"“{NOTHING}” where there are fewer than three points, or where nothing varies.",
    )


Found = tuple[tuple[str, str], str, str, Correlation]  # the relation, in words, over what, how


def correlations_of(shifts: Sequence[Shift]) -> Iterable[Found]:
    """Yield every relation over every set of points; the paper's are always there."""
    sets = {
        "runs": shifts,
        "means of seeds": means_of(shifts),
        "paper, its printed means": printed_shifts(),
    }
    for relation, words in RELATIONS.items():
        for over, some in sets.items():
            yield relation, words, over, correlation(points_of(some, *relation))
            excepted = any(one.method in EXCEPTIONS for one in some)
            if relation == (DISTANCE, GAP) and excepted:
                points = points_of(some, *relation, leave_out=EXCEPTIONS)
                yield relation, words, f"{over}, {WITHOUT}", correlation(points)
    words = "Rank by JS distance and rank on test"
    yield RANKS, words, "methods", of_ranks(ranks_of(shifts))
    yield RANKS, words, "paper, its printed means", of_ranks(ranks_of(printed_shifts()))


def tables_of(material: Material, results: Results) -> list[Table]:
    """Return all tables of relations."""
    shifts = shifts_of(material, results)
    return [ranks_table(shifts), correlations_table(shifts), agreement_table(material)]


def panels_of(material: Material, results: Results) -> list[ScatterPanel]:
    """Return what the figure of relations shows; hollow points are the paper's printed means."""
    shifts = shifts_of(material, results)
    names = dict.fromkeys(one.method for one in shifts)
    theirs = printed_shifts(names)
    panels: list[ScatterPanel] = []
    if len(ranks_of(shifts)) > 1:
        dots = [*rank_dots(ranks_of(shifts)), *rank_dots(ranks_of(theirs), hollow=True)]
        labels = "rank by JS distance, lowest first", "rank on test, highest first"
        found = of_ranks(ranks_of(shifts))
        panels.append(ScatterPanel(*labels, tuple(dots), in_words(found), ranks=True))
    points = points_of(shifts, DISTANCE, GAP)
    if len(points.name) > 1:
        paper = points_of(theirs, DISTANCE, GAP)
        dots = [*shift_dots(points), *shift_dots(paper, hollow=True)]
        title = in_words(correlation(points))
        panels.append(ScatterPanel("Jensen–Shannon distance", "ShiftGap", tuple(dots), title))
    agreement = np.array(agreement_over_training(material), np.float64).reshape(-1, 2)
    if len(agreement) > 1:
        line = Dots("agreement", agreement[:, 0], agreement[:, 1])
        title = "Agreement of both ranks over training"
        panels.append(ScatterPanel("updates", "Kendall τ-b", (line,), title, joined=True))
    return panels


def caption_of(panels: Sequence[ScatterPanel]) -> str:
    """Return what the panels show, from left to right."""
    words = {
        "ranks": "ranks of methods, with a dashed line where both are the same",
        "joined": "how far the ranks agree over training, by live measurements",
        "": "a point for each run",
    }
    kinds = ["ranks" if one.ranks else "joined" if one.joined else "" for one in panels]
    told = "; ".join(words[kind] for kind in kinds)
    there = any(dots.hollow for panel in panels for dots in panel.dots)
    paper = " Hollow: the means that the paper prints, of its own levels." if there else ""
    return f"{'Left to right: ' if len(panels) > 1 else ''}{told}.{paper}"


def without_relations(material: Material, results: Results) -> str:
    """Return why there is nothing to relate."""
    known = points_of(shifts_of(material, results), DISTANCE, GAP)
    if known.name:
        return "Only one run has a shift that was measured, so there is nothing to relate it to."
    return "The shift of these runs was not measured, or is 0 by definition."


def rank_dots(ranks: Sequence[Rank], *, hollow: bool = False) -> Iterable[Dots]:
    """Yield a point for each method."""
    for one in ranks:
        yield Dots(one.method, np.array([one.by_distance]), np.array([one.on_test]), hollow)


def shift_dots(points: Points, *, hollow: bool = False) -> Iterable[Dots]:
    """Yield the points of each method."""
    for method in dict.fromkeys(method for method, _ in points.name):
        mine = [name == method for name, _ in points.name]
        yield Dots(method, points.x[mine], points.y[mine], hollow)
