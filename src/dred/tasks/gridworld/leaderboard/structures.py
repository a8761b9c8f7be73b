"""Which structure a level looks as if it were made from, by the windows of its layout.

For each structure of a dataset it is counted how frequent each window of 3×3 cells (floor or wall)
is. The structure under which a level's windows are most probable is its own, if they are as
probable there as those of all but the rarest of that structure's levels; else it has none.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dred.tasks.gridworld.generators.wfc.windows import numbers_of
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, is_navigable

WIDTH = 3
FEWEST = 16  # levels of each structure
ADDED = 0.5  # to each count
RAREST = 0.01  # of a structure's levels, that are not typical of it
NO_STRUCTURE = -1


class Structures(NamedTuple):
    """What the structures of a dataset are known by."""

    names: tuple[str, ...]
    log_p: Float[np.ndarray, "structure window"]
    least: Float[np.ndarray, " structure"]  # mean log-probability that is typical

    def scores(self, levels: Level) -> Float[np.ndarray, "level structure"]:
        """Return the mean log-probability of each level's windows under each structure."""
        numbers = windows_in(levels)
        return np.stack([row[numbers].mean(axis=1) for row in self.log_p], axis=1)

    def of(self, levels: Level) -> Int[np.ndarray, " level"]:
        """Return the number of the structure of each level; NO_STRUCTURE if it looks like none."""
        scores = self.scores(levels)
        best = scores.argmax(axis=1)
        is_typical = scores.max(axis=1) >= self.least[best]
        return np.where(is_typical, best, NO_STRUCTURE)


def windows_in(levels: Level) -> Int[np.ndarray, "level window"]:
    """Return the numbers of all windows of each level."""
    walls = (~is_navigable(np.asarray(levels.tiles))).astype(np.uint8)
    return numbers_of(walls, WIDTH).reshape(len(walls), -1).astype(np.int64)


def structures_of(dataset: LevelDataset, held_out: LevelDataset | None) -> Structures | None:
    """Return what the structures of a dataset are known by; None if it names fewer than two.

    What is typical is found on levels held out, if they have the same structures, as the windows
    of the dataset's own levels have been counted.
    """
    names = dataset.structures
    if len(names) < 2 or min(int((dataset.structure == name).sum()) for name in names) < FEWEST:
        return None
    if min(dataset.shape) < WIDTH:
        return None
    tables: list[Float[np.ndarray, " window"]] = []
    for name in names:
        numbers = windows_in(dataset[dataset.structure == name].levels)
        counts = np.bincount(numbers.ravel(), minlength=2 ** (WIDTH * WIDTH)) + ADDED
        tables.append(np.log(counts / counts.sum()))
    judged = dataset if held_out is None or set(held_out.structures) != set(names) else held_out
    found = Structures(tuple(names), np.stack(tables), np.zeros(len(names)))
    own = [
        found.scores(judged[judged.structure == name].levels)[:, place]
        for place, name in enumerate(names)
    ]
    return found._replace(least=np.array([np.quantile(one, RAREST) for one in own]))


def shares(chosen: Int[np.ndarray, " level"], count: int) -> Float[np.ndarray, " structure"]:
    """Return the share of all levels that has each structure."""
    known = chosen[chosen != NO_STRUCTURE]
    return np.bincount(known, minlength=count) / max(len(chosen), 1)


def effective_number(share: Float[np.ndarray, " structure"]) -> float:
    """Return how many structures there are, as many as equally frequent ones: exp of the entropy.

    Only levels that have one count; 0 if none has.
    """
    if share.sum() == 0:
        return 0.0
    p = share[share > 0] / share.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
