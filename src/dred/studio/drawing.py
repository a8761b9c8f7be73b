"""Drawing levels of the gridworld: what a drawing is worth, opening, saving."""

import tempfile
from pathlib import Path

import numpy as np
from starlette.responses import Response

from dred.errors import ConfigError, DatasetError
from dred.levels import (
    LevelDataset,
    concatenate,
    distance_to_goal,
    draw_level,
    from_levels,
    from_text,
    is_solvable,
    load,
    shortest_path,
    to_text,
)
from dred.studio.answers import Asked
from dred.studio.galleries import png
from dred.studio.shelf import Shelf
from dred.tasks.gridworld.levels.importers import READERS, ImportOptions, import_levels
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level, as_batch, problems
from dred.tasks.gridworld.levels.text import START_OF
from dred.tasks.gridworld.pictures import seen_cells
from dred.tasks.gridworld.task import GRIDWORLD

MOST_CELLS, MOST_OPENED, MOST_PIXELS = 101 * 101, 400, 4_000_000
TILES = "#.,~G"  # on the strip of tiles, in this order; the starts follow
OPENED = (".txt", ".png", ".json", ".jsonl")


class Drawing:
    """Answers what the page asks while somebody draws."""

    def __init__(self, shelf: Shelf) -> None:
        self.places = shelf.places

    def inspect(self, asked: Asked) -> object:
        """Return whether a drawing is a level, and the ways through it."""
        try:
            return inspected(level_of(asked.text("text")))
        except DatasetError as error:
            return {"problem": str(error)}

    def open(self, asked: Asked) -> object:
        """Return the drawings that a file holds, solvable ones of one size."""
        name = Path(asked.text("name")).name
        if Path(name).suffix.lower() not in OPENED:
            raise ConfigError(f"Levels are opened from {', '.join(OPENED)}, not from {name!r}.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"levels{Path(name).suffix.lower()}"
            path.write_bytes(asked.body)
            try:
                taken = read_levels(path)
            except DatasetError as error:
                raise DatasetError(str(error).replace(str(path), name)) from None
        return {"levels": [to_text(level) for level in taken[:MOST_OPENED]], "total": len(taken)}

    def save(self, asked: Asked) -> object:
        """Add drawings to a set, which is made if it is not there."""
        texts = asked.several("levels", most=MOST_OPENED)
        path = self.places.new(asked.text("set"), suffix=".npz")
        word = asked.text("structure", "drawn")[:40]
        meta = {"made": {"by": "dred studio"}}
        new = from_levels([level_of(str(one)) for one in texts], structure=word, meta=meta)
        whole = concatenate([load(path), new]) if path.exists() else new
        whole.save(path)
        return {"set": asked.text("set"), "levels": len(whole), "digest": whole.digest[:16]}

    def tiles(self, asked: Asked) -> object:
        """Return all tiles side by side: wall, empty, moss, lava, goal, then starts by heading.

        The first start has any heading, then right, down, left, up.
        """
        cell = asked.whole("cell", 48, most=96) or 48
        row = draw_level(from_text(f"{TILES}S"), cell=cell)[cell : 2 * cell, cell:-cell]
        poses = [
            draw_level(from_text("G.S"), cell=cell, agent=(0, 1, heading))
            for heading in sorted(set(START_OF) - {ANY_HEADING})
        ]
        starts = [pose[cell : 2 * cell, 2 * cell : 3 * cell] for pose in poses]
        keep = {"cache-control": "private, max-age=86400"}
        strip = png(np.concatenate([row, *starts], axis=1))
        return Response(strip, headers=keep, media_type="image/png")


def level_of(text: str) -> Level:
    """Return the level of a drawing, which must be a proper one and not too large."""
    if len(text) > 2 * MOST_CELLS:
        raise DatasetError(
            f"The drawing has {len(text)} characters. A level has at most {MOST_CELLS} cells here."
        )
    level = from_text(text)
    if reasons := problems(level):
        raise DatasetError(f"This is not a level: {'; '.join(reasons)}. Repair the drawing.")
    return level


def inspected(level: Level) -> dict[str, object]:
    """Return what there is to know of a level: ways, sight and features."""
    row, column = (int(part) for part in level.start)
    heading = max(0, int(level.heading))
    measured = GRIDWORLD.measure(as_batch(level)) if GRIDWORLD.measure else {}
    return {
        "text": to_text(level),
        "solvable": is_solvable(level),
        "distances": distance_to_goal(level),
        "path": shortest_path(level),
        "seen": seen_from(level, row, column, heading),
        "facts": {
            one.label: {"value": measured[name][0], "percent": one.percent}
            for name, one in GRIDWORLD.features.items()
            if name in measured and name != "solvable_mass"
        },
    }


def seen_from(level: Level, row: int, column: int, heading: int) -> list[int]:
    """Return the numbers of the cells that are seen from a place, row by row."""
    seen = seen_cells(level, row, column, heading)[1:-1, 1:-1]
    return np.flatnonzero(seen).tolist()


def read_levels(path: Path) -> LevelDataset:
    """Return the levels in a file; for pictures, with the pixels of a tile that make sense."""
    assert path.suffix in READERS
    if path.suffix != ".png":
        return import_levels(path).dataset
    first: DatasetError | None = None
    for cell in cells_of(path):
        for strip in (True, False):  # pictures of levels have the surrounding wall
            try:
                return import_levels(path, ImportOptions(cell=cell, strip_border=strip)).dataset
            except DatasetError as error:
                first = first or error
    raise first or DatasetError(f"{path} is not a picture that can be read. Give a PNG.")


def cells_of(path: Path) -> list[int]:
    """Return how many pixels a tile of a picture may have: what divides both sides, least first."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            width, height = image.size
    except (OSError, ValueError, Image.DecompressionBombError):
        return []
    if width * height > MOST_PIXELS:
        raise DatasetError(
            f"{path} is {width}×{height} pixels; at most {MOST_PIXELS:,} in all are taken. Make it "
            "smaller."
        )
    common = int(np.gcd(width, height))
    fits = [cell for cell in range(1, min(common, 128) + 1) if common % cell == 0]
    return [cell for cell in fits if (width // cell) * (height // cell) <= MOST_CELLS]
