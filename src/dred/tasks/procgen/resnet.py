"""The agent's network: the residual network of IMPALA (Espeholt et al. 2018), without a memory.

    image 64×64×3 ─ stage 16 ─ stage 32 ─ stage 32 ─ ReLU ─ linear 256 ─ ReLU = b ─┬─ linear 15
                                                                                   └─ linear 1
    stage:  convolution 3×3 ─ max-pool 3×3, halving ─ block ─ block
    block:  relu(x) + convolution(relu(convolution(relu(x))))

Sizes and first weights are those of the released code (626 256 parameters). [fidelity 80] So is
the block: the skip carries relu(x), where the textbook's carries x.
"""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8

from dred.agents.encoders import Linear
from dred.agents.initialise import orthogonal, xavier_uniform
from dred.agents.protocol import PolicyOutput
from dred.tasks.procgen.convolution import convolve, pool
from dred.tasks.procgen.levels import NUM_ACTIONS

SIDE, COLOURS, CHANNELS = 64, 3, (16, 32, 32)
KERNEL = 3
FLAT_SIZE = (SIDE // 2 ** len(CHANNELS)) ** 2 * CHANNELS[-1]

Image = Float[Array, "batch height width channel"]
Other = Float[Array, "batch other_height other_width other_channel"]  # than the image's


class Convolution(eqx.Module):
    """3×3, keeping the size."""

    kernel: Float[Array, "3 3 input output"]
    bias: Float[Array, " output"]

    def __call__(self, image: Image) -> Other:
        """Apply to each image."""
        return convolve(image, self.kernel) + self.bias[None, None, None]


class Block(eqx.Module):
    """Two convolutions whose result is added to their input."""

    first: Convolution
    second: Convolution

    def __call__(self, image: Image) -> Image:
        """Apply to each image."""
        active = jax.nn.relu(image)
        return active + self.second(jax.nn.relu(self.first(active)))


class Stage(eqx.Module):
    """A convolution, half the size, two blocks."""

    widen: Convolution
    blocks: tuple[Block, Block]

    def __call__(self, image: Image) -> Other:
        """Apply to each image."""
        small = pool(self.widen(image))
        for block in self.blocks:
            small = block(small)
        return small


class ResNet(eqx.Module):
    """Policy and value from an image."""

    stages: tuple[Stage, ...]
    shared: Linear
    actor: Linear
    critic: Linear

    def features(self, image: UInt8[Array, "batch 64 64 3"]) -> Float[Array, "batch feature"]:
        """What policy and value share: b."""
        now = image.astype(jnp.float32) / 255.0
        for stage in self.stages:
            now = stage(now)
        flat = jax.nn.relu(now.reshape(now.shape[0], FLAT_SIZE))
        return jax.nn.relu(self.shared(flat))

    def heads(self, features: Float[Array, "*batch feature"]) -> PolicyOutput:
        """Policy and value from the features."""
        return PolicyOutput(self.actor(features), self.critic(features)[..., 0])

    @property
    def num_features(self) -> int:
        """Return how many numbers policy and value share."""
        return self.shared.bias.shape[0]

    @property
    def products(self) -> int:
        """Return the multiplications of its linear layers for an image."""
        return sum(layer.weight.size for layer in (self.shared, self.actor, self.critic))

    def initial_memory(self, num_envs: int) -> None:
        """Return nothing: it acts on what it sees now."""
        del num_envs

    def perceive(
        self, memory: None, observation: UInt8[Array, "env 64 64 3"]
    ) -> tuple[None, Float[Array, "env feature"]]:
        """Return what policy and value share, for an image of each agent."""
        del memory
        return None, self.features(observation)

    def step(
        self, memory: None, observation: UInt8[Array, "env 64 64 3"]
    ) -> tuple[None, PolicyOutput]:
        """Return policy and value for an image of each agent."""
        del memory
        return None, self.heads(self.features(observation))

    def representation(
        self,
        observations: UInt8[Array, "time env 64 64 3"],
        begins: Bool[Array, "time env"],
        memory: None = None,
    ) -> Float[Array, "time env feature"]:
        """Return the features of all images; where episodes begin does not matter."""
        del memory
        features = self.features(observations.reshape(-1, *observations.shape[2:]))
        return features.reshape(*begins.shape, -1)

    def unroll(
        self,
        observations: UInt8[Array, "time env 64 64 3"],
        begins: Bool[Array, "time env"],
        memory: None = None,
    ) -> PolicyOutput:
        """Return policy and value at all steps of a batch of agents."""
        return self.heads(self.representation(observations, begins, memory))


def new_resnet(*, hidden_size: int = 256, key: PRNGKeyArray) -> ResNet:
    """A network with the first weights of the released code."""
    keys = iter(jax.random.split(key, 64))

    def convolution(inputs: int, outputs: int) -> Convolution:
        area = KERNEL * KERNEL
        shape = (KERNEL, KERNEL, inputs, outputs)
        kernel = xavier_uniform(inputs * area, outputs * area, shape, key=next(keys))
        return Convolution(kernel, jnp.zeros(outputs))

    def block(channels: int) -> Block:
        return Block(convolution(channels, channels), convolution(channels, channels))

    def stage(inputs: int, outputs: int) -> Stage:
        return Stage(convolution(inputs, outputs), (block(outputs), block(outputs)))

    def linear(inputs: int, outputs: int, gain: float) -> Linear:
        weight = orthogonal(outputs, inputs, gain=gain, key=next(keys)).T
        return Linear(weight, jnp.zeros(outputs))

    return ResNet(
        stages=tuple(stage(*pair) for pair in pairwise((COLOURS, *CHANNELS))),
        shared=linear(FLAT_SIZE, hidden_size, 2**0.5),
        actor=linear(hidden_size, NUM_ACTIONS, 0.01),
        critic=linear(hidden_size, 1, 1.0),
    )
