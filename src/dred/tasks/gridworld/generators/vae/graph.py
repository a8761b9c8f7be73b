"""A level as a graph: what the encoder gets to see.

Another simulator brings another `Graph`; nothing else in the model knows of grids but the heads.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL, Level

FEATURES = 6  # lava, moss, wall, empty, start, goal
CLASSES = (LAVA, MOSS, WALL, EMPTY)  # of the layout, in the order of the released code
Edges = Literal["released", "grid"]


class Graph(NamedTuple):
    """Nodes with features, and directed edges between them. An edge of weight 0 is none."""

    nodes: Float[Array, "*batch node feature"]
    senders: Int[Array, "*batch edge"]
    receivers: Int[Array, "*batch edge"]
    weight: Float[Array, "*batch edge"]


def neighbours(height: int, width: int) -> Int[np.ndarray, "pair 2"]:
    """Pairs of cells side by side, each once, as numbers row · width + column."""
    cell = np.arange(height * width).reshape(height, width)
    across = np.stack([cell[:, :-1].ravel(), cell[:, 1:].ravel()], axis=1)
    down = np.stack([cell[:-1].ravel(), cell[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def level_graph(level: Level, edges: Edges = "released") -> Graph:
    """The graph of one level. A node per cell.

    released: cells side by side are joined if the agent can walk on both, or on neither; and the
    goal with the start and with every moss and lava cell. grid: all cells side by side.
    """
    height, width = level.tiles.shape
    tiles = jnp.asarray(level.tiles).reshape(-1)
    cell = jnp.arange(height * width)
    goal = level.goal[0] * width + level.goal[1]
    start = level.start[0] * width + level.start[1]
    is_place = (cell == goal) | (cell == start)
    kinds = [(tiles == kind) & ~is_place for kind in CLASSES]
    nodes = jnp.stack([*kinds, cell == start, cell == goal], axis=-1).astype(jnp.float32)
    pairs = jnp.asarray(neighbours(height, width))
    first, second = pairs[:, 0], pairs[:, 1]
    if edges == "grid":
        senders, receivers = jnp.concatenate([first, second]), jnp.concatenate([second, first])
        return Graph(nodes, senders, receivers, jnp.ones(senders.shape))
    can_walk = (tiles == EMPTY) | (tiles == MOSS)
    alike = can_walk[first] == can_walk[second]
    row, column = cell // width, cell % width
    beside_goal = jnp.abs(row - level.goal[0]) + jnp.abs(column - level.goal[1]) == 1
    joined = ((tiles == LAVA) | (tiles == MOSS) | (cell == start)) & (cell != goal)
    joined = joined & ~(beside_goal & can_walk)  # these are joined already
    centre = jnp.broadcast_to(goal, cell.shape)
    weight = jnp.concatenate([alike, alike, joined, joined]).astype(jnp.float32)
    senders = jnp.concatenate([first, second, centre, cell])
    receivers = jnp.concatenate([second, first, cell, centre])
    return Graph(nodes, senders, receivers, weight)


def sum_of_neighbours(graph: Graph, hidden: Float[Array, "node size"]) -> Float[Array, "node size"]:
    """For every node, the sum over the edges that lead to it."""
    sent = graph.weight[:, None] * hidden[graph.senders]
    return jax.ops.segment_sum(sent, graph.receivers, hidden.shape[0])
