"""Levels from elsewhere: text drawings, pictures, JSON and Minigrid encodings.

Each importer turns a file into candidates; a candidate is a level, or the reason why it is none.
`import_levels` keeps the proper, solvable, different ones and reports on the rest.
"""

import json
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from dred import storage
from dred.errors import DatasetError, DredError, lookup, reason_of
from dred.tasks.gridworld.levels.columns import ARRAYS
from dred.tasks.gridworld.levels.dataset import LevelDataset, from_levels
from dred.tasks.gridworld.levels.encodings import from_minigrid, strip_border, with_places
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    EMPTY,
    LAVA,
    MOSS,
    WALL,
    Level,
    make_level,
    problems,
)
from dred.tasks.gridworld.levels.paths import is_solvable
from dred.tasks.gridworld.levels.render import AGENT_COLOUR, GOAL_COLOUR, PALETTE
from dred.tasks.gridworld.levels.text import from_text

TILES = {"empty": EMPTY, "wall": WALL, "lava": LAVA, "moss": MOSS}

Colour = tuple[int, int, int]
MAX_APART = 60  # sum over red, green and blue: a pixel farther from every known colour is unknown


class Candidate(NamedTuple):
    """Something that may be a level."""

    where: str  # file, and place in it
    level: Level | None
    reason: str = ""  # why it is none
    structure: str = ""
    file: str = ""


@dataclass(frozen=True)
class ImportOptions:
    """How to read files that do not say it themselves."""

    colours: Mapping[str, Colour] = field(default_factory=lambda: dict(DEFAULT_COLOURS))
    """PNG: the colour of `empty`, `wall`, `lava`, `moss`, `goal` and `start`."""
    cell: int = 1
    """PNG: pixels a tile."""
    strip_border: bool = False
    """PNG, JSON, text: the outermost ring is the surrounding wall, not part of the level."""
    keep_heading: bool = False
    """Minigrid: take the agent's direction as the start's heading, instead of any heading."""


DEFAULT_COLOURS: Mapping[str, Colour] = {
    **{name: PALETTE[tile] for name, tile in TILES.items()},
    "goal": GOAL_COLOUR,
    "start": AGENT_COLOUR,
}


class ImportReport(NamedTuple):
    """What an import took, and what it left out and why."""

    dataset: LevelDataset
    taken: Mapping[str, int]  # file → levels
    dropped: list[tuple[str, str]]  # (where, reason)


def import_levels(source: str | Path, options: ImportOptions | None = None) -> ImportReport:
    """Read a file, or all files of a folder that can be read, into one set of levels."""
    options = options or ImportOptions()
    source = Path(source)
    taken: list[Candidate] = []
    dropped: list[tuple[str, str]] = []
    for path in _files(source):
        for found in _candidates(path, options):
            candidate = found._replace(file=str(path))
            reason = candidate.reason or _why_not(candidate.level)
            if reason:
                dropped.append((candidate.where, reason))
            else:
                taken.append(candidate)
    taken, repeated = _different(taken)
    dropped += repeated
    if not taken:
        where, reason = dropped[0] if dropped else (str(source), "it holds no drawing")
        more = f" ({len(dropped) - 1} more were dropped too.)" if len(dropped) > 1 else ""
        raise DatasetError(
            f"No level could be taken from {source}. {where}: {reason.rstrip('.')}.{more} Repair "
            "the source and try again; nothing was written."
        )
    dataset = from_levels(
        [cast(Level, candidate.level) for candidate in taken],
        structure=[candidate.structure for candidate in taken],
        meta={"made": {"by": "dred levels import", "source": source.name, "dropped": len(dropped)}},
    )
    return ImportReport(dataset, Counter(candidate.file for candidate in taken), dropped)


def _files(source: Path) -> list[Path]:
    if source.is_dir():
        found = sorted(p for p in source.iterdir() if p.suffix.lower() in READERS)
        if not found:
            raise DatasetError(
                f"The folder {source} has no file that can be read. Levels are read from "
                f"{', '.join(READERS)}."
            )
        return found
    if not source.is_file():
        raise DatasetError(
            f"There is no file or folder {source}. Give a file ({', '.join(READERS)}) or a folder "
            "of such files."
        )
    return [source]


def _candidates(path: Path, options: ImportOptions) -> Iterator[Candidate]:
    """What one file holds; a file that cannot be read at all is one candidate with a reason."""
    reader = lookup(READERS, path.suffix.lower(), what="kind of file to import")
    try:
        yield from reader(path, options)
    except DredError as error:
        yield Candidate(str(path), None, str(error))
    except (*storage.DAMAGE, RecursionError, Image.DecompressionBombError) as error:
        yield Candidate(str(path), None, f"it cannot be read: {reason_of(error)}")


def _why_not(level: Level | None) -> str:
    if level is None:
        return "it holds no level"
    if reasons := problems(level):
        return "; ".join(reasons)
    return "" if is_solvable(level) else "the goal cannot be reached from the start"


def _different(taken: list[Candidate]) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Keep the first of equal levels."""
    first: dict[bytes, str] = {}
    kept: list[Candidate] = []
    repeated: list[tuple[str, str]] = []
    for candidate in taken:
        tiles, goal, start, _ = cast(Level, candidate.level)
        content = repr(tiles.shape).encode() + tiles.tobytes() + goal.tobytes() + start.tobytes()
        if content in first:
            repeated.append((candidate.where, f"it is the same as {first[content]}"))
        else:
            first[content] = candidate.where
            kept.append(candidate)
    return kept, repeated


def read_text_levels(path: Path, options: ImportOptions) -> Iterator[Candidate]:
    """Drawings in the symbols of `dred.tasks.gridworld.levels.text`, with blank lines between them.

    A line that begins with `;` names the structure of the drawings after it.
    """
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    structure = path.stem
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip() and not line.startswith(";"):
            block.append(line)
            continue
        if block:
            first = number - len(block)
            # Blank lines in front keep the line numbers of the file in error messages.
            drawing = "\n" * (first - 1) + "\n".join(block)
            where = f"{path}, drawing at line {first}"
            yield _attempt(where, structure, lambda text=drawing: _strip(from_text(text), options))
            block = []
        if line.startswith(";"):
            structure = line.lstrip("; ").strip() or path.stem


def _attempt(where: str, structure: str, read: Callable[[], Level]) -> Candidate:
    try:
        return Candidate(where, read(), structure=structure)
    except DatasetError as error:
        return Candidate(where, None, str(error).rstrip("."))


def _strip(level: Level, options: ImportOptions) -> Level:
    return strip_border(level) if options.strip_border else level


def read_png_level(path: Path, options: ImportOptions) -> Iterator[Candidate]:
    """One level a picture; each tile takes the nearest colour of the map."""

    def read() -> Level:
        with Image.open(path) as image:
            if max(image.size) > 16_384:
                raise DatasetError(f"it is {image.size[0]}×{image.size[1]} pixels; at most 16384")
            pixels = np.asarray(image.convert("RGB"))
        if pixels.shape[0] % options.cell or pixels.shape[1] % options.cell:
            raise DatasetError(
                f"it is {pixels.shape[1]}×{pixels.shape[0]} pixels, which is no multiple of --cell "
                f"{options.cell}. Give the number of pixels a tile with --cell"
            )
        return _strip(_from_colours(pixels, options), options)

    yield _attempt(str(path), path.stem, read)


def _from_colours(pixels: UInt8[np.ndarray, "height width 3"], options: ImportOptions) -> Level:
    """Each pixel has the nearest colour of the map, and each tile the commonest of its pixels.

    A goal or start that covers a tenth of a tile wins, since it is drawn on top of a tile.
    """
    names, cell = list(options.colours), options.cell
    nearest = np.full(pixels.shape[:2], len(names), np.uint8)  # unknown until found near a colour
    least = np.full(pixels.shape[:2], MAX_APART, np.int16)
    for number, name in enumerate(names):
        apart = np.abs(pixels.astype(np.int16) - np.array(options.colours[name], np.int16)).sum(
            axis=-1
        )
        nearest[apart < least] = number
        least = np.minimum(least, apart).astype(np.int16)
    rows, columns = pixels.shape[0] // cell, pixels.shape[1] // cell
    blocks = nearest.reshape(rows, cell, columns, cell)
    share = np.stack([(blocks == n).mean(axis=(1, 3)) for n in range(len(names) + 1)])
    # Edges of shapes are blends of colours, so only pixels of a known colour vote.
    commonest = share[:-1].argmax(axis=0)
    unknown = share[:-1].max(axis=0) < 0.1
    if unknown.any():
        row, column = np.argwhere(unknown)[0]
        shade = "#{:02x}{:02x}{:02x}".format(
            *pixels[row * cell + cell // 2, column * cell + cell // 2]
        )
        raise DatasetError(
            f"row {row}, column {column} has the colour {shade}, which is near no colour of the "
            f"map ({', '.join(names)}). Give the picture's own colours with --colours, or the "
            "pixels a tile with --cell"
        )
    tiles = np.zeros(commonest.shape, np.uint8)
    for name, tile in TILES.items():
        if name in names:
            tiles[commonest == names.index(name)] = tile
    goal, start = (np.argwhere(share[names.index(what)] >= 0.1) for what in ("goal", "start"))
    for row, column in (*goal, *start):
        tiles[row, column] = EMPTY
    return with_places(tiles, goal, start, ANY_HEADING)


def read_colours(path: Path) -> dict[str, Colour]:
    """A colour map from a TOML file: `wall = "#777777"` and so on, one line a tile."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"The colour map {path} cannot be read: {error}.") from None
    colours: dict[str, Colour] = {}
    for name, value in table.items():
        lookup(DEFAULT_COLOURS, name, what="tile")
        digits = str(value).removeprefix("#")
        try:
            red, green, blue = bytes.fromhex(digits)
        except ValueError:
            raise DatasetError(
                f'{path}: {name} = {value!r} is not a colour. Write it as "#rrggbb".'
            ) from None
        colours[name] = (red, green, blue)
    missing = [name for name in ("empty", "wall", "goal", "start") if name not in colours]
    if missing:
        raise DatasetError(f"{path} gives no colour for {', '.join(missing)}.")
    return colours


def read_json_levels(path: Path, options: ImportOptions) -> Iterator[Candidate]:
    """A JSON list of levels, one such object, or one object a line (.jsonl).

    A level is {"drawing": "…" or ["…", …]} or {"tiles": [[…]], "goal": [row, column],
    "start": [row, column], "heading": 0…3 or −1}, with an optional "structure"; or a nested list
    of Minigrid's numbers.
    """
    content = path.read_text(encoding="utf-8-sig")
    if path.suffix.lower() == ".jsonl":
        items: list[object] = [_json_line(line) for line in content.splitlines() if line.strip()]
    else:
        parsed: object = json.loads(content)
        if isinstance(parsed, dict) and "levels" in parsed:
            parsed = cast("dict[str, object]", parsed)["levels"]
        items = cast("list[object]", parsed) if isinstance(parsed, list) else [parsed]
    for number, item in enumerate(items):
        structure = path.stem
        if isinstance(item, dict):
            structure = str(cast("dict[str, object]", item).get("structure") or structure)

        def read(item: object = item) -> Level:
            return _from_json(item, options)

        yield _attempt(f"{path}, level {number}", structure, read)


def _json_line(line: str) -> object:
    """What a line holds; a broken one is kept as the reason, so that only that one is dropped."""
    try:
        return json.loads(line)
    except ValueError as error:
        return DatasetError(f"it is not JSON: {error}")


def _from_json(item: object, options: ImportOptions) -> Level:
    if isinstance(item, DatasetError):
        raise item
    try:
        if isinstance(item, list):
            return from_minigrid(np.array(item), keep_heading=options.keep_heading)
        if not isinstance(item, dict):
            raise DatasetError(
                f"it is {type(item).__name__}, not an object with a drawing or tiles"
            )
        table = cast("dict[str, object]", item)
        if "drawing" in table:
            drawing = table["drawing"]
            lines = cast("list[str]", drawing) if isinstance(drawing, list) else [str(drawing)]
            return _strip(from_text("\n".join(lines)), options)
        for name in ("tiles", "goal", "start"):
            if name not in table:
                raise DatasetError(f"it has no {name!r}, and no 'drawing' either")
        tiles = np.array(table["tiles"])
        if tiles.ndim != 2 or tiles.dtype.kind not in "iu" or tiles.min() < 0 or tiles.max() > 255:
            raise DatasetError("its tiles are not a table of whole numbers with equally long rows")
        places = [np.array(table[name]) for name in ("goal", "start")]
        if any(
            place.shape != (2,) or place.dtype.kind not in "iu" or abs(place).max() > 2**30
            for place in places
        ):
            raise DatasetError("goal and start must be [row, column]")
        heading = table.get("heading", ANY_HEADING)
        if type(heading) is not int or not ANY_HEADING <= heading <= 3:
            raise DatasetError(f"its heading is {heading}; 0 right, 1 down, 2 left, 3 up, −1 any")
        goal, start = ((int(place[0]), int(place[1])) for place in places)
        return _strip(make_level(tiles.astype(np.uint8), goal, start, heading), options)
    except (ValueError, TypeError, OverflowError) as error:
        raise DatasetError(f"it cannot be read as a level: {error}") from None


def read_minigrid_levels(path: Path, options: ImportOptions) -> Iterator[Candidate]:
    """Minigrid encodings in a `.npy` or `.npz` file: [width, height, 3], or many of them."""
    if zipfile.is_zipfile(path):
        arrays = storage.read_archive(path)
    else:
        arrays = {"": storage.read_one(path)}
    if set(ARRAYS) <= set(arrays):
        raise DatasetError("it is a set of levels of dred already: load it as it is")
    for name, array in arrays.items():
        if array.dtype.kind not in "iu" or array.ndim not in (3, 4):
            yield Candidate(
                f"{path}, array {name}" if name else str(path),
                None,
                f"it is {array.dtype.name} {list(array.shape)}; Minigrid encodings are whole "
                "numbers [levels, width, height, 3]",
            )
            continue
        for number, encoding in enumerate(array if array.ndim == 4 else array[None]):

            def read(encoding: np.ndarray = encoding) -> Level:
                return from_minigrid(encoding, keep_heading=options.keep_heading)

            place = f"{path}, {name} {number}" if name else f"{path}, level {number}"
            yield _attempt(place, path.stem, read)


Reader = Callable[[Path, ImportOptions], Iterator[Candidate]]
READERS: dict[str, Reader] = {
    ".txt": read_text_levels,
    ".png": read_png_level,
    ".json": read_json_levels,
    ".jsonl": read_json_levels,
    ".npy": read_minigrid_levels,
    ".npz": read_minigrid_levels,
}
