"""The leaderboard as a page, with galleries, and as files beside it."""

import io
from pathlib import Path

import numpy as np

from dred.reports.kit.folder import check_place, file_name, write_folder
from dred.reports.kit.page import document
from dred.reports.kit.pictures import Picture, png_of
from dred.reports.kit.table import counted, to_csv, to_markdown
from dred.tasks.gridworld.leaderboard.compare import Comparison
from dred.tasks.gridworld.leaderboard.lines import Line
from dred.tasks.gridworld.leaderboard.tables import columns_for, leaderboard, structure_table
from dred.tasks.gridworld.levels.level import Level, size_words
from dred.tasks.gridworld.levels.render import draw_gallery, draw_level

TEMPLATES = Path(__file__).with_name("templates")
PAGE = "leaderboard.html"
PARTS = frozenset({PAGE, "leaderboard.csv", "leaderboard.md", "galleries"})
WIDTH = 160  # pixels of a picture on the page
PER_ROW = 6


def check_out(out: Path) -> None:
    """Stop before any work if the page could not be written there without loss."""
    check_place(out, page=PAGE, parts=PARTS)


def write_leaderboard(found: Comparison, out: Path, *, shown: int = 12, title: str = "") -> Path:
    """Write the page, its tables and a gallery of each source, and return the page."""
    check_out(out)
    table = leaderboard(found)
    files = {
        "leaderboard.csv": to_csv(table).encode(),
        "leaderboard.md": to_markdown(table).encode(),
    }
    if shown:
        for number, line in enumerate(found.lines):
            name = f"{number:02d}-{file_name(Path(line.name).name) or 'levels'}.png"
            files[f"galleries/{name}"] = gallery_png(line, shown)
    return write_folder(files, page_of(found, shown=shown, title=title), out, page=PAGE)


def page_of(found: Comparison, *, shown: int = 12, title: str = "") -> str:
    """Return the page."""
    sections = {"table": "Leaderboard", "structures": "Structures", "levels": "Levels"}
    structures = structure_table(found)
    if structures is None:
        del sections["structures"]
    if not shown:
        del sections["levels"]
    count = sum(line.source.role == "model" for line in found.lines)
    held_out = (
        "No levels were held out."
        if found.held_out is None
        else f"{counted(len(found.held_out), 'level')} were held out."
    )
    context = {
        "table": leaderboard(found),
        "structures": structures,
        "meanings": [(one.heading, one.meaning) for one in columns_for(found.lines)],
        "notices": found.notices,
        "galleries": [(line.name, pictures_of(line, shown)) for line in found.lines],
        "facts": [
            ("dataset", counted(len(found.dataset), "level"), found.dataset.digest[:12]),
            ("levels drawn from each", f"{found.count:,}", f"with seed {found.seed}"),
            ("generators fitted", str(count), "fits that differ in their seed alone are one"),
        ],
    }
    return document(
        TEMPLATES,
        title=title or "Generators of levels",
        lead=f"Levels of {size_words(found.dataset.shape)}. {held_out}",
        sections=sections,
        context=context,
    )


def some_of(line: Line, count: int) -> list[Level]:
    """Return levels of a source, spread evenly over all of them; of fits, of the first."""
    levels = line.source.levels
    total = len(levels.tiles)
    chosen = np.linspace(0, total - 1, min(count, total)).round().astype(int)
    return [Level(*(np.asarray(part[i]) for part in levels)) for i in chosen]


def pictures_of(line: Line, count: int) -> list[Picture]:
    """Return pictures of some levels of a source, for the page."""
    found: list[Picture] = []
    for number, level in enumerate(some_of(line, count), start=1):
        cell = max(4, WIDTH // (max(level.tiles.shape) + 2))
        found.append(Picture(png_of(draw_level(level, cell=cell)), str(number)))
    return found


def gallery_png(line: Line, count: int) -> bytes:
    """Return some levels of a source as one picture."""
    levels = some_of(line, count)
    rows = [levels[first : first + PER_ROW] for first in range(0, len(levels), PER_ROW)]
    image = draw_gallery([("", row) for row in rows], title=line.name)
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
