"""Sets of devices: drawn near the surface of those that exist, or read from a table."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dred.errors import ConfigError, DatasetError, did_you_mean, lookup
from dred.level_table import LevelTable, TableFormat
from dred.tasks.control.system import Region, System

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
    regions = lookup(REGIONS, name, what=f"set of levels of control/{system.name}")
    total = COUNTS[name] if count is None else count
    if total < 1:
        raise ConfigError(f"count (={total}) must be at least 1.")
    random = np.random.default_rng([seed, STREAMS[name]])
    places = [regions[index % len(regions)] for index in range(total)]
    size, quality = (_drawn(places, part, random) for part in ("size", "quality"))
    columns = system.draw(size, quality, random)
    meta = {"task": f"control/{system.name}", "set": name, "count": total, "seed": seed}
    return LevelTable(clipped(system, columns), [name] * total, meta)


def _drawn(
    regions: Sequence[Region], part: str, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return a coordinate for each region, drawn from its range."""
    ranges = np.array([getattr(region, part) for region in regions])
    concentration = np.array([region.concentration for region in regions])
    share = random.beta(concentration, concentration)
    return ranges[:, 0] + share * (ranges[:, 1] - ranges[:, 0])


def clipped(
    system: System, columns: Mapping[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float32]]:
    """Return devices inside the box."""
    return {
        one.name: np.clip(columns[one.name], one.low, one.high).astype(np.float32)
        for one in system.parameters
    }


class DeviceFormat(TableFormat):
    """Devices as plain columns; a CSV file whose header has their names is read as well."""

    def __init__(self, system: System) -> None:
        super().__init__(*system.names)
        self.system = system

    def load(self, path: str | Path) -> LevelTable:
        """Read a set of devices, and check it."""
        file = Path(path)
        found = from_csv(self.system, file) if file.suffix == ".csv" else super().load(path)
        check_inside(self.system, found, where=str(path))
        return found


def from_csv(system: System, path: Path) -> LevelTable:
    """Read devices from a CSV file with a column for each parameter; others are left out."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except FileNotFoundError:
        raise DatasetError(f"There is no file {path}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} is not a CSV file: {error}.") from None
    header = [name for name in rows[0] if name] if rows else []
    for name in system.names:
        if name not in header:
            raise DatasetError(
                f"{path} has no column {name!r}.{did_you_mean(name, header)} A device of "
                f"control/{system.name} has {', '.join(system.names)}."
            )
    columns = {name: _numbers(path, rows, name) for name in system.names}
    return LevelTable(columns, [path.stem] * len(rows), {"source": path.name})


def _numbers(path: Path, rows: Sequence[Mapping[str, str]], name: str) -> NDArray[np.float32]:
    values = np.empty(len(rows), np.float64)
    for place, row in enumerate(rows):
        try:
            values[place] = float(row[name])
        except (TypeError, ValueError):
            raise DatasetError(
                f"{path}, line {place + 2}: {name} (={row[name]!r}) is not a number."
            ) from None
    with np.errstate(over="ignore"):  # infinity is outside of every box, which is said elsewhere
        return values.astype(np.float32)


def check_inside(system: System, levels: LevelTable, *, where: str) -> None:
    """Stop at devices outside the box, or with numbers that are none."""
    for one in system.parameters:
        column = np.asarray(levels.levels[one.name], np.float32)
        outside = ~((column >= one.low) & (column <= one.high))
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise DatasetError(
                f"{where}, device {place}: {one.name} (={column[place]:g}) must lie between "
                f"{one.low:g} and {one.high:g} ({one.label})."
            )
