"""Pictures of levels as data that a page can hold."""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from dred.reports.charts import with_ink
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.render import draw_level
from dred.tasks.gridworld.levels.text import from_text
from dred.training.train import spread

SIDE = 150  # pixels of a picture, roughly


class Picture(NamedTuple):
    """A level with a few words about it."""

    png: bytes
    title: str
    lines: tuple[str, ...] = ()


def png_of(pixels: UInt8[np.ndarray, "height width 3"]) -> bytes:
    """A small PNG; levels have few colours."""
    stream = io.BytesIO()
    image = Image.fromarray(pixels).quantize(64, dither=Image.Dither.NONE)
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def cell_of(shape: tuple[int, int]) -> int:
    """Pixels a tile, so that levels of any size make pictures of about one size."""
    return max(4, SIDE // (max(shape) + 2))


def picture_of(level: Level) -> bytes:
    """A level as PNG."""
    height, width = level.tiles.shape
    return png_of(draw_level(level, cell=cell_of((height, width))))


def example_layouts(
    levels: LevelDataset, *, most: int = 3
) -> tuple[UInt8[np.ndarray, "height width 3"], ...]:
    """Pictures of a few levels, evenly over the whole set."""
    cell = cell_of(levels.shape)
    return tuple(draw_level(level, cell=cell) for level in spread(levels, most))


def as_uri(content: bytes, kind: str) -> str:
    """Data as an address that needs no other file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def sheet(rows: Sequence[tuple[str, Sequence[Picture]]]) -> str:
    """Pictures in rows, each with a heading, as one SVG."""
    wide, high, gap, head = 150, 150, 14, 26
    lines = max((len(one.lines) for _, row in rows for one in row), default=0)
    tall = high + 18 + 14 * lines + gap
    parts: list[str] = []
    top = 0
    for heading, row in rows:
        parts.append(f'<text x="0" y="{top + 17}" class="h">{escape(heading)}</text>')
        top += head
        for place, one in enumerate(row):
            left = place * (wide + gap)
            parts.append(
                f'<image x="{left}" y="{top}" width="{wide}" height="{high}" '
                f'href="{as_uri(one.png, "image/png")}"/>'
            )
            parts += [
                f'<text x="{left}" y="{top + high + 15 + 14 * i}">{escape(text)}</text>'
                for i, text in enumerate((one.title, *one.lines))
            ]
        top += tall
    width = max((len(row) for _, row in rows), default=1) * (wide + gap)
    style = "text{font:11px sans-serif;fill:currentColor}.h{font:bold 14px sans-serif}"
    return with_ink(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" '
        f'height="{top}"><style>{style}</style>{"".join(parts)}</svg>\n'
    )


def legend_tiles() -> list[tuple[str, bytes]]:
    """A small picture of each kind of tile, with its name."""
    drawing = "#.,~GS"
    names = ("wall", "empty", "moss", "lava", "goal", "start, any heading")
    pixels = draw_level(from_text(drawing), cell=18)
    return [
        (name, png_of(pixels[18:36, 18 * (place + 1) : 18 * (place + 2)]))
        for place, name in enumerate(names)
    ]
