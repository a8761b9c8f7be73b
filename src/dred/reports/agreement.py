"""How far methods rank alike by their distance from the dataset and on held-out levels."""

import math

import numpy as np

from dred.evaluation.correlations import FEWEST_POINTS, correlate
from dred.reports.at_end import has_no_shift
from dred.reports.correlations import places
from dred.reports.curves import curve
from dred.reports.kit.table import Cell, Table
from dred.reports.material import Material


def agreement_over_training(material: Material) -> list[tuple[int, float]]:
    """Return Kendall's τ-b between the two orders of methods at each update, by live measurements.

    1 if methods nearer the dataset do better on held-out levels without exception, −1 if worse.
    """
    able = [method for method in material.methods if not has_no_shift(method)]
    curves = [
        (distance, returned)
        for method in able
        for distance, returned in [(curve(method, "jsd_distance"), curve(method, "return/test"))]
        if distance is not None and returned is not None
    ]
    if len(curves) < FEWEST_POINTS or len(curves) < len(able):
        return []
    common = set[int].intersection(*({*one.updates.tolist()} for pair in curves for one in pair))
    found: list[tuple[int, float]] = []
    for update in sorted(common):
        values = [[float(c.mean[c.updates == update][0]) for c in pair] for pair in curves]
        x, y = np.array(values, np.float64).T
        tau = correlate(places(x), places(-y)).kendall
        if math.isfinite(tau):
            found.append((update, tau))
    return found


def agreement_table(material: Material) -> Table:
    """Return the agreement of the two orders over training."""
    data = agreement_over_training(material)
    return Table(
        "ranks-over-training",
        "Agreement of the ranks by JS distance and by live return on test, over training",
        ("Update", "Kendall τ-b"),
        tuple((Cell(f"{update:,}"), Cell(f"{tau:.2f}")) for update, tau in data),
        ("update", "kendall"),
        tuple(data),
        "1 if methods nearer the dataset do better on held-out levels without exception.",
    )
