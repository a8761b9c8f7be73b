"""Sets of devices, drawn near the surface of those that exist."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dred.errors import ConfigError, lookup
from dred.level_table import LevelTable
from dred.tasks.control.system import Region, System
from dred.tasks.vectors.table import clipped

# What is trained on has few devices in the corners of the surface; edge cases are those. Hard ones
# are larger than any that is trained on, made by the same rules.
REGIONS: dict[str, tuple[Region, ...]] = {
    "train": (Region(concentration=3.0),),
    "validation": (Region(concentration=3.0),),
    "test": (Region(concentration=3.0),),
    "edge": tuple(
        Region(size, quality)
        for size in ((0.0, 0.08), (0.92, 1.0))
        for quality in ((0.0, 0.08), (0.92, 1.0))
    ),
    "hard": (Region(size=(1.05, 1.3)),),
}
COUNTS = {"train": 128, "validation": 256, "test": 512, "edge": 256, "hard": 256}
STREAMS = {name: number for number, name in enumerate(REGIONS)}  # so that no two sets are alike


def make(system: System, name: str, *, count: int | None = None, seed: int = 0) -> LevelTable:
    """Return a set of devices by its name: train, validation, test, edge or hard."""
    regions = lookup(REGIONS, name, what=f"set of levels of {system.title}")
    total = COUNTS[name] if count is None else count
    if total < 1:
        raise ConfigError(f"count (={total}) must be at least 1.")
    random = np.random.default_rng([seed, STREAMS[name]])
    places = [regions[index % len(regions)] for index in range(total)]
    size, quality = (_drawn(places, part, random) for part in ("size", "quality"))
    columns = system.draw(size, quality, random)
    meta = {"task": system.title, "set": name, "count": total, "seed": seed}
    return LevelTable(clipped(system, columns), [name] * total, meta)


def _drawn(
    regions: Sequence[Region], part: str, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return a coordinate for each region, drawn from its range."""
    ranges = np.array([getattr(region, part) for region in regions])
    concentration = np.array([region.concentration for region in regions])
    share = random.beta(concentration, concentration)
    return ranges[:, 0] + share * (ranges[:, 1] - ranges[:, 0])
