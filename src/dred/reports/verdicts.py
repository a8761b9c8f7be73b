"""What runs say of the paper's claims.

What decides is the 95 % interval of the difference of means over seeds (Welch's): a claim holds
where the interval lies on the claimed side, does not hold where it lies on the other, and is
undecided where it has both. "Near zero" holds where the whole interval is within a tenth of the
largest return, and does not where none of it is.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.comparison import tells_of_others, welch_interval
from dred.evaluation.statistics import Interval
from dred.metrics import METRICS
from dred.reports.at_end import ABOUT_DRAWS, has_no_shift, printed_at_end
from dred.reports.claims import CLAIMS, Claim, Comparison
from dred.reports.correlations import Points, correlation
from dred.reports.gaps import sources_of
from dred.reports.kit.table import NOTHING, Cell, Table, Value, between, counted, plus_minus
from dred.reports.material import Material
from dred.reports.paper import Printed, in_print, paper_columns, paper_note, printed_on
from dred.reports.results import Results
from dred.reports.tables import levels_of

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
NEAR = 0.1  # of the largest return
CERTAIN = 0.05  # a correlation with a smaller p-value is taken for one


class Finding(NamedTuple):
    """What these runs say of one comparison."""

    claim: Claim
    comparison: Comparison
    more: Float[np.ndarray, " seed"]
    less: Float[np.ndarray, " other_seed"]  # empty if the comparison is with zero
    interval: Interval  # of the difference of means
    verdict: str
    paper: tuple[Printed | None, Printed | None]  # what it prints of both methods


Known = Callable[[Comparison, str], Float[np.ndarray, " seed"] | None]


def findings_of(material: Material, results: Results) -> list[Finding]:
    """Return what these runs say of each comparison whose methods are there."""
    known = values_of(material, results)
    found: list[Finding] = []
    for claim in CLAIMS:
        for one in claim.comparisons:
            more = known(one, one.more)
            less = known(one, one.less) if one.less else np.zeros(0)
            if more is not None and less is not None:
                interval = difference(more, less)
                verdict = verdict_of(interval, material.task.max_return, to_zero=not one.less)
                paper = in_paper(material, one, one.more), in_paper(material, one, one.less)
                found.append(Finding(claim, one, more, less, interval, verdict, paper))
    return found


def in_paper(material: Material, one: Comparison, method: str) -> Printed | None:
    """Return what the paper prints of a method, if the levels may be taken for the paper's."""
    if not one.suite:
        return printed_at_end(material, one.metric, method)
    return printed_on(one.metric, one.suite, levels_of(material)[one.suite], method)


def values_of(material: Material, results: Results) -> Known:
    """Return a function to what was measured of each seed of a method; None if it was not."""
    sources = sources_of(material, results)
    still = {method.name for method in material.methods if has_no_shift(method)}

    def known(one: Comparison, method: str) -> Float[np.ndarray, " seed"] | None:
        if one.suite:
            result = results.get(one.suite, {}).get(one.metric, {}).get(method)
            return None if result is None else result.by_run
        if one.metric not in sources or (one.metric in ABOUT_DRAWS and method in still):
            return None
        values = sources[one.metric].values.get(method)
        return None if values is None or not len(values) else values

    return known


def difference(
    more: Float[np.ndarray, " seed"], less: Float[np.ndarray, " other_seed"]
) -> Interval:
    """Return where the difference of means lies; NaN where too few seeds can tell."""
    groups = [group for group in (more, less) if len(group)]
    if not all(map(tells_of_others, groups)):
        return Interval(math.nan, math.nan)
    return welch_interval(more, less)


def verdict_of(interval: Interval, largest: float, *, to_zero: bool) -> str:
    """Return whether what is claimed holds, given where the difference lies."""
    low, high = interval
    if math.isnan(low):
        return OPEN
    if to_zero:
        near = NEAR * largest
        if -near <= low and high <= near:
            return HOLDS
        return FAILS if low > near or high < -near else OPEN
    if low > 0:
        return HOLDS
    return FAILS if high < 0 else OPEN


def claims_table(material: Material, results: Results) -> Table:
    """Return a row for each comparison of each claim, with the paper's numbers beside ours."""
    found = findings_of(material, results)
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for one in found:
        rows.append(row_of(one, is_first=not data or data[-1][0] != one.claim.name))
        data.append(numbers_of(one))
    order = order_of_gaps(material, results)
    if order is not None:
        rows.append(order[0])
        data.append(order[1])
    note = (
        f"{in_short(found)} Ours: mean ± standard deviation over seeds. Small: the 95 % interval "
        "of the difference (Welch), which decides; not corrected for the number of comparisons. "
        f"Near zero: within a tenth of the largest return. {paper_note(levels_of(material))}"
    )
    return Table(
        "claims",
        "Claims of the paper",
        ("Claim", "Measured", "More", "Less", "Difference", "These runs"),
        tuple(rows),
        (
            *("claim", "metric", "suite", "more", "less", "mean_more", "mean_less"),
            *("low_95", "high_95", "verdict"),
            *("paper_more", "paper_more_spread", "paper_less", "paper_less_spread"),
        ),
        tuple(data),
        note.strip(),
    )


def row_of(one: Finding, *, is_first: bool) -> tuple[Cell, ...]:
    """Return what is shown of a comparison."""
    claim, comparison = one.claim, one.comparison
    metric, suite, more, less = comparison
    theirs = [in_print(paper) for paper in one.paper]
    gap = float(one.more.mean()) - (float(one.less.mean()) if less else 0.0)
    return (
        Cell(claim.words if is_first else ""),
        Cell(measured(metric, suite)),
        Cell(more, plus_minus(one.more), paper=theirs[0]),
        Cell(less, plus_minus(one.less), paper=theirs[1]) if less else Cell("zero"),
        Cell(f"{gap:+.3f}", between(one.interval)),
        Cell(one.verdict, bold=one.verdict != OPEN),
    )


def measured(metric: str, suite: str) -> str:
    """Return what is compared, in words."""
    if suite:
        return f"return on {suite}"
    return next(one.title for one in METRICS if one.name == metric)


def numbers_of(one: Finding) -> tuple[Value, ...]:
    """Return a comparison with all its digits."""
    metric, suite, more, less = one.comparison
    return (
        *(one.claim.name, metric, suite, more, less, float(one.more.mean())),
        float(one.less.mean()) if less else 0.0,
        *(*one.interval, one.verdict),
        *(value for paper in one.paper for value in paper_columns(paper)),
    )


def order_of_gaps(
    material: Material, results: Results
) -> tuple[tuple[Cell, ...], tuple[Value, ...]] | None:
    """Return whether GenGap goes with I(L; b), over all runs that have both."""
    sources = sources_of(material, results)
    if not {"gen_gap", "mutual_information"} <= sources.keys():
        return None
    gap, known = (sources[name].values for name in ("gen_gap", "mutual_information"))
    methods = [m for m in gap if len(gap[m]) and len(gap[m]) == len(known.get(m, ()))]
    names = tuple((m, str(place)) for m in methods for place in range(len(gap[m])))
    if len(names) < 3:
        return None
    x, y = (np.concatenate([part[m] for m in methods]) for part in (known, gap))
    found = correlation(Points(names, x, y))
    sure = not math.isnan(found.kendall_p) and found.kendall_p < CERTAIN
    verdict = OPEN if not sure else HOLDS if found.kendall > 0 else FAILS
    shown = NOTHING if math.isnan(found.kendall) else f"Kendall {found.kendall:.2f}"
    words = "GenGap is ordered by I(L; b)."
    cells = (
        *(Cell(words), Cell("GenGap and estimated I(L; b)"), Cell(f"{len(names)} runs"), Cell("")),
        Cell(shown, "" if math.isnan(found.kendall_p) else f"p = {found.kendall_p:.2g}"),
        Cell(verdict, bold=verdict != OPEN),
    )
    blank = math.nan
    numbers = ("order", "gen_gap", "", "mutual_information", "", blank, blank)
    return cells, (*numbers, blank, blank, verdict, blank, blank, blank, blank)


def in_short(found: Sequence[Finding]) -> str:
    """Return in a sentence how many comparisons hold, do not hold, and are undecided."""
    count = {word: sum(one.verdict == word for one in found) for word in (HOLDS, FAILS, OPEN)}
    return (
        f"Of {counted(len(found), 'comparison')} that can be made with these runs, {count[HOLDS]} "
        f"came out as the paper says, {count[FAILS]} the other way, and {count[OPEN]} are "
        "undecided."
    )
