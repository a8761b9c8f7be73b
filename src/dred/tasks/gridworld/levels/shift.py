"""How far one set of levels is from another: tile × distance histograms and their divergence.

The paper compares the levels that an agent trains on with the dataset by the joint distribution of
tile type t and distance to the goal d, c(t, d | level), averaged over levels, and the
Jensen–Shannon divergence between two such averages.
"""

import numpy as np
from jaxtyping import Float

from dred.errors import DatasetError
from dred.evaluation.shift import Shift, jensen_shannon
from dred.tasks.gridworld.levels import measure
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, for_compiled
from dred.tasks.gridworld.levels.sizes import by_size

Table = Float[np.ndarray, "tile _"]


def histogram(
    dataset: LevelDataset, weights: Float[np.ndarray, " level"] | None = None
) -> Float[np.ndarray, "tile distance"]:
    """Share of cells with each tile (empty, wall, lava, moss) at each distance from the goal.

    Each level counts by its weight (equally if none are given), whatever its size. The distance of
    a wall is that of `dred.levels.extended_distances`. The last column holds the navigable cells
    from which the goal cannot be reached. The table sums to 1.
    """
    return histogram_of(dataset.levels, weights)


def histogram_of(
    levels: Level, weights: Float[np.ndarray, " level"] | None = None
) -> Float[np.ndarray, "tile distance"]:
    """The same, of a batch of levels."""
    count, height, width = levels.tiles.shape
    chosen = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    if chosen.shape != (count,) or not np.isfinite(chosen).all() or (chosen < 0).any():
        raise DatasetError(
            f"weights must be {count} numbers that are not negative, one per level; found "
            f"{list(chosen.shape)}."
        )
    if chosen.sum() <= 0:
        raise DatasetError("weights must not all be 0: at least one level has to count.")
    table, shares = np.zeros((4, height * width + 1)), chosen / chosen.sum()
    for places, some in by_size(for_compiled(levels)):
        measure.count_tiles(some.tiles, some.goal, shares[places], table)
    return table


def shift_between(
    first: LevelDataset,
    second: LevelDataset,
    *,
    first_weights: Float[np.ndarray, " level"] | None = None,
    second_weights: Float[np.ndarray, " other_level"] | None = None,
) -> Shift:
    """How far apart two sets of levels are, also of different sizes."""
    divergence = divergence_of(histogram(first, first_weights), histogram(second, second_weights))
    return Shift(divergence, float(np.sqrt(divergence)))


def divergence_of(first: Table, second: Table) -> float:
    """The Jensen–Shannon divergence of two histograms, also of levels of different sizes."""
    return jensen_shannon(*aligned(first, second))


def aligned(first: Table, second: Table) -> tuple[Table, Table]:
    """Two histograms with equally many columns."""
    columns = max(first.shape[1], second.shape[1])
    return _widen(first, columns), _widen(second, columns)


def _widen(table: Table, columns: int) -> Table:
    """Add empty columns before the last one, which is that of unreachable cells."""
    missing = columns - table.shape[1]
    return np.insert(table, [table.shape[1] - 1] * missing, 0.0, axis=1) if missing else table
