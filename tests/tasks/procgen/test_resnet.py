"""The network, against the released code's sizes and its own description."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.tasks.procgen.resnet import Block, Convolution, new_resnet


@pytest.fixture(scope="module")
def network():
    return new_resnet(key=jax.random.key(0))


def images(count, seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(256, size=(count, 64, 64, 3)), "uint8")


def test_it_has_as_many_parameters_as_the_released_one(network):
    assert sum(leaf.size for leaf in jax.tree.leaves(network)) == 626_256


def test_the_skip_of_a_block_carries_what_is_positive_only():
    nothing = Convolution(jnp.zeros((3, 3, 2, 2)), jnp.zeros(2))
    image = jnp.asarray(np.random.default_rng(0).normal(size=(1, 4, 4, 2)), jnp.float32)
    assert (image < 0).any()
    out = Block(nothing, nothing)(image)
    np.testing.assert_array_equal(out, np.maximum(image, 0))


def slow_convolution(image, convolution):
    height, width = image.shape[1:3]
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    kernel = np.asarray(convolution.kernel)
    total = sum(
        padded[:, i : i + height, j : j + width] @ kernel[i, j] for i in range(3) for j in range(3)
    )
    return total + np.asarray(convolution.bias)


def slow_pool(image):
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    return np.array(
        [
            [
                padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max(axis=(1, 2))
                for j in range(image.shape[2] // 2)
            ]
            for i in range(image.shape[1] // 2)
        ]
    ).transpose(2, 0, 1, 3)


def test_policy_and_value_are_those_of_a_slow_oracle(network):
    def relu(x):
        return np.maximum(x, 0)

    batch = images(2)
    now = np.asarray(batch, np.float64) / 255
    for stage in network.stages:
        now = slow_pool(slow_convolution(now, stage.widen))
        for block in stage.blocks:
            active = relu(now)
            inner = relu(slow_convolution(active, block.first))
            now = active + slow_convolution(inner, block.second)
    shared = network.shared
    b = relu(relu(now.reshape(2, -1)) @ np.asarray(shared.weight) + np.asarray(shared.bias))
    features = network.features(batch)
    np.testing.assert_allclose(features, b, atol=2e-4)
    output = network.heads(features)
    np.testing.assert_allclose(output.logits, b @ np.asarray(network.actor.weight), atol=1e-4)
    np.testing.assert_allclose(
        output.value, (b @ np.asarray(network.critic.weight))[:, 0], atol=1e-3
    )


def test_steps_are_judged_alike_alone_and_in_a_rollout(network):
    batch = images(6)
    alone = network.heads(network.features(batch))
    begins = jnp.zeros((3, 2), jnp.bool_)
    together = network.unroll(batch.reshape(3, 2, 64, 64, 3), begins)
    np.testing.assert_allclose(together.logits.reshape(6, 15), alone.logits, atol=1e-5)
    np.testing.assert_allclose(together.value.reshape(6), alone.value, atol=1e-5)


def test_the_first_policy_is_nearly_uniform_and_the_bias_zero(network):
    output = network.heads(network.features(images(4)))
    assert np.abs(np.asarray(jax.nn.softmax(output.logits)) - 1 / 15).max() < 0.01
    assert not network.shared.bias.any() and not network.actor.bias.any()
