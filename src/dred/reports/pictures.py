"""Pictures of levels as data that a page can hold."""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from dred.reports.charts import with_ink
from dred.task import LevelSet, Task
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


def gif_of(frames: Sequence[UInt8[np.ndarray, "height width 3"]], *, fps: float) -> bytes:
    """Frames as a GIF; the last one stays a little longer."""
    images = [Image.fromarray(frame) for frame in frames]
    durations = [round(1000 / fps)] * (len(images) - 1) + [1200]
    stream = io.BytesIO()
    images[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=durations,
        loop=0,
    )
    return stream.getvalue()


def picture_of(level: Any, task: Task) -> bytes:  # noqa: ANN401  (a level of the task)
    """A level as PNG: drawn by the task, or its numbers as text."""
    if task.pictures is None:
        return png_of(in_numbers(level))
    return png_of(task.pictures.draw_level(level, size=SIDE))


def in_numbers(level: Any) -> UInt8[np.ndarray, "height width 3"]:  # noqa: ANN401
    """The numbers of a level, a line each."""
    image = Image.new("RGB", (SIDE, SIDE), (238, 238, 238))
    lines = [
        f"{jax.tree_util.keystr(path)[-14:]} {np.array2string(np.asarray(leaf), precision=3)}"
        for path, leaf in jax.tree.flatten_with_path(level)[0]
    ]
    ImageDraw.Draw(image).multiline_text((6, 6), "\n".join(lines), fill=(40, 40, 40))
    return np.asarray(image)


def example_layouts(
    levels: LevelSet, task: Task, *, most: int = 3
) -> tuple[UInt8[np.ndarray, "height width 3"], ...]:
    """Pictures of a few levels, evenly over the whole set."""
    if task.pictures is None:
        return ()
    some = spread(levels, most)
    return tuple(task.pictures.draw_level(some[i], size=SIDE) for i in range(len(some)))


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


def legend_of(task: Task) -> list[tuple[str, bytes]]:
    """A small picture of each thing that pictures are made of, with its name."""
    legend = {} if task.pictures is None else task.pictures.legend()
    return [(name, png_of(pixels)) for name, pixels in legend.items()]
