"""The numbers that the paper prints for Minigrid, read from `paper.csv`.

Tables tb:minigrid_scores, tb:minigrid_solved_rate and tb:minigrid_gen_metrics of Garcin et al.
(2024), "DRED: Zero-Shot Transfer in Reinforcement Learning via Data-Regularised Environment
Design": five seeds after 27 000 updates. What the paper calls JSD is the Jensen–Shannon distance
here [fidelity 30].
"""

import csv
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

SUITES = {"train": 512, "test": 2048, "edge": 448, "hardcore": 216}  # with their numbers of levels
PAPER_COLUMNS = ("paper_mean", "paper_spread")
CIRCUMSTANCES = "mean ± standard deviation over 5 seeds after 27\u202f000 updates"


class Printed(NamedTuple):
    """A mean over seeds as the paper prints it."""

    mean: float
    spread: float | None  # standard deviation over seeds; None if it is not printed


@cache
def table() -> dict[tuple[str, str, str], Printed]:
    """Return what is printed, by measurement, suite ("" where there is none) and method."""
    with Path(__file__).with_name("paper.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["measure"], row["suite"], row["method"]): Printed(
                float(row["mean"]), float(row["spread"]) if row["spread"] else None
            )
            for row in csv.DictReader(file)
        }


def printed(measure: str, suite: str, method: str) -> Printed | None:
    """Return what the paper says of a method, if it does."""
    return table().get((measure, suite, method))


def printed_on(measure: str, suite: str, num_levels: int, method: str) -> Printed | None:
    """Return what the paper says of a method on a suite that is one of the paper's.

    A suite is taken for the paper's if it has the same name and the same number of levels.
    """
    return printed(measure, suite, method) if SUITES.get(suite) == num_levels else None


def in_print(known: Printed | None, *, percent: bool = False) -> str:
    """Return a number as the paper prints it, or in per cent; nothing if there is none."""
    if known is None:
        return ""
    if known.spread is None:
        return "n/a (0)"
    scale, digits = (100, 0) if percent else (1, 2)
    return f"{scale * known.mean:.{digits}f} ± {scale * known.spread:.{digits}f}"


def paper_columns(known: Printed | None) -> tuple[float, float]:
    """Return mean and spread for a table's columns, NaN for what is not printed."""
    mean, spread = known or (math.nan, None)
    return mean, math.nan if spread is None else spread


def paper_note(counts: Mapping[str, int]) -> str:
    """Return what stands after the word "paper" in tables of these suites, or why nothing does."""
    known = {name: count for name, count in counts.items() if name in SUITES}
    others = [
        f"{name} ({count:,} levels here, {SUITES[name]:,} in the paper)"
        for name, count in known.items()
        if SUITES[name] != count
    ]
    note = ""
    if len(others) < len(known):
        note = f"After “paper”: what the paper prints, {CIRCUMSTANCES}, on levels of its own. "
    if others:
        note += f"The paper's numbers are not shown for other levels than its: {', '.join(others)}."
    return note.strip()
