"""Sets of levels that are vectors: files with a column for each number, and tables of users."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dred.errors import DatasetError, did_you_mean
from dred.level_table import LevelTable, TableFormat
from dred.tasks.vectors.box import Box


def clipped(box: Box, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float32]]:
    """Return levels with all numbers inside the box."""
    return {
        one.name: np.clip(columns[one.name], one.low, one.high).astype(np.float32)
        for one in box.parameters
    }


class VectorFormat(TableFormat):
    """Levels as plain columns; a CSV file whose header has their names is read as well."""

    def __init__(self, box: Box) -> None:
        super().__init__(*box.names)
        self.box = box

    def load(self, path: str | Path) -> LevelTable:
        """Read a set of levels, and check it."""
        file = Path(path)
        found = from_csv(self.box, file) if file.suffix == ".csv" else super().load(path)
        check_inside(self.box, found, where=str(path))
        return found


def from_csv(box: Box, path: Path) -> LevelTable:
    """Read levels from a CSV file with a column for each parameter; others are left out."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except FileNotFoundError:
        raise DatasetError(f"There is no file {path}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} is not a CSV file: {error}.") from None
    header = list(rows[0]) if rows else []
    for name in box.names:
        if name not in header:
            raise DatasetError(
                f"{path} has no column {name!r}.{did_you_mean(name, header)} A level of "
                f"{box.title} has {', '.join(box.names)}."
            )
    columns = {name: _numbers(path, rows, name) for name in box.names}
    return LevelTable(columns, [path.stem] * len(rows), {"source": path.name})


def _numbers(path: Path, rows: Sequence[Mapping[str, str]], name: str) -> NDArray[np.float32]:
    values = np.empty(len(rows), np.float32)
    for place, row in enumerate(rows):
        try:
            values[place] = float(row[name])
        except (TypeError, ValueError):
            raise DatasetError(
                f"{path}, line {place + 2}: {name} (={row[name]!r}) is not a number."
            ) from None
    return values


def check_inside(box: Box, levels: LevelTable, *, where: str) -> None:
    """Stop at levels outside the box, or with numbers that are none."""
    for one in box.parameters:
        column = np.asarray(levels.levels[one.name], np.float32)
        outside = ~((column >= one.low) & (column <= one.high))
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise DatasetError(
                f"{where}, level {place}: {one.name} (={column[place]:g}) must lie between "
                f"{one.low:g} and {one.high:g} ({one.label})."
            )
