"""A search over settings of the generative model: its tables, and whether the bound tells quality.

The paper finds "that models with high ELBO on the validation set tend to also have a high
generated layout solvability rate". Here are the numbers for any search.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dred.evaluation.correlations import Correlation, correlate
from dred.reports.kit.figures import COLOURS, panels, save_figure
from dred.reports.kit.table import Cell, Table, number

BOUNDS = {
    "bound": "bound, held back (nats)",
    "bound_fitted": "bound, fitted to (nats)",
    "bound_released": "bound as released, held back",
}
OUTCOMES = {
    "solvable": "solvable",
    "shift": "JS distance",
    "shift_held_out": "JS distance to held-out levels",
}
Row = Mapping[str, Any]  # a candidate: bounds, outcomes and its settings, the best first


class Relation(NamedTuple):
    """How a bound and an outcome go together over the candidates of a search."""

    bound: str
    outcome: str
    found: Correlation


def values_of(rows: Sequence[Row], name: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return one number of each candidate."""
    return np.array([row[name] for row in rows], np.float64)


def relations(rows: Sequence[Row]) -> list[Relation]:
    """Return the correlation of each bound with each outcome that was measured.

    Candidates whose fit came to nothing do not count.
    """
    measured = [name for name in OUTCOMES if np.isfinite(values_of(rows, name)).any()]
    found: list[Relation] = []
    for bound in BOUNDS:
        for outcome in measured:
            x, y = values_of(rows, bound), values_of(rows, outcome)
            both = np.isfinite(x) & np.isfinite(y)
            found.append(Relation(bound, outcome, correlate(x[both], y[both])))
    return found


def candidate_table(rows: Sequence[Row]) -> Table:
    """Return the candidates of a search, the highest bound first."""
    names = list(rows[0]["settings"])
    measures = [name for name in rows[0] if name != "settings"]
    shown = [*BOUNDS, *(name for name in OUTCOMES if name != "shift_held_out"), "novel"]
    percent = {"solvable", "novel"}
    return Table(
        "sweep",
        "Candidates, the highest bound on levels held back first",
        ("No.", *(({**BOUNDS, **OUTCOMES}.get(name, name)) for name in shown), "settings"),
        tuple(
            (
                Cell(str(row["number"])),
                *(Cell(number(row[name], percent=name in percent)) for name in shown),
                Cell(", ".join(f"{name} {value}" for name, value in row["settings"].items())),
            )
            for row in rows
        ),
        (*measures, *names),
        tuple(
            (
                *(row[name] for name in measures),
                *(str(row["settings"][name]) for name in names),
            )
            for row in rows
        ),
    )


def relation_table(rows: Sequence[Row]) -> Table:
    """Return how the bounds go with what the candidates' levels are like."""
    found = relations(rows)

    def coefficient(value: float, chance: float) -> Cell:
        return Cell(number(value), "" if math.isnan(value) else f"p {chance:.2g}")

    return Table(
        "relations",
        "Does the bound tell how good the levels are?",
        ("Bound", "With", "Candidates", "Pearson", "Kendall τ-b"),
        tuple(
            (
                Cell(BOUNDS[one.bound]),
                Cell(OUTCOMES[one.outcome]),
                Cell(str(one.found.points)),
                coefficient(one.found.pearson, one.found.pearson_p),
                coefficient(one.found.kendall, one.found.kendall_p),
            )
            for one in found
        ),
        ("bound", "outcome", *Correlation._fields),
        tuple((one.bound, one.outcome, *one.found) for one in found),
        "A higher bound goes with better levels if its correlation with solvability is positive, "
        "and that with the JS distance negative. The bound in nats is the evidence lower bound; as "
        "released it is the mean of the three heads, the layout per cell, less the divergence per "
        "latent. p-values are two-sided.",
    )


def scatter(rows: Sequence[Row], path: Path) -> None:
    """Draw each bound against each outcome, a dot per candidate; the chosen one stands out."""
    found = relations(rows)
    titles = [
        f"Pearson {number(one.found.pearson)}, Kendall {number(one.found.kendall)}" for one in found
    ]
    figure, axes = panels(titles, columns=len(found) // len(BOUNDS))
    for axis, one in zip(axes, found, strict=True):
        x, y = values_of(rows, one.bound), values_of(rows, one.outcome)
        axis.plot(x, y, "o", color=COLOURS[0], markersize=4.5, alpha=0.75, label="candidate")
        axis.plot(x[:1], y[:1], "D", color=COLOURS[1], markersize=6, label="chosen")
        axis.set_xlabel(BOUNDS[one.bound])
        axis.set_ylabel(OUTCOMES[one.outcome])
    axes[0].legend()
    save_figure(figure, path)
