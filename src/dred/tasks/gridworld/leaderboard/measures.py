"""What is measured of a batch of levels, each number with its error over levels."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Shaped, UInt8

from dred.tasks.gridworld.generators.memory import copied_windows
from dred.tasks.gridworld.generators.quality import nearest_distances, pictures
from dred.tasks.gridworld.leaderboard.structures import (
    NO_STRUCTURE,
    Structures,
    effective_number,
    shares,
    structures_of,
)
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, faults
from dred.tasks.gridworld.levels.metrics import level_metrics
from dred.tasks.gridworld.levels.shift import divergence_of, histogram_of

COPIED = 5  # side of the windows of which it is told how many are copied
RESAMPLES = 16  # of the levels, for the errors of what is no mean over levels


class Number(NamedTuple):
    """What was measured, and its standard error over levels; NaN where there is none."""

    value: float
    error: float = math.nan


class Reference(NamedTuple):
    """With what levels are compared."""

    dataset: LevelDataset
    held_out: LevelDataset | None
    structures: Structures | None


def reference_of(dataset: LevelDataset, held_out: LevelDataset | None) -> Reference:
    """Return with what levels are compared, given the two sets."""
    return Reference(dataset, held_out, structures_of(dataset, held_out))


def measure(levels: Level, reference: Reference, *, seed: int = 0) -> dict[str, Number]:
    """Return all that is measured of levels, by the names of the columns."""
    metrics = level_metrics(levels)
    shape = reference.dataset.shape
    ours, theirs = pictures(levels, shape), pictures(reference.dataset.levels, shape)
    nearest = nearest_distances(ours, theirs)
    broken = np.any(list(faults(levels).values()), axis=0)
    side = min(COPIED, *levels.tiles.shape[1:])
    found = {
        "levels": Number(float(len(ours))),
        "valid": mean_of(~broken),
        "solvable": mean_of(np.isfinite(metrics.path)),
        "unique": Number(len(np.unique(ours, axis=0)) / len(ours)),
        "novel": mean_of(nearest > 0),
        "nearest": mean_of(nearest),
        "copied": mean_of(copied_windows(levels, reference.dataset, side)),
        **shifts(levels, reference, seed=seed),
        "moss_right": mean_of(right_sign(metrics.moss_correlation, -1.0)),
        "lava_right": mean_of(right_sign(metrics.lava_correlation, 1.0)),
        "diversity": Number(mean_distance(ours)),
    }
    return found | coverage(levels, reference.structures, seed=seed)


def mean_of(values: Shaped[np.ndarray, " level"]) -> Number:
    """Return the mean of the values that are there, with its standard error."""
    given = np.asarray(values, np.float64)
    there = given[np.isfinite(given)]
    if not len(there):
        return Number(math.nan)
    error = float(there.std(ddof=1) / math.sqrt(len(there))) if len(there) > 1 else math.nan
    return Number(float(there.mean()), error)


def right_sign(
    correlation: Float[np.ndarray, " level"], sign: float
) -> Float[np.ndarray, " level"]:
    """Return 1 where a correlation has the sign, 0 where not, and NaN where it is not defined."""
    return np.where(np.isfinite(correlation), (sign * correlation > 0).astype(np.float64), np.nan)


def mean_distance(ours: UInt8[np.ndarray, "level cell"]) -> float:
    """Return in how many cells two of the levels differ, on average over all pairs."""
    count = len(ours)
    if count < 2:
        return math.nan
    alike = sum(((ours == kind).mean(axis=0) ** 2).sum() for kind in np.unique(ours))
    return float((ours.shape[1] - alike) * count / (count - 1))


def shifts(levels: Level, reference: Reference, *, seed: int) -> dict[str, Number]:
    """Return the Jensen–Shannon distances to the dataset and to levels held out."""
    count = len(levels.tiles)
    random = np.random.default_rng(seed)
    drawn = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    tables = [histogram_of(levels, weights.astype(np.float64)) for weights in drawn]
    sets = {"shift": reference.dataset}
    if reference.held_out is not None:
        sets["shift_held_out"] = reference.held_out
    found: dict[str, Number] = {}
    for name, other in sets.items():
        wanted = histogram_of(other.levels)
        again = [math.sqrt(divergence_of(table, wanted)) for table in tables]
        value = math.sqrt(divergence_of(histogram_of(levels), wanted))
        found[name] = Number(value, float(np.std(again, ddof=1)))
    return found


def coverage(levels: Level, structures: Structures | None, *, seed: int) -> dict[str, Number]:
    """Return which share of levels has a structure of the dataset, and how many of them there are.

    The share of each structure is in it too, by the names `structure/NAME`.
    """
    if structures is None:
        return {}
    chosen, count = structures.of(levels), len(structures.names)
    random = np.random.default_rng(seed)
    again = [
        effective_number(shares(random.choice(chosen, len(chosen)), count))
        for _ in range(RESAMPLES)
    ]
    each = shares(chosen, count)
    return {
        "typical": mean_of(chosen != NO_STRUCTURE),
        "structures": Number(effective_number(each), float(np.std(again, ddof=1))),
        **{
            f"structure/{name}": Number(share)
            for name, share in zip(structures.names, each.tolist(), strict=True)
        },
    }
