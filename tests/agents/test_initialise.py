"""First weights are JAX's own, and those of earlier versions bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.initialise import orthogonal, xavier_uniform
from dred.tasks.gridworld.encoders import new_convolution


def slow_orthogonal(rows, columns, gain, key):
    """The orthogonal part of a Gaussian matrix, with signs that make it uniform."""
    q, r = jnp.linalg.qr(jax.random.normal(key, (max(rows, columns), min(rows, columns))))
    q = q * jnp.sign(jnp.diagonal(r))[None, :]
    return gain * (q if rows >= columns else q.T)


@pytest.mark.parametrize("shape", [(64, 129), (129, 64), (13, 13), (1, 32)])
@pytest.mark.parametrize("gain", [1.0, 2**0.5, 0.01])
def test_orthogonal_weights_are_bit_for_bit_those_of_earlier_versions(shape, gain):
    for seed in range(3):
        key = jax.random.key(seed)
        np.testing.assert_array_equal(
            orthogonal(*shape, gain=gain, key=key), slow_orthogonal(*shape, gain, key)
        )


def test_the_kernel_of_the_convolution_is_bit_for_bit_that_of_earlier_versions():
    keys = jax.random.split(jax.random.key(5), 3)
    expected = xavier_uniform(27, 144, (27, 16), key=keys[0])
    np.testing.assert_array_equal(new_convolution(keys).kernel.weight, expected)
