"""What levels are like: sizes, densities, path lengths, and whether moss and lava tell the way."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.config import check_seed
from dred.tasks.gridworld.levels import measure
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, as_batch, for_compiled
from dred.tasks.gridworld.levels.paths import resistance_distance
from dred.tasks.gridworld.levels.sizes import by_size, sizes_of, with_border


class LevelMetrics(NamedTuple):
    """One number per level of a batch."""

    navigable: Float[np.ndarray, " level"]  # cells the agent can walk on
    moss_density: Float[np.ndarray, " level"]  # moss / navigable cells, start and goal included
    lava_density: Float[np.ndarray, " level"]  # lava / (lava + wall)
    path: Float[np.ndarray, " level"]  # steps from start to goal; NaN if there is no way
    moss_correlation: Float[
        np.ndarray, " level"
    ]  # of moss with distance: negative is near the goal
    lava_correlation: Float[np.ndarray, " level"]  # of lava with distance: positive is far from it


def level_metrics(levels: Level) -> LevelMetrics:
    """Measure each level of a batch.

    Correlations are point-biserial: Pearson's, between a mark (moss or not, lava or not) and the
    distance to the goal; for moss over the reachable cells but the goal, for lava over walls and
    lava, with the distance of `dred.levels.extended_distances`.
    """
    result = np.empty((len(levels.tiles), 6), np.float64)
    for places, some in by_size(for_compiled(levels)):
        row = np.empty((len(some.tiles), result.shape[1]), np.float64)
        measure.measure_levels(some.tiles, some.goal, some.start, row)
        result[places] = row
    return LevelMetrics(*result.T)


def densities(level: Level) -> tuple[float, float]:
    """Moss density (of navigable cells) and lava density (of the others) of one level."""
    metrics = level_metrics(as_batch(level))
    return float(metrics.moss_density[0]), float(metrics.lava_density[0])


class Summary(NamedTuple):
    """What one group of levels is like, on average."""

    name: str
    levels: int
    navigable: float
    smallest: int  # the fewest navigable cells in any level
    path: float
    path_range: tuple[int, int]
    moss_density: float
    lava_density: float
    moss_right: (
        float  # share with moss nearer the goal than chance, of levels where that is defined
    )
    lava_right: float  # share with lava farther from the goal than chance, likewise
    resistance: float
    solvable: int


def summarise(dataset: LevelDataset, *, name: str, sample: int = 256, seed: int = 0) -> Summary:
    """Averages over a set. Resistance is averaged over a random sample, as it is slow."""
    metrics = level_metrics(dataset.levels)
    solved = np.isfinite(metrics.path)
    paths = metrics.path[solved]
    some = np.random.default_rng(check_seed(seed)).permutation(np.flatnonzero(solved))[:sample]
    resistances = [resistance_distance(dataset[int(index)]) for index in some]
    return Summary(
        name=name,
        levels=len(dataset),
        navigable=float(metrics.navigable.mean()),
        smallest=int(metrics.navigable.min()),
        path=float(paths.mean()) if len(paths) else float("nan"),
        path_range=(int(paths.min()), int(paths.max())) if len(paths) else (0, 0),
        moss_density=float(metrics.moss_density.mean()),
        lava_density=_mean(metrics.lava_density),
        moss_right=_share(metrics.moss_correlation, -1),
        lava_right=_share(metrics.lava_correlation, 1),
        resistance=float(np.mean(resistances)) if resistances else float("nan"),
        solvable=int(solved.sum()),
    )


def _share(correlation: Float[np.ndarray, " level"], sign: int) -> float:
    defined = correlation[np.isfinite(correlation)]
    return float((sign * defined > 0).mean()) if len(defined) else float("nan")


def _mean(values: Float[np.ndarray, " level"]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def summarise_by_structure(
    dataset: LevelDataset,
    *,
    sample: int = 256,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Summary]:
    """One summary per structure, one per size if there are several, and one of the whole set.

    `advance` hears of each.
    """
    groups = [(name, dataset[dataset.structure == name]) for name in dataset.structures]
    if len(dataset.sizes) > 1:
        of_level = sizes_of(dataset.levels)
        groups += [
            (with_border(size), dataset[(of_level == size).all(axis=1)])
            for size, _ in dataset.sizes
        ]
    summaries: list[Summary] = []
    for name, group in [*groups, ("all", dataset)]:
        summaries.append(summarise(group, name=name, sample=sample, seed=seed))
        advance(1)
    return summaries
