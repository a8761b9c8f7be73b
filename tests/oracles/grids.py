"""Ways through a level, written slowly and obviously with networkx and plain loops."""

import itertools

import networkx as nx
import numpy as np

from dred.levels import EMPTY, MOSS


def graph(level):
    """The navigation graph: navigable cells, joined side by side."""
    navigable = np.isin(level.tiles, (EMPTY, MOSS))
    whole = nx.grid_2d_graph(*level.tiles.shape)
    return whole.subgraph([cell for cell in whole if navigable[cell]])


def distances(level):
    result = np.full(level.tiles.shape, -1)
    nodes = graph(level)
    if tuple(level.goal) in nodes:
        for cell, steps in nx.single_source_shortest_path_length(nodes, tuple(level.goal)).items():
            result[cell] = steps
    return result


def extended(level):
    """The paper's distance of any cell: nearest reachable cell, smallest distance among ties."""
    reached = distances(level)
    result = reached.copy()
    for cell in itertools.product(*(range(side) for side in reached.shape)):
        options = [
            (abs(cell[0] - row) + abs(cell[1] - column), reached[row, column])
            for row, column in np.argwhere(reached >= 0)
        ]
        if options:
            apart, steps = min(options)
            result[cell] = apart + steps
    return result


def resistance(level):
    nodes = graph(level)
    part = nodes.subgraph(nx.node_connected_component(nodes, tuple(level.goal)))
    order = list(part)
    inverse = np.linalg.pinv(nx.laplacian_matrix(part, nodelist=order).toarray().astype(float))
    s, g = order.index(tuple(level.start)), order.index(tuple(level.goal))
    return inverse[s, s] + inverse[g, g] - 2 * inverse[s, g]
