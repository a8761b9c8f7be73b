"""The network: from a level of which some cells are unknown to what each of them may be.

    squares of 2×2 cells ─ residual layers of 3×3, near and far, with the mean over the level ─
    log-odds of what each cell holds

It is convolutional, so it takes levels of any size. What lies beyond the edge looks like nothing
else. It is told which shares of the cells are not known, and not known but for their class; of
which structure the level is, or 0 for not told; and how far the goal is from each cell, as moss and
lava follow the way there, which layers of 3×3 would have to find anew in each level.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.masked.cells import (
    CONTENTS,
    FLOOR,
    OUTSIDE,
    SEEN,
    SOLID,
    UNKNOWN,
)
from dred.tasks.gridworld.generators.masked.distance import FEATURES, distance_features

SIDE = 2  # of the squares of cells
SQUARE = SIDE * SIDE
EPSILON = 1e-6


class Layer(eqx.Module):
    """h ← h + W relu(V neighbours(norm(h)) + U mean(norm(h)) + b)."""

    scale: Float[Array, " size"]
    near: Float[Array, "nine_size size"]
    far: Float[Array, "size size"]
    bias: Float[Array, " size"]
    out: Float[Array, "size size"]
    step: int = eqx.field(static=True)  # between neighbours

    def __init__(self, size: int, step: int, *, key: PRNGKeyArray) -> None:
        key_near, key_far, key_out = jax.random.split(key, 3)
        self.scale = jnp.ones(size)
        self.near = jax.random.normal(key_near, (9 * size, size)) * (2 / (9 * size)) ** 0.5
        self.far = jax.random.normal(key_far, (size, size)) * (1 / size) ** 0.5
        self.bias = jnp.zeros(size)
        self.out = jax.random.normal(key_out, (size, size)) * 0.5 * (1 / size) ** 0.5
        self.step = step

    def __call__(
        self, hidden: Float[Array, "batch row column size"]
    ) -> Float[Array, "batch row column size"]:
        """Apply to each square of each level."""
        size = (hidden**2).mean(-1, keepdims=True) + EPSILON
        normed = hidden * jax.lax.rsqrt(size) * self.scale[None, None, None]
        mean = normed.mean((1, 2), keepdims=True)
        found = neighbours(normed, self.step) @ self.near + mean @ self.far
        return hidden + jax.nn.relu(found + self.bias[None, None, None]) @ self.out


def neighbours(
    hidden: Float[Array, "batch row column size"], step: int
) -> Float[Array, "batch row column nine_size"]:
    """Return each square with the eight around it, so many steps away; zeros beyond the edge."""
    _, height, width, _ = hidden.shape
    wide = jnp.pad(hidden, ((0, 0), (step, step), (step, step), (0, 0)))
    shifts = (0, step, 2 * step)
    return jnp.concatenate(
        [wide[:, i : i + height, j : j + width] for i in shifts for j in shifts], axis=-1
    )


class MaskedModel(eqx.Module):
    """What each cell of a level may hold, given those that are known."""

    first: Float[Array, "seen size"]
    away: Float[Array, "told size"]
    share: Float[Array, "2 size"]
    structure: Float[Array, "label size"]
    layers: tuple[Layer, ...]
    last: Float[Array, "size held"]
    bias: Float[Array, " held"]

    def __init__(self, config: MaskedConfig, *, structures: int = 0, key: PRNGKeyArray) -> None:
        key_first, key_away, *keys = jax.random.split(key, 3 + len(config.steps_between))
        size = config.size
        self.first = jax.random.normal(key_first, (SQUARE * SEEN, size)) * SQUARE**-0.5
        self.away = jax.random.normal(key_away, (SQUARE * FEATURES, size)) * SQUARE**-0.5
        self.share = jnp.zeros((2, size))
        self.structure = jnp.zeros((1 + structures, size))
        self.layers = tuple(
            Layer(size, step, key=key)
            for step, key in zip(config.steps_between, keys[1:], strict=True)
        )
        self.last = jax.random.normal(keys[0], (size, SQUARE * CONTENTS)) * 0.1 * size**-0.5
        self.bias = jnp.zeros(SQUARE * CONTENTS)

    def __call__(
        self, cells: Int[Array, "batch row column"], label: Int[Array, " batch"]
    ) -> Float[Array, "batch row column held"]:
        """Return the log-probability of each content of each cell; a label is of a structure."""
        count, height, width = cells.shape
        hidden_kinds = jnp.stack([cells == UNKNOWN, (cells == FLOOR) | (cells == SOLID)], axis=-1)
        share = hidden_kinds.astype(jnp.float32).mean((1, 2)) @ self.share
        known = share + self.structure[label]
        seen = jax.nn.one_hot(squares(cells[..., None], OUTSIDE), SEEN, dtype=jnp.float32)
        hidden = seen.reshape(*seen.shape[:3], -1) @ self.first
        hidden = hidden + squares(distance_features(cells), 0.0) @ self.away
        hidden = hidden + known[:, None, None]
        for layer in self.layers:
            hidden = layer(hidden)
        found = hidden @ self.last + self.bias[None, None, None]
        rows, columns = found.shape[1:3]
        held = found.reshape(count, rows, columns, SIDE, SIDE, CONTENTS)
        held = held.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows * SIDE, columns * SIDE, -1)
        return jax.nn.log_softmax(held[:, :height, :width])


def squares(
    cells: Shaped[Array, "batch row column told"], beyond: float | int | int
) -> Shaped[Array, "batch rows columns four_told"]:
    """Return what is told of the cells of each square; of those beyond the edge, `beyond`."""
    count, height, width, told = cells.shape
    wide = jnp.pad(
        cells, ((0, 0), (0, -height % SIDE), (0, -width % SIDE), (0, 0)), constant_values=beyond
    )
    rows, columns = wide.shape[1] // SIDE, wide.shape[2] // SIDE
    grid = wide.reshape(count, rows, SIDE, columns, SIDE, told).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(count, rows, columns, SQUARE * told)
