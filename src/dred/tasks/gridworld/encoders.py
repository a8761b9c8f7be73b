"""Encoders: what the agent's memory gets to see of a view.

`convolution` is that of the released code: Minigrid's numbers, divided by ten, under a small
convolution. `tiles` names the kind of each tile: five numbers a tile, one of which is 1. Numbers
that name things say nothing by their size, and an agent that need not find that out learns faster.
"""

import itertools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dred.agents.encoders import Linear
from dred.agents.initialise import orthogonal
from dred.tasks.gridworld.view import OBJECT_NUMBERS, VIEW, View

KERNEL, CHANNELS, FILTERS = 3, 3, 16
PLACES = VIEW - KERNEL + 1  # where the kernel fits along a side
HEADINGS, HEADING_SIZE = 4, 5
SCALE = 10.0  # Minigrid's numbers are divided by this
TILES_SIZE = 64


class Convolution(eqx.Module):
    """A 3×3 convolution with 16 filters over Minigrid's numbers, and the heading."""

    kernel: Linear  # 27 → 16, the same at each of 3×3 places
    heading: Linear

    @property
    def size(self) -> int:
        """16 numbers for each place, and those of the heading."""
        return FILTERS * PLACES**2 + HEADING_SIZE

    @property
    def products(self) -> int:
        """Those of the convolution, had it no zeros."""
        return PLACES**2 * KERNEL**2 * CHANNELS * FILTERS

    def __call__(self, view: View) -> Float[Array, "*batch input"]:
        """What the memory gets to see."""
        flat = view.image.reshape(-1, VIEW * VIEW * CHANNELS).astype(jnp.float32) / SCALE
        bias = jnp.tile(self.kernel.bias, PLACES**2)
        seen = jax.nn.relu(flat @ at_each_place(self.kernel.weight) + bias[None])
        compass = self.heading(jax.nn.one_hot(view.direction.reshape(-1), HEADINGS))
        both = jnp.concatenate([seen, compass], axis=-1)
        return both.reshape(*view.direction.shape, self.size)


class Tiles(eqx.Module):
    """One layer over the kinds of the tiles and the heading, each as numbers of which one is 1."""

    layer: Linear

    @property
    def size(self) -> int:
        """Numbers of the layer."""
        return self.layer.bias.shape[0]

    @property
    def products(self) -> int:
        """One for each weight."""
        return self.layer.weight.size

    def __call__(self, view: View) -> Float[Array, "*batch input"]:
        """What the memory gets to see."""
        objects = view.image[..., 0].reshape(-1, VIEW * VIEW, 1)
        kinds = jnp.where(objects == jnp.array([[OBJECT_NUMBERS]], objects.dtype), 1.0, 0.0)
        compass = jax.nn.one_hot(view.direction.reshape(-1), HEADINGS)
        both = jnp.concatenate([kinds.reshape(kinds.shape[0], -1), compass], axis=-1)
        return jax.nn.relu(self.layer(both)).reshape(*view.direction.shape, self.size)


def new_convolution(keys: Key[Array, " 3"]) -> Convolution:
    """The first weights of the released code."""
    inputs = KERNEL * KERNEL * CHANNELS
    key_kernel, key_heading, key_bias = keys
    square = (KERNEL, KERNEL, CHANNELS, FILTERS)
    kernel = jax.nn.initializers.xavier_uniform()(key_kernel, square).reshape(inputs, FILTERS)
    shape = (HEADINGS, HEADING_SIZE)
    heading = jax.random.uniform(key_heading, shape, minval=-0.5, maxval=0.5)
    bias = jax.random.uniform(key_bias, (HEADING_SIZE,), minval=-0.5, maxval=0.5)
    return Convolution(Linear(kernel, jnp.zeros(FILTERS)), Linear(heading, bias))


def new_tiles(keys: Key[Array, " 3"]) -> Tiles:
    """Orthogonal weights, and no bias."""
    inputs = len(OBJECT_NUMBERS) * VIEW * VIEW + HEADINGS
    weight = orthogonal(TILES_SIZE, inputs, gain=2**0.5, key=keys[0]).T
    return Tiles(Linear(weight, jnp.zeros(TILES_SIZE)))


ENCODERS: dict[str, Callable[[Key[Array, " 3"]], Convolution | Tiles]] = {
    "tiles": new_tiles,
    "convolution": new_convolution,
}


def at_each_place(
    kernel: Float[Array, "inputs filters"],
) -> Float[Array, "view filters_and_places"]:
    """The matrix that applies a 3×3 kernel at each place of a flattened view.

    A product with this matrix, zeros and all, is faster than XLA's convolution, above all in its
    gradient, and than a product with the nine neighbourhoods of each view.
    """
    square = kernel.reshape(KERNEL, KERNEL, CHANNELS, FILTERS)
    placed = jnp.zeros((VIEW, VIEW, CHANNELS, PLACES, PLACES, FILTERS))
    for i, j in itertools.product(range(PLACES), repeat=2):
        placed = placed.at[i : i + KERNEL, j : j + KERNEL, :, i, j].set(square)
    return placed.reshape(VIEW * VIEW * CHANNELS, FILTERS * PLACES**2)
