"""Pictures of levels, drawn by their task."""

from typing import Any

import jax
import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from dred.evaluation.evenly import spread
from dred.reports.kit.pictures import png_of
from dred.task import LevelSet, Task

SIDE = 150  # pixels of a picture, roughly


def picture_of(level: Any, task: Task) -> bytes:  # noqa: ANN401  (a level of the task)
    """Return a level as PNG: drawn by the task, or its numbers as text."""
    if task.pictures is None:
        return png_of(in_numbers(level))
    return png_of(task.pictures.draw_level(level, size=SIDE))


def in_numbers(level: Any) -> UInt8[np.ndarray, "height width 3"]:  # noqa: ANN401
    """Return a picture of the numbers of a level, a line each."""
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
    """Return pictures of a few levels, evenly over the whole set."""
    if task.pictures is None:
        return ()
    some = spread(levels, most)
    return tuple(task.pictures.draw_level(some[i], size=SIDE) for i in range(len(some)))


def legend_of(task: Task) -> list[tuple[str, bytes]]:
    """Return a small picture of each thing that pictures are made of, with its name."""
    legend = {} if task.pictures is None else task.pictures.legend()
    return [(name, png_of(pixels)) for name, pixels in legend.items()]
