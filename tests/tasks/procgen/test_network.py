"""The network, against the released code's sizes and its own description."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import Linear
from dred.config import AgentConfig
from dred.errors import ConfigError
from dred.tasks.procgen.convolution import convolve_plainly, pool_plainly
from dred.tasks.procgen.network import (
    Block,
    Convolution,
    in_patches,
    new_image_agent,
)
from dred.tasks.procgen.task import new_procgen_agent


@pytest.fixture(scope="module")
def network():
    return new_image_agent(key=jax.random.key(0))


def images(count, seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(256, size=(count, 64, 64, 3)), "uint8")


@pytest.mark.parametrize(
    ("encoder", "size"),
    [
        ("impala", 626_256),  # as many as the released one
        # 3-8-8-8-8-8, 8-16 and four of 16, 16-16 and four of 16, 8·8·16-256, 256-16
        ("impala-small", 224 + 4 * 584 + 1168 + 4 * 2320 + 5 * 2320 + 262_400 + 4112),
        # 4·4·3-32, two of 32, 8·8·32-256, 256-16
        ("patches", 1568 + 2 * 9248 + 524_544 + 4112),
    ],
)
def test_networks_have_so_many_parameters(encoder, size):
    made = jax.eval_shape(lambda key: new_image_agent(encoder, key=key), jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(made)) == size


def test_the_agent_of_a_run_has_the_encoder_that_was_asked_for_and_impala_if_none_was():
    def stages(encoder):
        config = AgentConfig(memory="none", hidden_size=16, encoder=encoder)
        made = jax.eval_shape(lambda key: new_procgen_agent(config, key), jax.random.key(0))
        return [jax.tree.leaves(stage.widen)[0].shape for stage in made.stages]

    assert stages("") == stages("impala") == [(3, 3, 3, 16), (3, 3, 16, 32), (3, 3, 32, 32)]
    assert stages("patches") == [(48, 32)]
    with pytest.raises(ConfigError, match="Did you mean 'patches'"):
        stages("patchs")


def test_each_place_of_an_image_in_patches_is_one_square_of_it():
    image = images(2)
    squares = in_patches(image, 4)
    assert squares.shape == (2, 16, 16, 48)
    for row, column in [(0, 0), (3, 7), (15, 14)]:
        square = image[:, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        np.testing.assert_array_equal(squares[:, row, column], square.reshape(2, 48))
    np.testing.assert_array_equal(in_patches(image, 1), image)


def plainly(network, image):
    """Policy and value by JAX's own convolutions, whose gradients it finds by itself."""

    def convolved(layer, now):
        return convolve_plainly(now, layer.kernel) + layer.bias[None, None, None]

    now = image.astype(jnp.float32) / 255
    for stage in network.stages:
        if isinstance(stage.widen, Linear):
            kernel = stage.widen.weight.reshape(4, 4, 3, -1)
            now = jax.lax.conv_general_dilated(
                now, kernel, (4, 4), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            now = now + stage.widen.bias[None, None, None]
        else:
            now = convolved(stage.widen, now)
        now = pool_plainly(now)
        for block in stage.blocks:
            active = jax.nn.relu(now)
            now = active + convolved(block.second, jax.nn.relu(convolved(block.first, active)))
    flat = jax.nn.relu(now.reshape(now.shape[0], -1))
    return network.heads(jax.nn.relu(network.shared(flat)))


@pytest.mark.parametrize("encoder", ["patches"])
def test_outputs_and_gradients_are_those_of_plain_convolutions(encoder):
    made, batch = new_image_agent(encoder, hidden_size=8, key=jax.random.key(1)), images(3)

    def loss(function):
        def total(network):
            output = function(network, batch)
            return (output.logits**2).sum() + (output.value**2).sum() + output.value.sum()

        return jax.jit(jax.value_and_grad(total))

    ours = loss(lambda network, image: network.heads(network.features(image)))(made)
    theirs = loss(plainly)(made)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    for one, other in zip(jax.tree.leaves(ours[1]), jax.tree.leaves(theirs[1]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


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
