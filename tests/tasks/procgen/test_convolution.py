import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dred.tasks.procgen.convolution import convolve, convolve_plainly, pool, pool_plainly

HALF_SIZES = st.integers(1, 8)
# Each shape is two programs to compile, so that a few must do.
few = settings(max_examples=6)


def numbers(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def whole_numbers(seed, *shape):
    """Few different ones, so that many are equal."""
    return np.random.default_rng(seed).integers(-2, 3, size=shape).astype(np.float32)


def result_and_gradients(function, arguments, weights):
    """The gradients are those of the weighted sum of the result."""

    def all_of_it(*arguments):
        result, backwards = jax.vjp(function, *arguments)
        return result, *backwards(jnp.asarray(weights))

    return jax.jit(all_of_it)(*arguments)


def assert_same(ours, plain, arguments, weights, tolerance):
    mine, other = (result_and_gradients(how, arguments, weights) for how in (ours, plain))
    for left, right in zip(mine, other, strict=True):
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=3 * tolerance)


def convolved_slowly(image, kernel):
    batch, height, width, _ = image.shape
    result = np.zeros((batch, height, width, kernel.shape[3]))
    for n, y, x in np.ndindex(batch, height, width):
        for dy, dx in np.ndindex(3, 3):
            row, column = y + dy - 1, x + dx - 1
            if 0 <= row < height and 0 <= column < width:
                result[n, y, x] += image[n, row, column] @ kernel[dy, dx]
    return result


def winners(image):
    """Of each window: its index in the result, and the index of its first maximum in the image."""
    batch, height, width, channels = image.shape
    for n, i, j, c in np.ndindex(batch, height // 2, width // 2, channels):
        places = [
            (n, y, x, c)
            for y in (2 * i - 1, 2 * i, 2 * i + 1)
            for x in (2 * j - 1, 2 * j, 2 * j + 1)
            if y >= 0 and x >= 0
        ]
        yield (n, i, j, c), max(places, key=lambda place: image[place])


@pytest.mark.parametrize("inputs", [3, 6])
def test_a_convolution_equals_a_plain_loop(inputs):
    image, kernel = numbers(0, 2, 4, 6, inputs), numbers(1, 3, 3, inputs, 5)
    slow = convolved_slowly(image, kernel)
    np.testing.assert_allclose(jax.jit(convolve)(image, kernel), slow, atol=1e-5)


@pytest.mark.parametrize("inputs", [3, 6])
def test_gradients_of_a_convolution_equal_finite_differences(inputs):
    arguments = numbers(0, 2, 4, 6, inputs), numbers(1, 3, 3, inputs, 5)
    weights = numbers(2, 2, 4, 6, 5)
    exact = [argument.astype(np.float64) for argument in arguments]
    _, *slopes = result_and_gradients(convolve, arguments, weights)
    for number, gradient in enumerate(slopes):
        for index in list(np.ndindex(gradient.shape))[::7]:
            step = np.zeros(gradient.shape)
            step[index] = 0.5  # linear in each argument, so no step is too long
            sides = [
                convolved_slowly(
                    *(a + sign * step if n == number else a for n, a in enumerate(exact))
                )
                for sign in (1, -1)
            ]
            slope = ((sides[0] - sides[1]) * weights).sum()
            assert float(gradient[index]) == pytest.approx(slope, abs=1e-4)


@few
@given(
    batch=st.integers(1, 4),
    height=HALF_SIZES,
    width=HALF_SIZES,
    inputs=st.integers(1, 33),
    outputs=st.integers(1, 33),
    odd=st.integers(0, 1),
)
def test_a_convolution_and_its_gradients_equal_those_of_plain_jax(
    batch, height, width, inputs, outputs, odd
):
    shape = (batch, 2 * height, 2 * width - odd)
    arguments = numbers(0, *shape, inputs), numbers(1, 3, 3, inputs, outputs)
    weights = numbers(2, *shape, outputs)
    assert_same(convolve, convolve_plainly, arguments, weights, 1e-4)


@few
@given(batch=st.integers(1, 4), height=HALF_SIZES, width=HALF_SIZES, inputs=st.integers(1, 4))
def test_few_inputs_change_nothing_but_the_speed(batch, height, width, inputs):
    shape = (batch, 2 * height, 2 * width)
    arguments = numbers(0, *shape, inputs), numbers(1, 3, 3, inputs, 16)
    assert_same(convolve, convolve_plainly, arguments, numbers(2, *shape, 16), 1e-4)


def test_an_image_that_needs_no_gradient_costs_none():
    """As in the first layer: what is left of the convolution's passes are its matrix products."""
    image, kernel = jnp.ones((2, 4, 6, 3)), jnp.ones((3, 3, 3, 5))
    program = jax.jit(jax.grad(lambda kernel: jnp.sum(convolve(image, kernel))))
    assert " convolution(" not in program.lower(kernel).compile().as_text()


def test_pooling_equals_a_plain_loop():
    image = whole_numbers(0, 2, 6, 8, 3)
    result = np.asarray(jax.jit(pool)(image))
    assert result.shape == (2, 3, 4, 3)
    for window, place in winners(image):
        assert result[window] == image[place]


def test_the_pooled_gradient_goes_to_the_first_of_equal_maxima():
    image = whole_numbers(0, 2, 6, 8, 3)
    weights = numbers(1, 2, 3, 4, 3)
    expected = np.zeros(image.shape)
    for window, place in winners(image):
        expected[place] += weights[window]
    _, gradient = result_and_gradients(pool, (image,), weights)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_of_nine_equal_places_the_first_inside_the_image_wins():
    equal, ones = np.ones((1, 4, 4, 1), np.float32), np.ones((1, 2, 2, 1), np.float32)
    _, gradient = result_and_gradients(pool, (equal,), ones)
    np.testing.assert_array_equal(
        gradient[0, :, :, 0], [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    )


@few
@given(
    batch=st.integers(1, 4),
    height=HALF_SIZES,
    width=HALF_SIZES,
    channels=st.integers(1, 33),
    make=st.sampled_from([numbers, whole_numbers]),
)
def test_pooling_and_its_gradient_equal_those_of_plain_jax(batch, height, width, channels, make):
    image = make(0, batch, 2 * height, 2 * width, channels)
    weights = numbers(1, batch, height, width, channels)
    assert_same(pool, pool_plainly, (image,), weights, 1e-6)


def test_pooling_is_the_same_with_and_without_a_gradient():
    image = whole_numbers(0, 2, 6, 8, 3)
    with_gradient, _ = result_and_gradients(pool, (image,), numbers(1, 2, 3, 4, 3))
    np.testing.assert_array_equal(jax.jit(pool)(image), with_gradient)


def test_elsewhere_the_plain_operations_are_used(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    # Of sizes that nothing else has, as what was traced for this machine is remembered.
    image, kernel = jnp.ones((2, 14, 22, 7)), jnp.ones((3, 3, 7, 11))
    for ours, plain, arguments in (
        (convolve, convolve_plainly, (image, kernel)),
        (pool, pool_plainly, (image,)),
    ):
        assert str(jax.make_jaxpr(ours)(*arguments)) == str(jax.make_jaxpr(plain)(*arguments))
