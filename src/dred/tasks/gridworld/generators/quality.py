"""How good generated levels are, whatever made them, beside the dataset they should be like."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import OUTSIDE, Level, cropped, faults, has_outside
from dred.tasks.gridworld.levels.metrics import level_metrics
from dred.tasks.gridworld.levels.shift import divergence_of, histogram_of
from dred.tasks.gridworld.levels.sizes import Shape, largest, padded


class Quality(NamedTuple):
    """One row of the report. Shares are of all levels, means of those that have a value."""

    levels: int
    valid: float  # proper levels: one start, one goal, on different free cells
    solvable: float
    unique: float  # different levels / levels
    novel: float  # not in the dataset
    nearest: float  # mean number of cells that differ from the nearest level of the dataset
    shift: float  # Jensen–Shannon distance to the dataset
    shift_held_out: float  # the same to levels held out; NaN if there are none
    path: float  # steps from start to goal
    navigable: float  # cells
    moss_density: float
    lava_density: float
    moss_right: float  # share with moss nearer the goal than chance
    lava_right: float  # share with lava farther from the goal than chance

    def for_json(self) -> dict[str, int | float | None]:
        """The same; what has no value is null."""
        row = self._asdict()
        return {name: value if np.isfinite(value) else None for name, value in row.items()}


START, GOAL = OUTSIDE + 1, OUTSIDE + 2


def pictures(levels: Level, shape: Shape) -> UInt8[np.ndarray, "level cell"]:
    """The content of each level as one row of numbers: tiles, with start and goal drawn in.

    There is room for levels of this height and width.
    """
    tiles = np.array(padded(cropped(levels), shape).tiles, np.uint8)
    rows = np.arange(len(tiles))
    tiles[rows, levels.start[:, 0], levels.start[:, 1]] = START
    tiles[rows, levels.goal[:, 0], levels.goal[:, 1]] = GOAL
    return tiles.reshape(len(tiles), -1)


def assess(levels: Level, dataset: LevelDataset, held_out: LevelDataset | None = None) -> Quality:
    """The quality of a batch of levels."""
    levels = Level(*(np.asarray(part) for part in levels))
    metrics = level_metrics(levels)
    own, theirs_in = cropped(levels).tiles.shape[1:], dataset.shape
    shape = largest([own, theirs_in])
    ours, theirs = pictures(levels, shape), pictures(dataset.levels, shape)
    is_comparable = own == theirs_in or has_outside(levels.tiles) or has_outside(dataset.tiles)
    nearest = nearest_distances(ours, theirs) if is_comparable else np.full(len(ours), np.nan)
    broken: Bool[np.ndarray, " level"] = np.any(list(faults(levels).values()), axis=0)
    ours_in_bins = histogram_of(levels)

    def shift_to(others: LevelDataset) -> float:
        return float(np.sqrt(divergence_of(ours_in_bins, histogram_of(others.levels))))

    return Quality(
        levels=len(ours),
        valid=float(1.0 - broken.mean()),
        solvable=float(np.isfinite(metrics.path).mean()),
        unique=len(np.unique(ours, axis=0)) / len(ours),
        novel=float((nearest > 0).mean()) if is_comparable else float("nan"),
        nearest=float(nearest.mean()),
        shift=shift_to(dataset),
        shift_held_out=float("nan") if held_out is None else shift_to(held_out),
        path=mean_of(metrics.path),
        navigable=float(metrics.navigable.mean()),
        moss_density=mean_of(metrics.moss_density),
        lava_density=mean_of(metrics.lava_density),
        moss_right=share_below(metrics.moss_correlation),
        lava_right=share_below(-metrics.lava_correlation),
    )


def nearest_distances(
    ours: UInt8[np.ndarray, "level cell"], theirs: UInt8[np.ndarray, "other cell"]
) -> Float[np.ndarray, " level"]:
    """Cells in which each level differs from the nearest of the others.

    A cell that only one of two levels has is one in which they differ.
    """
    matches = np.zeros((len(ours), len(theirs)), np.float32)
    for kind in range(GOAL + 1):
        matches += (ours == kind).astype(np.float32) @ (theirs == kind).astype(np.float32).T
    return (ours.shape[1] - matches.max(axis=1)).astype(np.float64)


def mean_of(values: Float[np.ndarray, " level"]) -> float:
    """The mean of the values that are there; NaN if none is."""
    there = values[np.isfinite(values)]
    return float(there.mean()) if len(there) else float("nan")


def share_below(values: Float[np.ndarray, " level"]) -> float:
    """The share of the values that are there which is negative; NaN if none is there."""
    there = values[np.isfinite(values)]
    return float((there < 0).mean()) if len(there) else float("nan")


HEADINGS = {"moss_right": "moss near goal", "lava_right": "lava far"}
CORRELATED = 0.65  # of levels: where half would be chance, a dataset that has a rule has more
LEGEND = (
    "(solvable: of all levels; novel: not in the dataset; nearest: cells that differ from the "
    "nearest level of the dataset; shift: Jensen–Shannon distance to the dataset, 0 alike, 1 "
    "nothing in common; moss density: of navigable cells; lava density: of lava and walls)"
)
FEW_LEVELS = 100
DRIFT = 1.25  # times as much of something as in the dataset, or less by as much
NOTICED = 0.02  # of the cells, of something that the dataset does not have at all


def drift_words(made: Quality, dataset: Quality) -> str:
    """Return what a model makes much more or less of than its dataset has; empty if nothing."""
    found: list[str] = []
    if made.solvable * DRIFT < dataset.solvable:
        found.append(f"only {made.solvable:.1%} of them can be solved")
    for name, what in (("moss_density", "moss"), ("lava_density", "lava")):
        ours, theirs = getattr(made, name), getattr(dataset, name)
        if drifts(ours, theirs):
            found.append(f"{what} {ours:.1%} where the dataset has {theirs:.1%}")
    if not found:
        return ""
    few = f" It was fitted to {dataset.levels} levels only." if dataset.levels < FEW_LEVELS else ""
    return (
        f"The model's levels differ from the dataset: {', '.join(found)}.{few} More levels help "
        "most, then fitting longer; in training, --drift-limit 0.15 --drift-lowers-eta draws fewer "
        "generated ones if they drift."
    )


def drifts(ours: float, theirs: float) -> bool:
    """Return whether a density is far from that of the dataset, where both are known."""
    if theirs == 0:
        return ours > NOTICED
    return bool(np.isfinite([ours, theirs]).all()) and not 1 / DRIFT <= ours / theirs <= DRIFT


def fields_for(rows: Mapping[str, Quality]) -> list[str]:
    """Return what is worth a column: what is known, and rules that the dataset has."""
    known = any(np.isfinite(quality.shift_held_out) for quality in rows.values())
    dataset = rows.get("the dataset")
    left_out = set() if known else {"shift_held_out"}
    if dataset is not None:
        left_out |= {name for name in HEADINGS if not getattr(dataset, name) >= CORRELATED}
    return [name for name in Quality._fields if name not in left_out]


def in_words(rows: Mapping[str, Quality]) -> str:
    """The report as a table in text, a row per source of levels, with a legend."""
    fields = fields_for(rows)
    headings = ["levels from", *(HEADINGS.get(name, name.replace("_", " ")) for name in fields)]
    percent = {"valid", "solvable", "unique", "novel", "moss_right", "lava_right"}
    lines = [headings]
    for source, quality in rows.items():
        cells = [source]
        for name in fields:
            value = getattr(quality, name)
            if name in percent:
                cells.append(f"{value:.1%}")
            else:
                cells.append(f"{value:d}" if isinstance(value, int) else f"{value:.3g}")
        lines.append(cells)
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    table = (
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join((*table, LEGEND))
