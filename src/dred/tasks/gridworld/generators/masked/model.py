"""The network: from a level of which some cells are unknown to what each of them may be.

    squares of 2×2 cells ─ residual layers of 3×3, near and far, with the mean over the level ─
    log-odds of what each cell holds

It is convolutional, so it takes levels of any size. What lies beyond the edge looks like nothing
else. How many cells are unknown is told as a share.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.masked.cells import CONTENTS, OUTSIDE, SEEN, UNKNOWN

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
    share: Float[Array, " size"]
    layers: tuple[Layer, ...]
    last: Float[Array, "size held"]
    bias: Float[Array, " held"]

    def __init__(self, config: MaskedConfig, *, key: PRNGKeyArray) -> None:
        key_first, *keys = jax.random.split(key, 2 + len(config.steps_between))
        size = config.size
        self.first = jax.random.normal(key_first, (SQUARE * SEEN, size)) * SQUARE**-0.5
        self.share = jnp.zeros(size)
        self.layers = tuple(
            Layer(size, step, key=key)
            for step, key in zip(config.steps_between, keys[1:], strict=True)
        )
        self.last = jax.random.normal(keys[0], (size, SQUARE * CONTENTS)) * 0.1 * size**-0.5
        self.bias = jnp.zeros(SQUARE * CONTENTS)

    def __call__(
        self, cells: Int[Array, "batch row column"]
    ) -> Float[Array, "batch row column held"]:
        """Return the log-probability of each content of each cell."""
        count, height, width = cells.shape
        share = (cells == UNKNOWN).astype(jnp.float32).mean((1, 2))
        seen = jax.nn.one_hot(squares(cells), SEEN, dtype=jnp.float32)
        hidden = seen.reshape(*seen.shape[:3], -1) @ self.first
        hidden = hidden + share[:, None, None, None] * self.share[None, None, None]
        for layer in self.layers:
            hidden = layer(hidden)
        found = hidden @ self.last + self.bias[None, None, None]
        rows, columns = found.shape[1:3]
        held = found.reshape(count, rows, columns, SIDE, SIDE, CONTENTS)
        held = held.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows * SIDE, columns * SIDE, -1)
        return jax.nn.log_softmax(held[:, :height, :width])


def squares(cells: Int[Array, "batch row column"]) -> Int[Array, "batch rows columns four"]:
    """Return the cells of each square; those beyond the edge are outside."""
    count, height, width = cells.shape
    wide = jnp.pad(
        cells, ((0, 0), (0, -height % SIDE), (0, -width % SIDE)), constant_values=OUTSIDE
    )
    rows, columns = wide.shape[1] // SIDE, wide.shape[2] // SIDE
    grid = wide.reshape(count, rows, SIDE, columns, SIDE).transpose(0, 1, 3, 2, 4)
    return grid.reshape(count, rows, columns, SQUARE)
