"""Windows and habits of a dataset's levels: fitted, kept in a file, and drawn from."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int32, UInt8, UInt64

from dred import storage
from dred.errors import CheckpointError, DatasetError
from dred.tasks.gridworld.generators.wfc.furnish import (
    BINS,
    CONTRADICTION,
    MADE,
    Counts,
    Habits,
    choose_catalogues,
    count_levels,
    draw_levels,
    seeds_for,
)
from dred.tasks.gridworld.generators.wfc.windows import (
    WindowsConfig,
    catalogues_of,
    numbers_of,
)
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level, for_compiled, size_words
from dred.tasks.gridworld.levels.wfc import engine

FILE = "windows.npz"


class Windows(NamedTuple):
    """All that was fitted. Catalogues stand one after the other, in the order of their names."""

    name: "np.ndarray[tuple[int], np.dtype[np.str_]]"  # of each catalogue's structure
    windows: UInt8[np.ndarray, "window k k"]  # 1 is wall
    weight: Float[np.ndarray, " window"]
    catalogue: Int32[np.ndarray, " window"]  # to which one a window belongs
    goal: Float[np.ndarray, "catalogue 5"]  # as in `Habits`
    moss: Float[np.ndarray, "catalogue bin"]
    lava: Float[np.ndarray, "catalogue bin"]
    levels: Float[np.ndarray, "level 5"]
    catalogue_of_level: Int32[np.ndarray, " level"]

    def habits(self, number: int) -> Habits:
        """Return where things lie in the levels of one catalogue."""
        own = self.levels[self.catalogue_of_level == number]
        return Habits(self.goal[number], self.moss[number], self.lava[number], own)

    def tables(self, number: int, temperature: float) -> engine.Tables:
        """Return one catalogue as the solver reads it."""
        own = self.catalogue == number
        weight = self.weight[own] / self.weight[own].max()
        return engine.make_tables(self.windows[own], weight ** (1.0 / temperature))

    @property
    def numbers(self) -> UInt64[np.ndarray, " window"]:
        """Return the number of each window."""
        return numbers_of(self.windows, self.windows.shape[1])[:, 0, 0]

    @property
    def until(self) -> Float[np.ndarray, " catalogue"]:
        """Return the shares of the catalogues among the levels, added up."""
        counts = np.bincount(self.catalogue_of_level, minlength=len(self.name))
        return np.cumsum(counts) / counts.sum()


def fit_windows(dataset: LevelDataset, config: WindowsConfig) -> Windows:
    """Return the windows of a dataset's levels, and where their things lie."""
    found = catalogues_of(dataset, config)
    counted = [_count(dataset[one.members].levels) for one in found]
    habits = [_habits(one, config.smoothing) for one in counted]
    sizes = [len(one.windows) for one in found]
    rows = [int(one.members.sum()) for one in found]
    return Windows(
        name=np.array([one.name for one in found], np.str_),
        windows=np.concatenate([one.windows for one in found]),
        weight=np.concatenate([one.weight for one in found]),
        catalogue=np.repeat(np.arange(len(found)), sizes).astype(np.int32),
        goal=np.stack([one.goal for one in habits]),
        moss=np.stack([one.moss for one in habits]),
        lava=np.stack([one.lava for one in habits]),
        levels=np.concatenate([one.levels for one in habits]),
        catalogue_of_level=np.repeat(np.arange(len(found)), rows).astype(np.int32),
    )


def _count(levels: Level) -> Counts:
    tiles, goal, start, _ = for_compiled(levels)
    counts = Counts(
        np.zeros((2, 5)), np.zeros((2, BINS)), np.zeros((2, BINS)), np.zeros((len(tiles), 5))
    )
    count_levels(tiles, goal, start, counts)
    return counts


def _habits(counts: Counts, smoothing: float) -> Habits:
    def log_odds(table: Float[np.ndarray, "2 bin"]) -> Float[np.ndarray, " bin"]:
        """Of a mark by rank, with some cells of the mean density added everywhere."""
        mean = (table[1].sum() + 0.5) / (table[0].sum() + 1.0)
        density = (table[1] + smoothing * mean) / (table[0] + smoothing)
        return np.log(density) - np.log1p(-density)

    goals = counts.goal[1] + smoothing * counts.goal[0] / max(counts.goal[0].sum(), 1.0)
    weight = goals / np.maximum(counts.goal[0], 1.0)
    weight = np.where(counts.goal[0] > 0, weight, weight.max())  # a cell as none in the dataset
    return Habits(weight, log_odds(counts.moss), log_odds(counts.lava), counts.levels)


def write_windows(path: Path, model: Windows) -> None:
    """Write what was fitted, whole or not at all."""
    columns = {
        name: storage.Column(array.dtype, array.shape, [array])
        for name, array in model._asdict().items()
    }
    storage.write_file(path, columns, {})


def read_windows(path: Path) -> Windows:
    """Read what was fitted. Nothing is trusted: compiled code does not check its indices."""
    if not path.is_file():
        raise CheckpointError(f"{path} is missing, so there is no model. Fit it again.")
    arrays, _ = storage.read_arrays(
        path, Windows._fields, what="catalogue of windows", check=_check
    )
    return Windows(**cast("dict[str, np.ndarray]", arrays))


KINDS = {
    **{"name": ("U", 1), "windows": ("u", 3), "weight": ("f", 1), "catalogue": ("i", 1)},
    **{"goal": ("f", 2), "moss": ("f", 2), "lava": ("f", 2), "levels": ("f", 2)},
    "catalogue_of_level": ("i", 1),
}


def _check(path: Path, arrays: Mapping[str, storage.Array]) -> None:
    fits = all((arrays[n].dtype.kind, arrays[n].ndim) == kind for n, kind in KINDS.items())
    if fits:
        found = Windows(**cast("dict[str, np.ndarray]", arrays))
        several = len(found.name)
        every = set(range(several))
        fits = (
            len(found.windows) == len(found.weight) == len(found.catalogue)
            and found.windows.shape[1] == found.windows.shape[2]
            and bool((found.windows <= 1).all() and (found.weight > 0).all())
            and set(found.catalogue.tolist()) == set(found.catalogue_of_level.tolist()) == every
            and len(found.levels) == len(found.catalogue_of_level)
            and found.goal.shape == (several, 5)
            and found.moss.shape == found.lava.shape == (several, BINS)
            and found.levels.shape[1] == 5
        )
    if not fits:
        raise DatasetError(
            f"{path} does not hold a catalogue of windows as `dred fit --model wfc` writes it: "
            "arrays are missing, or do not fit together. Fit the model again."
        )


class Collapse:
    """Draws levels from windows, outside of compiled code. Boards are made once for each size."""

    def __init__(self, windows: Windows, config: WindowsConfig, *, connected: bool) -> None:
        self.windows, self.config, self.connected = windows, config, connected
        self._boards: dict[tuple[int, int, int, float], tuple[engine.Tables, engine.Board]] = {}

    def __call__(
        self, seed: np.uint64, count: int, shape: tuple[int, int], temperature: float = 1.0
    ) -> Level:
        """Return so many levels of a size; the first are the same whatever their number."""
        seeds = seeds_for(seed, count)
        chosen = choose_catalogues(seeds, self.windows.until)
        tiles = np.zeros((count, *shape), np.uint8)
        goal, start = np.zeros((count, 2), np.int32), np.zeros((count, 2), np.int32)
        for number in np.unique(chosen).tolist():
            own = np.flatnonzero(chosen == number)
            made = self.draw_from(number, seeds[own], shape, temperature)
            tiles[own], goal[own], start[own], _ = made
        return Level(tiles, goal, start, np.full(count, ANY_HEADING, np.int8))

    def draw_from(
        self,
        number: int,
        seeds: UInt64[np.ndarray, " few"],
        shape: tuple[int, int],
        temperature: float = 1.0,
    ) -> Level:
        """Return a level of one catalogue for each seed."""
        tables, board = self.board(number, shape, temperature)
        count = len(seeds)
        tiles = np.zeros((count, *shape), np.uint8)
        goal, start = np.zeros((count, 2), np.int32), np.zeros((count, 2), np.int32)
        outcome = np.zeros(count, np.int32)
        draw_levels(
            tables,
            board,
            self.config.max_attempts,
            self.windows.habits(number),
            self.connected,
            self.config.placements,
            seeds,
            tiles,
            goal,
            start,
            outcome,
        )
        if (outcome == CONTRADICTION).any():
            raise self._contradiction(number, shape)
        if (outcome != MADE).any():
            raise DatasetError(
                f"The windows {self._of(number)} gave no layout of {size_words(shape)} with two "
                "connected cells of floor. Fit to levels with more floor."
            )
        return Level(tiles, goal, start, np.full(count, ANY_HEADING, np.int8))

    def board(
        self, number: int, shape: tuple[int, int], temperature: float = 1.0
    ) -> tuple[engine.Tables, engine.Board]:
        """Return a catalogue, and the starting wave for levels of a size."""
        where = (number, *shape, temperature)
        if where not in self._boards:
            width = self.windows.windows.shape[1]
            if min(shape) < width:
                raise DatasetError(
                    f"Levels of {size_words(shape)} are smaller than a window of {width}×{width}. "
                    "Ask for a larger size, or fit with a smaller window."
                )
            tables = self.windows.tables(number, temperature)
            shannon = self.config.heuristic == "entropy"
            board = engine.make_board(tables, *shape, periodic=False, shannon=shannon)
            if board is None:
                raise self._contradiction(number, shape)
            self._boards[where] = (tables, board)
        return self._boards[where]

    def try_out(self, shape: tuple[int, int]) -> None:
        """Stop now if no level of this size can be drawn from one of the catalogues."""
        for number in range(len(self.windows.name)):
            self.draw_from(number, seeds_for(np.uint64(0), 1), shape)

    def _of(self, number: int) -> str:
        name = str(self.windows.name[number])
        return f"of structure {name!r}" if name else "of these levels"

    def _contradiction(self, number: int, shape: tuple[int, int]) -> DatasetError:
        width = self.windows.windows.shape[1]
        return DatasetError(
            f"The windows {self._of(number)} do not fit together to levels of {size_words(shape)}: "
            f"each of {self.config.max_attempts} attempts ended in a contradiction. Set a window "
            f"smaller than {width}, augment_symmetries = true or per_structure = false, or fit to "
            "more levels."
        )
