"""How far distributions over levels are apart: histograms of all pairs of parameters.

Each pair of parameters has a histogram of 8 × 8 equal cells of the box; all of them, side by side
and each with the same weight, are one distribution. The Jensen–Shannon divergence of two such is
the mean over pairs of the divergence of each: it sees every dependence between two parameters,
needs no choice of a kernel, is 0 for the same levels and 1 for boxes that overlap in no pair. What
depends on three parameters at once it does not see. Finite sets are never at 0 from each other:
fresh levels of the same process give the floor to compare with.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Float

from dred.tasks.vectors.box import Box

BINS = 8


def pair_histograms(
    box: Box,
    levels: Mapping[str, Float[np.ndarray, " level"]],
    weights: Float[np.ndarray, " level"] | None = None,
) -> Float[np.ndarray, "pair bin other_bin"]:
    """Return weighted levels as one distribution: the histograms of all pairs, which sum to 1.

    Levels of a single number have the histogram of that.
    """
    count = len(np.asarray(levels[box.names[0]]))
    chosen = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    cells = {
        one.name: np.clip(
            ((np.asarray(levels[one.name]) - one.low) / one.span * BINS).astype(int), 0, BINS - 1
        )
        for one in box.parameters
    }
    pairs = list(combinations(box.names, 2)) or [(box.names[0], box.names[0])]
    found = np.zeros((len(pairs), BINS, BINS))
    for place, (first, second) in enumerate(pairs):
        np.add.at(found[place], (cells[first], cells[second]), chosen)
    return found / found.sum()
