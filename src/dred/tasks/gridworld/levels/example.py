"""Four small levels in which overfitting can be seen, after the paper's first figure.

In every level moss leads from a junction to the goal, which cannot be seen from there. What can be
seen at the start, chambers behind the walls, tells the levels apart and means nothing. An agent
that has learned to follow moss solves them all. But in (a) there is a shorter way, straight on
without any moss, and an agent trained on (a) to (c) alone does better by learning each by heart:
(a) straight on, (b) left, (c) right. Level (d) looks like (a) up to the junction and beyond, but
straight on there is lava, and only moss leads to the goal.
"""

from itertools import product
from typing import Literal

import numpy as np

from dred.tasks.gridworld.levels.dataset import LevelDataset, from_levels
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL, Level, make_level

Branch = Literal["left", "straight", "right"]

SIDE = 11
START, JUNCTION = (5, 4), (5, 5)
HEADING = 2  # left: the agent looks away from the junction at first
CHAMBERS = ((3, 0), (3, 2), (7, 0), (7, 2))  # behind the walls, in sight from the start
A, B, C = 0b0001, 0b0110, 0b1100  # which of them are open: a bit each

# From the junction to where the goal is if moss leads there: too far to be seen from the junction.
WAYS: dict[Branch, tuple[tuple[int, int], ...]] = {
    "left": tuple((row, 5) for row in range(4, -1, -1)),
    "straight": tuple((5, column) for column in range(6, 11)),
    "right": tuple((row, 5) for row in range(6, 11)),
}
# In (a), from the end of the left way on to the goal that is also straight ahead.
DETOUR = (*((0, column) for column in range(6, 11)), *((row, 10) for row in range(1, 6)))
# In some of the augmented levels, round a corner.
CORNERS: dict[Branch, tuple[tuple[int, int], ...]] = {
    "left": ((0, 6), (0, 7)),
    "straight": ((6, 10), (7, 10)),
    "right": ((10, 6), (10, 7)),
}


def example_level(
    signature: int,
    moss: Branch,
    *,
    further: tuple[tuple[int, int], ...] = (),
    closed: Branch | None = None,
) -> Level:
    """A level with these chambers open, moss on one of the three ways, and lava at the other ends.

    Moss may lead further than the end of its way; at the end of all moss is the goal. One of the
    ways may be closed.
    """
    tiles = np.full((SIDE, SIDE), WALL, np.uint8)
    tiles[START] = tiles[JUNCTION] = EMPTY
    for bit, chamber in enumerate(CHAMBERS):
        tiles[chamber] = EMPTY if signature >> bit & 1 else WALL
    for branch, way in WAYS.items():
        if branch not in (moss, closed):
            for cell in way:
                tiles[cell] = EMPTY
            tiles[way[-1]] = LAVA
    way = WAYS[moss] + further
    for cell in way:
        tiles[cell] = MOSS
    tiles[way[-1]] = EMPTY
    return make_level(tiles, goal=way[-1], start=START, heading=HEADING)


def example_levels() -> LevelDataset:
    """The levels (a) to (d), each as a structure of its own."""
    levels = [
        example_level(A, "left", further=DETOUR),
        example_level(B, "left", closed="straight"),
        example_level(C, "right", closed="straight"),
        example_level(A, "left"),
    ]
    return from_levels(levels, structure=["a", "b", "c", "d"], meta=_made("cmdp-example"))


def example_training() -> LevelDataset:
    """The levels (a) to (c)."""
    return from_levels(
        list(example_levels())[:3], structure=["a", "b", "c"], meta=_made("cmdp-example-train")
    )


def example_augmented() -> LevelDataset:
    """The levels (a) to (c) and others of their kind, but not (d).

    Any chambers are open, moss leads any way, and in half of the levels round a corner.
    """
    kinds = [kind for kind in product(range(16), WAYS) if kind != (A, "left")]  # which is (d)
    more = [
        example_level(signature, branch, further=CORNERS[branch] if signature % 2 else ())
        for signature, branch in kinds
    ]
    return from_levels(
        [*example_training(), *more],
        structure=["a", "b", "c", *("augmented" for _ in more)],
        meta=_made("cmdp-example-augmented"),
    )


def _made(name: str) -> dict[str, object]:
    return {"made": {"by": "dred levels make", "set": name}}


EXAMPLES = {
    "cmdp-example": example_levels,
    "cmdp-example-train": example_training,
    "cmdp-example-augmented": example_augmented,
}
