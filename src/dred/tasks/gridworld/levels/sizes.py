"""Levels of several sizes: side by side in one batch, and taken apart again by size.

The arrays of a batch are as large as its largest level. A level's own height and width follow from
its tiles (`own_sizes`), so nothing else has to be kept.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Int

from dred.tasks.gridworld.levels.level import (
    OUTSIDE,
    AnyArray,
    Level,
    cropped,
    has_outside,
    own_sizes,
    size_words,
)

Shape = tuple[int, int]
MOST_SHOWN = 8  # sizes that are named


def padded(level: Level, shape: Shape) -> Level:
    """Return a level, or a batch, with padding up to this height and width."""
    tiles = level.tiles
    if tiles.shape[-2:] == shape:
        return level
    return level._replace(tiles=with_room(tiles, shape))


def with_room(tiles: AnyArray, shape: Shape) -> AnyArray:
    """Return tiles with padding up to this height and width; JAX may trace them."""
    room = [(0, more - there) for more, there in zip(shape, tiles.shape[-2:], strict=True)]
    every = [(0, 0)] * (tiles.ndim - 2) + room
    if isinstance(tiles, np.ndarray):
        return np.pad(tiles, every, constant_values=OUTSIDE)
    import jax.numpy as jnp

    return jnp.pad(tiles, every, constant_values=OUTSIDE)


def with_room_for(levels: Level, shapes: Iterable[Shape]) -> Level:
    """Return a batch with padding, so that levels of these shapes can stand beside its own.

    If these are smaller, too: a batch of several sizes is known by its padding.
    """
    own = levels.tiles.shape[-2:]
    several = [own, *shapes]
    height, width = largest(several)
    if (height, width) == own and len(set(several)) > 1 and not has_outside(levels.tiles):
        height += 1
    return padded(levels, (height, width))


def largest(shapes: Iterable[Shape]) -> Shape:
    """Return the height and width into which levels of all these shapes fit."""
    heights, widths = zip(*shapes, strict=True)
    return max(heights), max(widths)


def sizes_of(levels: Level) -> Int[np.ndarray, "level 2"]:
    """Return the height and width of each level of a batch, without padding."""
    tiles = np.asarray(levels.tiles)
    if not has_outside(tiles):
        return np.tile(np.array(tiles.shape[1:]), (len(tiles), 1))
    return np.stack(own_sizes(tiles), axis=-1)


def by_size(levels: Level) -> Iterator[tuple[np.ndarray | slice, Level]]:
    """Yield the levels of each size without padding, with their places in the batch.

    A batch without padding comes whole.
    """
    if not has_outside(levels.tiles):
        yield slice(None), levels
        return
    sizes = sizes_of(levels)
    for size in np.unique(sizes, axis=0):
        places = np.flatnonzero((sizes == size).all(axis=1))
        yield places, cropped(Level(*(np.asarray(part)[places] for part in levels)))


def counted_sizes(levels: Level) -> list[tuple[Shape, int]]:
    """Return the sizes that occur, smallest area first, with how many levels have each."""
    if not has_outside(levels.tiles):
        return [(levels.tiles.shape[-2:], len(levels.tiles))]
    sizes, counts = np.unique(sizes_of(levels), axis=0, return_counts=True)
    found = [((int(h), int(w)), int(n)) for (h, w), n in zip(sizes, counts, strict=True)]
    return sorted(found, key=lambda one: (one[0][0] * one[0][1], one[0]))


def with_border(shape: Shape) -> str:
    """Return a size in short, the surrounding wall included: 15×15 for 13×13 cells inside."""
    return f"{shape[0] + 2}×{shape[1] + 2}"


def sizes_in_words(sizes: list[tuple[Shape, int]]) -> str:
    """Return how large levels are, in words."""
    if len(sizes) == 1:
        return size_words(sizes[0][0])
    shown = [f"{with_border(shape)} ({count})" for shape, count in sizes]
    if len(shown) > MOST_SHOWN:
        shown = [*shown[: MOST_SHOWN - 1], "…", shown[-1]]
    return f"{len(sizes)} sizes, {', '.join(shown)} with the wall around"
