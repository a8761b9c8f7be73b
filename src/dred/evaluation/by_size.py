"""Results in a set whose levels differ in size, told apart by size."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Int

from dred.task import LevelSet, Task


def places_by_size(levels: LevelSet, task: Task) -> Mapping[str, Int[np.ndarray, " some"]]:
    """Return which levels of a set have each size, smallest first; empty if all have one size."""
    if task.sizes_of is None:
        return {}
    sizes = np.array(task.sizes_of(levels))
    names = sorted(set(sizes.tolist()), key=lambda name: [int(side) for side in name.split("x")])
    return {name: np.flatnonzero(sizes == name) for name in names} if len(names) > 1 else {}


def name_of_part(suite: str, size: str) -> str:
    """Return what those levels of a suite are called that have one size."""
    return f"{suite}-{size}"
