"""The agent's network: policy and value from an image, without a memory.

    image 64×64×3 ─ stages ─ ReLU ─ linear 256 ─ ReLU = b ─┬─ linear 15
                                                           └─ linear 1
    stage:  convolution 3×3 ─ max-pool 3×3, halving ─ blocks
    block:  relu(x) + convolution(relu(convolution(relu(x))))

`ENCODERS` has the stages. `impala` is the residual network of IMPALA (Espeholt et al. 2018), with
sizes and first weights of the released code (626 256 parameters). [fidelity 80] So is the block:
the skip carries relu(x), where the textbook's carries x. `impala-small` has half the channels.
`patches` is a network for a CPU: it looks at squares of 4×4 pixels that do not overlap, each with
one product, and has one stage on what is left, 16×16 places.
"""

from dataclasses import dataclass
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray, UInt8

from dred.agents.encoders import Linear
from dred.agents.initialise import orthogonal, xavier_uniform
from dred.agents.protocol import PolicyOutput
from dred.errors import lookup
from dred.tasks.procgen.convolution import convolve, pool
from dred.tasks.procgen.levels import NUM_ACTIONS

SIDE, COLOURS = 64, 3
KERNEL = 3

Image = Float[Array, "batch height width channel"]
Other = Float[Array, "batch other_height other_width other_channel"]  # than the image's


@dataclass(frozen=True)
class ImageEncoder:
    """What a network does with an image before its layer that policy and value share."""

    channels: tuple[int, ...]
    """Channels of each stage."""
    num_blocks: int = 2
    """Blocks of each stage."""
    patch: int = 1
    """Side of the squares that become one place each; with more than 1, the first stage begins with
    a product for each place, instead of a convolution."""

    @property
    def flat_size(self) -> int:
        """Return how many numbers come out."""
        return (SIDE // self.patch // 2 ** len(self.channels)) ** 2 * self.channels[-1]


ENCODERS = {
    "impala": ImageEncoder((16, 32, 32)),
    "impala-small": ImageEncoder((8, 16, 16)),
    "patches": ImageEncoder((32,), num_blocks=1, patch=4),
}


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
    """More channels, half the size, blocks."""

    widen: Convolution | Linear
    blocks: tuple[Block, ...]

    def __call__(self, image: Image) -> Other:
        """Apply to each image."""
        small = pool(self.widen(image))
        for block in self.blocks:
            small = block(small)
        return small


class ImageAgent(eqx.Module):
    """Policy and value from an image."""

    stages: tuple[Stage, ...]
    shared: Linear
    actor: Linear
    critic: Linear
    patch: int = eqx.field(static=True, default=1)

    def features(self, image: UInt8[Array, "batch 64 64 3"]) -> Float[Array, "batch feature"]:
        """What policy and value share: b."""
        now = in_patches(image, self.patch).astype(jnp.float32) / 255.0
        for stage in self.stages:
            now = stage(now)
        flat = jax.nn.relu(now.reshape(now.shape[0], -1))
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


def in_patches(
    image: Num[Array, "batch height width channel"], side: int
) -> Num[Array, "batch height//{side} width//{side} channel*{side}**2"]:
    """Return images of which each place is a square of this side, row by row."""
    if side == 1:
        return image
    batch, height, width, channels = image.shape
    squares = image.reshape(batch, height // side, side, width // side, side, channels)
    flat = (batch, height // side, width // side, side * side * channels)
    return squares.swapaxes(2, 3).reshape(flat)


def new_image_agent(
    encoder: str = "impala", *, hidden_size: int = 256, key: PRNGKeyArray
) -> ImageAgent:
    """A network with first weights as the released code draws them."""
    shape = lookup(ENCODERS, encoder, what="encoder of Procgen")
    keys = iter(jax.random.split(key, 64))

    def convolution(inputs: int, outputs: int) -> Convolution:
        area = KERNEL * KERNEL
        size = (KERNEL, KERNEL, inputs, outputs)
        kernel = xavier_uniform(inputs * area, outputs * area, size, key=next(keys))
        return Convolution(kernel, jnp.zeros(outputs))

    def product(inputs: int, outputs: int) -> Linear:
        weight = xavier_uniform(inputs, outputs, (inputs, outputs), key=next(keys))
        return Linear(weight, jnp.zeros(outputs))

    def stage(inputs: int, outputs: int, *, is_first: bool) -> Stage:
        widen = product if is_first and shape.patch > 1 else convolution
        return Stage(widen(inputs, outputs), tuple(block(outputs) for _ in range(shape.num_blocks)))

    def block(channels: int) -> Block:
        return Block(convolution(channels, channels), convolution(channels, channels))

    def linear(inputs: int, outputs: int, gain: float) -> Linear:
        weight = orthogonal(outputs, inputs, gain=gain, key=next(keys)).T
        return Linear(weight, jnp.zeros(outputs))

    sizes = enumerate(pairwise((COLOURS * shape.patch**2, *shape.channels)))
    return ImageAgent(
        stages=tuple(stage(*pair, is_first=place == 0) for place, pair in sizes),
        shared=linear(shape.flat_size, hidden_size, 2**0.5),
        actor=linear(hidden_size, NUM_ACTIONS, 0.01),
        critic=linear(hidden_size, 1, 1.0),
        patch=shape.patch,
    )
