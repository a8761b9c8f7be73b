"""How far one distribution over levels is from another."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import rel_entr

if TYPE_CHECKING:
    from dred.task import Levels, Task


class Shift(NamedTuple):
    """How far apart two distributions are; both numbers are 0 for the same, 1 for disjoint ones."""

    divergence: float  # Jensen–Shannon, in bits
    distance: float  # its square root, a metric: what the numbers in the paper match


def jensen_shannon(p: Float[np.ndarray, "*any"], q: Float[np.ndarray, "*any"]) -> float:
    """Return the Jensen–Shannon divergence of two distributions, in bits.

    JSD(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m),   m = (p + q) / 2

    SciPy's `jensenshannon` is the square root, which is NaN if rounding makes it negative.
    """
    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum() / 2
    return float(np.clip(nats / np.log(2), 0.0, 1.0))


def shift_from(
    dataset: "Levels", levels: "Levels", weights: Float[np.ndarray, " level"], task: "Task"
) -> Shift | None:
    """Return how far weighted levels are from a dataset; None if the task cannot tell."""
    if task.histogram is None:
        return None
    theirs, ours = task.histogram(levels, weights), task.histogram(dataset, None)
    if theirs.shape != ours.shape and task.align_histograms is not None:
        theirs, ours = task.align_histograms(theirs, ours)
    divergence = jensen_shannon(theirs, ours)
    return Shift(divergence, float(np.sqrt(divergence)))
