"""Structures: a small drawing, and how wave function collapse grows layouts from it.

A pattern file is text: settings (the fields of `WFCConfig`, as TOML), a line `---`, and the
drawing. `#` is wall; every other symbol is floor in the end, but symbols differ while the layout
grows, so a third one (a door, say) may constrain it. The settings may be left out. A PNG works
too, one pixel a cell: each colour is a symbol, and dark ones are wall.
"""

import re
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray

from dred.errors import ConfigError, DatasetError, lookup
from dred.settings import read_settings
from dred.tasks.gridworld.config import WFCConfig
from dred.tasks.gridworld.levels.compiled import seed_from, sub_seed
from dred.tasks.gridworld.levels.wfc import engine


@dataclass(frozen=True, eq=False)
class Structure:
    """A pattern with its settings; what it takes to make layouts is computed once, when needed."""

    name: str
    about: str
    template: UInt8[np.ndarray, "height width"]  # symbol numbers
    symbols: tuple[str, ...]  # what each number stands for; of a picture, whether it is wall
    config: WFCConfig

    def __post_init__(self) -> None:
        height, width = self.template.shape
        if min(height, width) < self.config.pattern_width:
            raise DatasetError(
                f"The pattern of structure {self.name!r} is {height}×{width}, smaller than its "
                f"pattern_width of {self.config.pattern_width}. Draw a larger pattern or set a "
                "smaller pattern_width."
            )

    @cached_property
    def is_wall(self) -> UInt8[np.ndarray, " symbols"]:
        """1 where a symbol becomes wall."""
        return np.array([symbol in self.config.walls for symbol in self.symbols], np.uint8)

    @cached_property
    def tables(self) -> engine.Tables:
        """The pattern catalogue, prepared for the solver."""
        return engine.make_tables(*catalogue(self.template, self.config))

    def board(self, height: int, width: int) -> engine.Board:
        """The starting wave for layouts of this size."""
        return _board(self, height, width)

    def layouts(
        self, count: int, *, height: int, width: int, seed: int = 0
    ) -> UInt8[np.ndarray, "count height width"]:
        """Layouts grown from this structure: 1 is wall, 0 is floor."""
        stream = seed_from(self.name, seed)
        seeds = np.array([sub_seed(stream, index) for index in range(count)], np.uint64)
        symbols, attempts = self.collapse(seeds, height=height, width=width)
        if count and attempts.min() == 0:
            raise self.contradiction(height, width)
        return self.is_wall[symbols]

    def collapse(
        self, seeds: NDArray[np.uint64], *, height: int, width: int
    ) -> tuple[UInt8[np.ndarray, "count height width"], Int[np.ndarray, " count"]]:
        """Symbols grown from each seed, and the attempts each took (0 where all failed)."""
        symbols = np.zeros((len(seeds), height, width), np.uint8)
        attempts = np.zeros(len(seeds), np.int32)
        board = self.board(height, width)
        engine.collapse_many(self.tables, board, seeds, self.config.max_attempts, symbols, attempts)
        return symbols, attempts

    def contradiction(self, height: int, width: int) -> DatasetError:
        """What to say when every attempt at a layout failed."""
        return DatasetError(
            f"Structure {self.name!r} gave a contradiction in each of "
            f"{self.config.max_attempts} attempts at a {height}×{width} layout: its "
            f"{len(self.tables.weight)} windows of {self.config.pattern_width}×"
            f"{self.config.pattern_width} rarely fit together there. Use a smaller pattern_width, "
            "more symmetries, a pattern whose opposite edges match, a smaller size, "
            "periodic_output = false, or raise max_attempts."
        )


@cache
def _board(structure: Structure, height: int, width: int) -> engine.Board:
    config = structure.config
    if min(height, width) < config.pattern_width:
        raise ConfigError(
            f"Structure {structure.name!r} cannot fill {height}×{width} cells: its windows are "
            f"{config.pattern_width}×{config.pattern_width}. Ask for a larger size."
        )
    board = engine.make_board(
        structure.tables,
        height,
        width,
        periodic=config.periodic_output,
        shannon=config.heuristic == "entropy",
    )
    if board is None:
        raise structure.contradiction(height, width)
    return board


SYMMETRIES: Mapping[str, tuple[tuple[int, bool], ...]] = {
    # quarter turns, then mirrored or not
    "none": ((0, False),),
    "mirror": ((0, False), (0, True)),
    "rotations": tuple((turns, False) for turns in range(4)),
    "all": tuple((turns, mirrored) for turns in range(4) for mirrored in (False, True)),
}


def catalogue(
    template: UInt8[np.ndarray, "height width"], config: WFCConfig
) -> tuple[UInt8[np.ndarray, "patterns k k"], Float[np.ndarray, " patterns"]]:
    """Every different K×K window of the template and its symmetric copies, with its weight.

    By presence, a window weighs as many as there are copies that contain it; by occurrence, as
    many as there are places where it stands. Sorted, so the order means nothing.
    """
    windows: list[NDArray[np.uint8]] = []
    for turns, mirrored in SYMMETRIES[config.symmetries]:
        copy = np.rot90(template, turns)
        found = _windows(np.fliplr(copy) if mirrored else copy, config)
        windows.append(np.unique(found, axis=0) if config.weights == "presence" else found)
    patterns, counts = np.unique(np.concatenate(windows), axis=0, return_counts=True)
    width = config.pattern_width
    return patterns.reshape(-1, width, width), counts.astype(np.float64)


def _windows(
    template: UInt8[np.ndarray, "height width"], config: WFCConfig
) -> UInt8[np.ndarray, "windows kk"]:
    width = config.pattern_width
    if config.periodic_input:
        template = np.pad(template, ((0, width - 1), (0, width - 1)), mode="wrap")
    windows = np.lib.stride_tricks.sliding_window_view(template, (width, width))
    return windows.reshape(-1, width * width)


@cache
def builtin() -> Mapping[str, Structure]:
    """The structures that come with dred, by name."""
    folder = resources.files("dred.tasks.gridworld.levels.wfc") / "patterns"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".txt"))
    return {
        name.removesuffix(".txt"): parse_pattern(
            (folder / name).read_text(encoding="utf-8"), name=name.removesuffix(".txt"), where=name
        )
        for name in files
    }


def find_structure(
    name: str, *, folder: Path | None = None, changes: Mapping[str, object] | None = None
) -> Structure:
    """A structure by name, or from the user's own `.txt` or `.png` file.

    Relative paths are looked up in `folder`; `changes` are settings that override the file's.
    """
    if not name.lower().endswith((".txt", ".png")):
        structure = lookup(builtin(), name, what="structure")
    else:
        path = (folder or Path()) / name
        if not path.is_file():
            raise DatasetError(
                f"There is no pattern file {path}. Give the path of a .txt or .png "
                f"drawing, or one of the built-in structures: {', '.join(builtin())}."
            )
        structure = read_png(path) if path.suffix.lower() == ".png" else read_text(path)
    if not changes:
        return structure
    table = {**vars(structure.config), **changes}
    return replace(structure, config=read_settings(WFCConfig, table, where=f"structure {name!r}"))


def read_text(path: Path) -> Structure:
    """A structure from a pattern file."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DatasetError(f"{path} is not a text file. Patterns are .txt or .png.") from None
    return parse_pattern(content, name=path.stem, where=str(path))


def parse_pattern(content: str, *, name: str, where: str) -> Structure:
    """A structure from the content of a pattern file."""
    divider = re.search(r"^---[ \t]*$", content, re.MULTILINE)
    settings = content[: divider.start()] if divider else ""
    drawing = content[divider.end() :] if divider else content
    try:
        table = tomllib.loads(settings)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where}: the settings above '---' are not valid TOML: {error}."
        ) from None
    about = str(table.pop("about", ""))
    config = read_settings(WFCConfig, table, where=where)
    rows = textwrap.dedent(drawing).strip("\n").splitlines()
    rows = [row.rstrip() for row in rows]
    if not rows or not rows[0]:
        raise DatasetError(f"{where}: there is no drawing. Draw # for wall and . for floor.")
    for number, row in enumerate(rows, start=drawing_line(content, drawing)):
        if len(row) != len(rows[0]):
            raise DatasetError(
                f"{where}, line {number}: this row has {len(row)} symbols, the first row has "
                f"{len(rows[0])}. All rows of a pattern must be equally long."
            )
    symbols = sorted({symbol for row in rows for symbol in row})
    if len(symbols) > 64:
        raise DatasetError(f"{where}: {len(symbols)} different symbols; a pattern has at most 64.")
    template = np.array([[symbols.index(symbol) for symbol in row] for row in rows], np.uint8)
    return Structure(name, about, template, tuple(symbols), config)


def drawing_line(content: str, drawing: str) -> int:
    """The line of the file on which the drawing begins, counted from 1."""
    before = content[: len(content) - len(drawing)]
    blank = len(drawing) - len(drawing.lstrip("\n"))
    return before.count("\n") + blank + 1


def read_png(path: Path) -> Structure:
    """A structure from a picture, one pixel a cell. Colours darker than mid-grey are wall."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise DatasetError(f"{path} cannot be read as a PNG picture: {error}.") from None
    colours, template = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    if len(colours) > 64 or max(pixels.shape[:2]) > 512:
        raise DatasetError(
            f"{path} is {pixels.shape[1]}×{pixels.shape[0]} pixels in {len(colours)} colours. A "
            "pattern has one pixel a cell (at most 512×512) and at most 64 colours: is this a "
            "photo or an enlarged picture?"
        )
    brightness = colours @ np.array([0.299, 0.587, 0.114])
    symbols = tuple("#" if light < 128 else "." for light in brightness)
    numbers = template.reshape(pixels.shape[:2]).astype(np.uint8)
    return Structure(path.stem, f"read from {path.name}", numbers, symbols, WFCConfig())
