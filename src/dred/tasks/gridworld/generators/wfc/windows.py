"""The windows of a dataset's layouts: which there are, and how often.

A layout is where there is floor and where wall. Every K×K part of it is a window; wave function
collapse grows layouts in which all windows are of the dataset. Levels made from different
structures have different windows, so each structure has a catalogue of its own.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8, UInt64

from dred.config import need_one
from dred.errors import ConfigError, DatasetError
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import is_navigable, size_words

LARGEST = 7  # of a window: its cells are bits of one number
FEWEST = 16  # levels of a structure for a catalogue of its own


@dataclass(frozen=True)
class WindowsConfig:
    """Wave function collapse, fitted to a dataset's own windows."""

    window: int = 3
    """K: every K×K part of a layout that is drawn occurs in a layout of the dataset."""
    per_structure: bool = True
    """A catalogue for each structure of which there are 16 levels, if there are for all."""
    augment_symmetries: bool = False
    """Also learn from the seven other symmetric copies of each layout."""
    rounds: int = 4
    """Times that levels are drawn to correct the windows' weights: what comes out too often is
    made rarer, until windows are as frequent as in the dataset."""
    levels_per_round: int = 256
    """Levels drawn from each catalogue in a round."""
    heuristic: Literal["entropy", "count"] = "entropy"
    """Decide next the cell with the least Shannon entropy, or with the fewest windows left."""
    placements: int = 8
    """Placements of moss and of lava that are tried: that stays whose correlation with the
    distance to the goal is nearest to that of a random level of the dataset."""
    smoothing: float = 1.0
    """Cells, as dense as all, that are added where the density at some distance is counted."""
    max_attempts: int = 1000
    """Contradictions in a row before giving up on a layout."""

    def __post_init__(self) -> None:
        need_one(self, "placements", "max_attempts", "levels_per_round")
        if self.rounds < 0:
            raise ConfigError(f"rounds (={self.rounds}) must be 0 or more.")
        if not 2 <= self.window <= LARGEST:
            raise ConfigError(f"window (={self.window}) must be at least 2 and at most {LARGEST}.")
        if not self.smoothing > 0.0:
            raise ConfigError(f"smoothing (={self.smoothing}) must be greater than 0.")


class Catalogue(NamedTuple):
    """The different windows of some levels."""

    name: str  # of the structure; empty for all levels together
    windows: UInt8[np.ndarray, "window k k"]  # 1 is wall
    weight: Float[np.ndarray, " window"]  # how often each occurs
    members: Bool[np.ndarray, " level"]  # the levels of the dataset that it is of


def catalogues_of(dataset: LevelDataset, config: WindowsConfig) -> list[Catalogue]:
    """Return the catalogue of each structure of a dataset, or one of them all."""
    if min(dataset.shape) < config.window:
        raise DatasetError(
            f"These levels have {size_words(dataset.shape)}, fewer than a window of "
            f"{config.window}×{config.window}. Fit to larger levels, or set a smaller window."
        )
    groups = {name: dataset.structure == name for name in dataset.structures}
    if not config.per_structure or min(int(one.sum()) for one in groups.values()) < FEWEST:
        groups = {"": np.ones(len(dataset), np.bool_)}
    found: list[Catalogue] = []
    for name, members in groups.items():
        walls = (~is_navigable(dataset.tiles[members])).astype(np.uint8)
        windows, weight = windows_of(walls, config.window, symmetric=config.augment_symmetries)
        found.append(Catalogue(name, windows, weight, members))
    return found


def windows_of(
    walls: UInt8[np.ndarray, "level height width"], width: int, *, symmetric: bool = False
) -> tuple[UInt8[np.ndarray, "window k k"], Float[np.ndarray, " window"]]:
    """Return the different windows of layouts, in order of their numbers, and their counts."""
    found, counts = np.unique(all_numbers(walls, width, symmetric=symmetric), return_counts=True)
    bits = (found[:, None] >> np.arange(width * width, dtype=np.uint64)) & np.uint64(1)
    return bits.astype(np.uint8).reshape(-1, width, width), counts.astype(np.float64)


def all_numbers(
    walls: UInt8[np.ndarray, "level height width"], width: int, *, symmetric: bool
) -> UInt64[np.ndarray, " place"]:
    """Return the number of every window of layouts, and perhaps of their symmetric copies."""
    copies = [np.rot90(walls, turn, axes=(1, 2)) for turn in range(4 if symmetric else 1)]
    copies += [copy[:, :, ::-1] for copy in copies] if symmetric else []
    return np.concatenate([numbers_of(copy, width).reshape(-1) for copy in copies])


def numbers_of(
    walls: UInt8[np.ndarray, "level height width"], width: int
) -> UInt64[np.ndarray, "level row column"]:
    """Return a number for the window at each place, a bit for each cell."""
    _, high, wide = walls.shape
    rows, columns = high - width + 1, wide - width + 1
    numbers = np.zeros((len(walls), rows, columns), np.uint64)
    for bit in range(width * width):
        row, column = divmod(bit, width)
        cell = walls[:, row : row + rows, column : column + columns]
        numbers |= cell.astype(np.uint64) << np.uint64(bit)
    return numbers
