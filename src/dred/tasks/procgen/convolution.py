"""Convolution and pooling that learn fast on a CPU.

XLA's forward convolution is good on a CPU, but its weight gradient and the gradient of its max-pool
are many times slower. Here both are written with operations that XLA runs well:

* The weight gradient is a matrix product. Each position of the image is put beside its left and
  right neighbours, and each position of the gradient beside those above and below:

      left, here, right  [positions, 3·inputs]     below, here, above  [positions, 3·outputs]

  The product of the two over all positions holds the nine parts of the kernel's gradient. It does
  no needless work and copies either side three times, not nine.
* With few inputs, as in the colours of a picture, the product would be thin and the gradient's
  copies large. There the nine neighbours are taken from the image alone, and two positions that lie
  side by side share one row: four columns of the picture, then, give two outputs at once. A third
  of that work is lost on zeros, yet the forward pass gains from it too.
* The gradient with respect to the image is a forward convolution with the kernel turned round.
* Pooling notes which of its nine places won. In the gradient each place of the image then looks at
  the windows that contain it, at most four, instead of each window searching for its winner again.

Images per second through the IMPALA network, forward and backward, on two cores (plain JAX first):

    256 images: 208; 347 all at once, 392 in chunks of 64, 412 of 32, 505 of 16
    2048 images: 123; 468 in chunks of 16

Chunks, whose gradients are summed by a scan, keep what is in between in the cache. Plain JAX gains
nothing from them: inside a loop its weight gradient is tens of times slower still.

All this is for the CPU only; elsewhere the plain operations are used.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int8, Shaped

FEW_INPUTS = 4  # up to here, the neighbours of two positions fit in one short row

# In each direction, an image's places of even and odd index are the middle and the last of the
# window at their half; the odd one is also the first of the next window, the even one not in it.
PLACE_SEEN = np.array([[1, 2], [-9, 0]])  # -9 stays below 0 whatever the other direction adds


def convolve(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> Float[Array, "batch height width outputs"]:
    """The image convolved with a 3 × 3 kernel; its borders are zeros, and its size is kept."""
    if jax.default_backend() != "cpu":
        return convolve_plainly(image, kernel)
    if image.shape[3] <= FEW_INPUTS and image.shape[2] % 2 == 0:
        return _convolve_pairs(image, kernel)
    return _convolve(image, kernel)


def convolve_plainly(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> Float[Array, "batch height width outputs"]:
    """The same, with the gradient left to JAX."""
    return jax.lax.conv_general_dilated(
        image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def pool(
    image: Float[Array, "batch height width channels"],
) -> Float[Array, "batch height//2 width//2 channels"]:
    """The largest of each 3 × 3 window around every second place. Height and width are even.

    The gradient goes to the first of equal maxima, row by row.
    """
    return _pool(image) if jax.default_backend() == "cpu" else pool_plainly(image)


def pool_plainly(
    image: Float[Array, "batch height width channels"],
) -> Float[Array, "batch height//2 width//2 channels"]:
    """The same, with the gradient left to JAX."""
    padding = ((0, 0), (1, 1), (1, 1), (0, 0))
    return jax.lax.reduce_window(image, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding)


# Many inputs


@jax.custom_vjp
def _convolve(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> Float[Array, "batch height width outputs"]:
    return convolve_plainly(image, kernel)


Kept = tuple[
    Float[Array, "batch height width inputs"],
    Float[Array, "3 3 inputs outputs"],
]


def _convolve_forwards(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> tuple[Float[Array, "batch height width outputs"], Kept]:
    return convolve_plainly(image, kernel), (image, kernel)


def _convolve_backwards(
    kept: Kept, gradient: Float[Array, "batch height width outputs"]
) -> tuple[Float[Array, "batch height width inputs"], Float[Array, "3 3 inputs outputs"]]:
    image, kernel = kept
    _, height, width, inputs = image.shape
    outputs = gradient.shape[3]
    wide = jnp.pad(image, ((0, 0), (0, 0), (1, 1), (0, 0)))
    tall = jnp.pad(gradient, ((0, 0), (1, 1), (0, 0), (0, 0)))
    beside = jnp.concatenate([wide[:, :, x : x + width] for x in range(3)], axis=3)
    # The kernel's top row meets the image one row above the gradient, so the order is reversed.
    below = jnp.concatenate([tall[:, y : y + height] for y in (2, 1, 0)], axis=3)
    product = _over_positions(beside, below)
    d_kernel = product.reshape(3, inputs, 3, outputs).transpose(2, 0, 1, 3)
    return convolve_plainly(gradient, _turned_round(kernel)), d_kernel


_convolve.defvjp(_convolve_forwards, _convolve_backwards)


def _turned_round(
    kernel: Float[Array, "3 3 inputs outputs"],
) -> Float[Array, "3 3 outputs inputs"]:
    """The kernel that carries the gradient back to the image."""
    return jnp.flip(kernel, (0, 1)).swapaxes(2, 3)


def _over_positions(
    left: Float[Array, "batch height width rows"], right: Float[Array, "batch height width columns"]
) -> Float[Array, "rows columns"]:
    """The product of the two, summed over all positions."""
    return left.reshape(-1, left.shape[3]).T @ right.reshape(-1, right.shape[3])


# Few inputs


@jax.custom_vjp
def _convolve_pairs(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> Float[Array, "batch height width outputs"]:
    return _convolve_pairs_forwards(image, kernel)[0]


def _convolve_pairs_forwards(
    image: Float[Array, "batch height width inputs"],
    kernel: Float[Array, "3 3 inputs outputs"],
) -> tuple[Float[Array, "batch height width outputs"], Kept]:
    inputs, outputs = kernel.shape[2:]
    pair = [jnp.pad(kernel, ((0, 0), (x, 1 - x), (0, 0), (0, 0))) for x in range(2)]
    weight = jnp.stack(pair, axis=3).reshape(12 * inputs, 2 * outputs)
    result = _around_pairs(image) @ weight
    return result.reshape(*image.shape[:3], outputs), (image, kernel)


def _convolve_pairs_backwards(
    kept: Kept, gradient: Float[Array, "batch height width outputs"]
) -> tuple[Float[Array, "batch height width inputs"], Float[Array, "3 3 inputs outputs"]]:
    image, kernel = kept
    batch, height, width, inputs = image.shape
    outputs = gradient.shape[3]
    pairs = gradient.reshape(batch, height, width // 2, 2 * outputs)
    product = _over_positions(_around_pairs(image), pairs).reshape(3, 4, inputs, 2, outputs)
    d_kernel = product[:, :3, :, 0] + product[:, 1:, :, 1]
    return convolve_plainly(gradient, _turned_round(kernel)), d_kernel


_convolve_pairs.defvjp(_convolve_pairs_forwards, _convolve_pairs_backwards)


def _around_pairs(
    image: Float[Array, "batch height width inputs"],
) -> Float[Array, "batch height width//2 12*inputs"]:
    """The 3 × 4 places around each pair of places that lie side by side, in one row."""
    batch, height, width, inputs = image.shape
    tall = jnp.pad(image, ((0, 0), (1, 1), (0, 0), (0, 0)))
    pairs = tall.reshape(batch, height + 2, width // 2, 2 * inputs)
    left = jnp.pad(pairs[:, :, :-1, inputs:], ((0, 0), (0, 0), (1, 0), (0, 0)))
    right = jnp.pad(pairs[:, :, 1:, :inputs], ((0, 0), (0, 0), (0, 1), (0, 0)))
    four = jnp.concatenate([left, pairs, right], axis=3)
    return jnp.concatenate([four[:, y : y + height] for y in range(3)], axis=3)


# Pooling


@jax.custom_vjp
def _pool(
    image: Float[Array, "batch height width channels"],
) -> Float[Array, "batch height//2 width//2 channels"]:
    best = _largest(_threes(image, axis=1, outside=-jnp.inf))
    return _computed_once(_largest(_threes(best, axis=2, outside=-jnp.inf)))[0]


def _pool_forwards(
    image: Float[Array, "batch height width channels"],
) -> tuple[
    Float[Array, "batch height//2 width//2 channels"],
    Int8[Array, "batch height//2 width//2 channels"],
]:
    """The maxima, and for each its place in its window: 3 · row + column."""
    across = _threes(image, axis=2, outside=-jnp.inf)
    best = _largest(across)
    column = _first(across, best, (jnp.int8(0), jnp.int8(1), jnp.int8(2)))
    down = _threes(best, axis=1, outside=-jnp.inf)
    result = _largest(down)
    above, here, below = _threes(column, axis=1, outside=0)
    winner = _first(down, result, (above, here + jnp.int8(3), below + jnp.int8(6)))
    result, winner = _computed_once(result, winner)
    return result, winner


def _computed_once(*arrays: Shaped[Array, "batch height width channels"]) -> tuple[Array, ...]:
    """The same arrays, behind a loop that never runs.

    Otherwise XLA computes the maxima again, from the whole image, wherever they are used: up to 16
    times for each place in the gradient. On a CPU it heeds no `optimization_barrier`; into a loop
    it cannot look, as long as it does not know that nothing exceeds infinity.
    """
    never = arrays[0][0, 0, 0, 0] > jnp.inf

    def change(state: tuple[Array, ...]) -> tuple[Array, ...]:
        return jnp.bool_(False), *(array + jnp.ones((), array.dtype) for array in state[1:])

    return jax.lax.while_loop(lambda state: state[0], change, (never, *arrays))[1:]


def _pool_backwards(
    winner: Int8[Array, "batch height width channels"],
    gradient: Float[Array, "batch height width channels"],
) -> tuple[Float[Array, "batch 2*height 2*width channels"]]:
    """To each place, the gradients of the windows that it won."""
    batch, height, width, channels = gradient.shape
    rows_of_pairs = (batch, height, 1, width, 1, channels)
    total = jnp.zeros((batch, height, 2, width, 2, channels))
    for down in range(2):
        for right in range(2):
            edge = ((0, 0), (0, down), (0, right), (0, 0))
            winner_there = jnp.pad(winner, edge)[:, down:, right:].reshape(rows_of_pairs)
            gradient_there = jnp.pad(gradient, edge)[:, down:, right:].reshape(rows_of_pairs)
            place = 3 * PLACE_SEEN[down][:, None] + PLACE_SEEN[right]
            won = winner_there == jnp.asarray(place, jnp.int8).reshape(1, 1, 2, 1, 2, 1)
            total = total + jnp.where(won, gradient_there, 0.0)
    return (total.reshape(batch, 2 * height, 2 * width, channels),)


_pool.defvjp(_pool_forwards, _pool_backwards)

Threes = tuple[Array, Array, Array]


def _threes(
    image: Shaped[Array, "batch height width channels"], *, axis: int, outside: float | int
) -> Threes:
    """The places before, at and after every second place along an axis."""
    shape = (*image.shape[:axis], image.shape[axis] // 2, 2, *image.shape[axis + 1 :])
    image = image.reshape(shape)
    here, after = (jax.lax.index_in_dim(image, side, axis + 1, keepdims=False) for side in range(2))
    edge = [(0, 0)] * 4
    edge[axis] = (1, 0)
    before = jnp.pad(after, edge, constant_values=outside)
    return jax.lax.slice_in_dim(before, 0, after.shape[axis], axis=axis), here, after


def _largest(threes: Threes) -> Array:
    before, here, after = threes
    return jnp.maximum(jnp.maximum(before, here), after)


def _first(threes: Threes, best: Array, names: Threes) -> Array:
    """The name of the first of three that is the best."""
    before, here, _ = threes
    return jnp.where(before == best, names[0], jnp.where(here == best, names[1], names[2]))
