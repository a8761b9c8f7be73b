"""Weights of windows, corrected until windows come out as often as in the dataset.

Wave function collapse does not draw from any distribution that its weights would name: which
windows fit together, and that only the largest part of a layout stays, makes some come out far more
often than their weight says. So levels are drawn, the windows in them counted, and each weight is
multiplied by (wanted / counted)^STEP; a few rounds of this suffice.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, UInt64

from dred.tasks.gridworld.generators.wfc.furnish import seeds_for
from dred.tasks.gridworld.generators.wfc.model import Collapse, Windows
from dred.tasks.gridworld.generators.wfc.windows import WindowsConfig, all_numbers
from dred.tasks.gridworld.levels.compiled import seed_from, sub_seed
from dred.tasks.gridworld.levels.level import is_navigable

STEP = 0.7  # below 1, as the weights of other windows change at the same time
RARE = 5.0  # windows that are added to both counts, so that what is rare changes slowly


def calibrated(
    windows: Windows,
    shape: tuple[int, int],
    config: WindowsConfig,
    *,
    connected: bool,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Windows:
    """Return windows with corrected weights; `advance` hears of each catalogue in each round."""
    wanted, found = windows.weight, windows
    for number in range(config.rounds):
        collapse = Collapse(found, config, connected=connected)
        stream = sub_seed(seed_from("windows", seed), number)
        weight = found.weight.copy()
        for catalogue in range(len(found.name)):
            seeds = seeds_for(sub_seed(stream, catalogue), config.levels_per_round)
            made = collapse.draw_from(catalogue, seeds, shape)
            walls = (~is_navigable(made.tiles)).astype(np.uint8)
            width = found.windows.shape[1]
            drawn = all_numbers(walls, width, symmetric=config.augment_symmetries)
            own = found.catalogue == catalogue
            weight[own] *= correction(wanted[own], counts_of(found.numbers[own], drawn))
            advance(1)
        found = found._replace(weight=weight)
    return found


def counts_of(
    numbers: UInt64[np.ndarray, " window"], drawn: UInt64[np.ndarray, " place"]
) -> Float[np.ndarray, " window"]:
    """Return how often each of some windows occurs among those drawn; all must be different."""
    different, counts = np.unique(drawn, return_counts=True)
    place = np.minimum(np.searchsorted(different, numbers), len(different) - 1)
    return np.where(different[place] == numbers, counts[place], 0).astype(np.float64)


def correction(
    wanted: Float[np.ndarray, " window"], counted: Float[np.ndarray, " window"]
) -> Float[np.ndarray, " window"]:
    """Return by what weights are multiplied, given how often windows should occur and do."""
    expected = wanted / wanted.sum() * counted.sum()
    return ((expected + RARE) / (counted + RARE)) ** STEP
