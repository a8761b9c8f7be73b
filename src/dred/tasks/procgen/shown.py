"""How the Procgen study shows numbers in tables."""

import math
from collections.abc import Mapping, Sequence

from dred.evaluation.statistics import Interval
from dred.reports.kit.table import NOTHING
from dred.tasks.procgen.outcomes import Outcome, Spread

INTERVALS = ("low_95", "high_95", "low_99", "high_99")


def plus_minus(spread: Spread, *, percent: bool = False, digits: int | None = None) -> str:
    """Mean ± population standard deviation over seeds, in the form of the paper's tables."""
    if not spread.runs:
        return NOTHING
    scale = 100 if percent else 1
    if digits is None:
        digits = 1 if percent or abs(spread.mean) >= 10 else 2
    shown = f"{scale * spread.mean + 0.0:.{digits}f}"
    if math.isnan(spread.deviation):
        return shown
    return f"{shown} ± {scale * spread.deviation:.{digits}f}"


def ends(intervals: Mapping[float, Interval]) -> tuple[float, ...]:
    """Return the ends of both intervals."""
    return (*intervals[0.95], *intervals[0.99])


def interval_note(outcomes: Sequence[Outcome]) -> str:
    """Return what the small print is, or why there is none."""
    if len({one.seed for one in outcomes}) == 1:
        return "One seed, so without intervals."
    return "Small print: 95 % interval from runs drawn with replacement for each game."


def capital(text: str) -> str:
    """Return the same with a capital first."""
    return text[:1].upper() + text[1:]
