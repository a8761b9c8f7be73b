"""Sets of levels that are vectors: files with a column for each number, and tables of users."""

import csv
import importlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dred.errors import DatasetError, did_you_mean
from dred.extras import how_to_install
from dred.level_table import STRUCTURE, LevelTable, TableFormat
from dred.tasks.vectors.box import Box

Cells = Mapping[str, Sequence[object]]  # of a table, by column


def clipped(box: Box, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float32]]:
    """Return levels with all numbers inside the box."""
    return {
        one.name: np.clip(columns[one.name], one.low, one.high).astype(np.float32)
        for one in box.parameters
    }


class VectorFormat(TableFormat):
    """Levels as plain columns; a CSV or Parquet file that has their names is read as well."""

    def __init__(self, box: Box) -> None:
        super().__init__(*box.names)
        self.box = box

    def load(self, path: str | Path) -> LevelTable:
        """Read a set of levels, and check it."""
        file = Path(path)
        found = from_cells(self.box, file) if file.suffix in READERS else super().load(path)
        check_inside(self.box, found, where=str(path))
        return found

    def taken(self, table: LevelTable, where: str) -> LevelTable:
        """Return the columns that levels have, of a table that may have others, and check them."""
        check_columns(self.box, list(table.columns), where=where)
        columns = {name: table.columns[name].astype(np.float32) for name in self.box.names}
        found = LevelTable(columns, table.structure, table.meta)
        check_inside(self.box, found, where=where)
        return found


def from_cells(box: Box, path: Path) -> LevelTable:
    """Read levels from a table with a column for each parameter; others are left out."""
    cells = READERS[path.suffix](path)
    check_columns(box, list(cells), where=str(path))
    return as_table(path, {name: _numbers(path, name, cells[name]) for name in box.names})


def read_table(path: str | Path) -> LevelTable:
    """Read a table, of which nothing is known: the columns in which there are but numbers."""
    file = Path(path)
    if file.suffix not in READERS:
        return TableFormat(*_names_in(file)).load(file)
    cells = READERS[file.suffix](file)
    numbers = {name: column for name, column in cells.items() if _are_numbers(column)}
    if not numbers:
        raise DatasetError(
            f"{path} has no column of numbers, of which levels are made. It has {list(cells)}; the "
            "first line of a CSV file must have the names of its columns."
        )
    return as_table(file, {name: _numbers(file, name, one) for name, one in numbers.items()})


def as_table(path: Path, columns: Mapping[str, NDArray[np.float32]]) -> LevelTable:
    """Return the columns of a file as a set of levels."""
    count = len(next(iter(columns.values())))
    if not count:
        raise DatasetError(f"{path} has no levels: there is no line below the names.")
    return LevelTable(columns, [path.stem] * count, {"source": path.name})


def cells_of_csv(path: Path) -> Cells:
    """Return the cells of a CSV file, as text."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            lines = csv.DictReader(stream)
            header, rows = list(lines.fieldnames or ()), list(lines)
    except FileNotFoundError:
        raise DatasetError(f"There is no file {path}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} is not a CSV file: {error}.") from None
    return {name: [row[name] for row in rows] for name in header if name}


def cells_of_parquet(path: Path) -> Cells:
    """Return the cells of a Parquet file, which pandas reads with the help of pyarrow."""
    try:
        pandas: Any = importlib.import_module("pandas")
        importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"To read {path}, a Parquet file, the package {error.name!r} is needed, which is not "
            f"installed. Install it with: {how_to_install('tables')}; or save the table as CSV."
        ) from None
    if not path.exists():
        raise DatasetError(f"There is no file {path}.")
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise DatasetError(f"{path} is not a Parquet file: {error}.") from None
    return {str(name): frame[name].tolist() for name in frame.columns}


READERS: dict[str, Callable[[Path], Cells]] = {".csv": cells_of_csv, ".parquet": cells_of_parquet}


def _names_in(path: Path) -> list[str]:
    """Return the names of the columns in a file of levels; none if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        return []
    return [name for name in names if name not in (STRUCTURE, "meta")]


def _are_numbers(column: Sequence[object]) -> bool:
    try:
        return bool(np.isfinite([float(str(value)) for value in column]).all())
    except ValueError:
        return False


def _numbers(path: Path, name: str, column: Sequence[object]) -> NDArray[np.float32]:
    values = np.empty(len(column), np.float64)
    for place, value in enumerate(column):
        try:
            values[place] = float(str(value))
        except ValueError:
            raise DatasetError(
                f"{path}, line {place + 2}: {name} (={value!r}) is not a number."
            ) from None
    with np.errstate(over="ignore"):  # infinity is outside of every box, which is said elsewhere
        return values.astype(np.float32)


def check_columns(box: Box, there: Sequence[str], *, where: str) -> None:
    """Stop if a column is missing."""
    for name in box.names:
        if name not in there:
            raise DatasetError(
                f"{where} has no column {name!r}.{did_you_mean(name, there)} A level of "
                f"{box.title} has {', '.join(box.names)}."
            )


def check_inside(box: Box, levels: LevelTable, *, where: str) -> None:
    """Stop at levels outside the box, or with numbers that are none."""
    for one in box.parameters:
        column = np.asarray(levels.levels[one.name], np.float32)
        low, high = np.float32(one.low), np.float32(one.high)
        outside = ~((column >= low) & (column <= high))
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise DatasetError(
                f"{where}, level {place}: {one.name} (={column[place]:g}) must lie between "
                f"{one.low:g} and {one.high:g} ({one.label})."
            )
