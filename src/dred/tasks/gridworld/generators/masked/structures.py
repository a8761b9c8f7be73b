"""The structures that the dataset names, which the model is told of.

A structure's own windows also tell by which symmetric copies its levels may be learned: a maze
whose walls all turn one way has fewer than rooms.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.errors import lookup
from dred.tasks.gridworld.generators.symmetry import symmetric_copy
from dred.tasks.gridworld.generators.wfc.windows import FEWEST, numbers_of
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, is_navigable

NOT_TOLD = 0  # the label of a level whose structure is not known; others follow
MOST = 64  # structures
TOLD = 0.9  # probability that the model is told, while it learns
WIDTH = 3  # of the windows
ALIKE = 0.98  # of a copy's windows, that the structure has, too


class Structures(NamedTuple):
    """The structures of a dataset, and what is known of them."""

    names: tuple[str, ...]
    label: Int[np.ndarray, " level"]  # of each of its levels
    copies: Bool[np.ndarray, "label symmetry"]  # symmetric copies that are like it

    def label_of(self, name: str) -> int:
        """Return the label of a structure."""
        labels = {name: 1 + place for place, name in enumerate(self.names)}
        return lookup(labels, name, what="structure of these levels")

    def log_shares(self) -> Float[np.ndarray, " label"]:
        """Return the logarithm of the share of levels that has each label."""
        counts = np.bincount(self.label, minlength=1 + len(self.names))
        with np.errstate(divide="ignore"):
            return np.log(counts / counts.sum()).astype(np.float32)


def structures_of(dataset: LevelDataset, *, symmetries: bool = True) -> Structures:
    """Return the structures of a dataset; none if it names fewer than two, or few levels of one."""
    names = tuple(sorted(dataset.structures))
    fewest = min(int((dataset.structure == name).sum()) for name in names)
    if not 2 <= len(names) <= MOST or fewest < FEWEST:
        names = ()
    label = np.zeros(len(dataset), np.int32)
    for place, name in enumerate(names):
        label[dataset.structure == name] = 1 + place
    copies = np.zeros((1 + len(names), 8), np.bool_)
    for number in range(len(copies)):
        chosen = label == number if number or not names else np.ones(len(label), np.bool_)
        copies[number] = like_copies(dataset[chosen].levels) if symmetries else np.arange(8) == 0
    return Structures(names, label, copies)


def like_copies(levels: Level) -> Bool[np.ndarray, " symmetry"]:
    """Return which symmetric copies of levels have the same windows of floor and wall."""
    height, width = levels.tiles.shape[1:]
    usual = np.arange(8) == 0
    if min(height, width) < WIDTH:
        return usual
    arrays = Level(*(jnp.asarray(part) for part in levels))
    known = windows_in(levels)
    numbers = range(8) if height == width else range(0, 8, 2)
    for number in numbers:
        copy = jax.vmap(lambda level, number=number: symmetric_copy(level, number))(arrays)
        share = np.isin(windows_in(Level(*map(np.asarray, copy))), known).mean()
        usual[number] |= bool(share >= ALIKE)
    return usual


def windows_in(levels: Level) -> Int[np.ndarray, " window"]:
    """Return the numbers of all windows of some levels."""
    walls = (~is_navigable(np.asarray(levels.tiles))).astype(np.uint8)
    return numbers_of(walls, WIDTH).ravel().astype(np.int64)


def told(label: Int[Array, " batch"], *, key: PRNGKeyArray) -> Int[Array, " batch"]:
    """Return labels of which the model is told most."""
    return jnp.where(jax.random.bernoulli(key, TOLD, label.shape), label, NOT_TOLD)
