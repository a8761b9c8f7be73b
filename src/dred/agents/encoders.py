"""Encoders: what the agent's memory gets to see of an observation."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from dred.agents.initialise import orthogonal


@runtime_checkable
class Encoder(Protocol):
    """A function from observations, with any leading axes, to vectors."""

    @property
    def size(self) -> int:
        """Return how many numbers a vector has."""
        ...

    @property
    def products(self) -> int:
        """Return the multiplications for one observation."""
        ...

    def __call__(self, observation: Any, /) -> Float[Array, "*batch input"]:  # noqa: ANN401
        """Encode a batch of observations."""
        ...


def widened(values: Float[Array, " size"], like: Float[Array, "*batch size"]) -> Array:
    """Return values for the last axis of an array, with as many axes as it has."""
    return jnp.expand_dims(values, range(like.ndim - 1))


class Linear(eqx.Module):
    """x W + b."""

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"]

    def __call__(self, inputs: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """Apply to the last axis."""
        product = inputs @ self.weight
        return product + widened(self.bias, product)


class FlatEncoder(eqx.Module):
    """One layer over all numbers of an observation, whatever its pytree, side by side."""

    layer: Linear
    ranks: tuple[int, ...] = eqx.field(static=True)  # axes of each leaf of one observation

    @property
    def size(self) -> int:
        """Return the numbers of the layer."""
        return self.layer.bias.shape[0]

    @property
    def products(self) -> int:
        """Return one multiplication for each weight."""
        return self.layer.weight.size

    def __call__(self, observation: Any) -> Float[Array, "*batch input"]:  # noqa: ANN401
        """Encode a batch of observations."""
        leaves = [
            leaf.astype(jnp.float32).reshape(*leaf.shape[: leaf.ndim - rank], -1)
            for leaf, rank in zip(jax.tree.leaves(observation), self.ranks, strict=True)
        ]
        return jax.nn.relu(self.layer(jnp.concatenate(leaves, axis=-1)))


def new_flat_encoder(example: Any, size: int, *, key: PRNGKeyArray) -> FlatEncoder:  # noqa: ANN401
    """Return an encoder for observations like this one, with orthogonal weights and no bias.

    The leaves of the example may be arrays or just tell shapes, as those of `jax.eval_shape`.
    """
    leaves = jax.tree.leaves(example)
    inputs = sum(leaf.size for leaf in leaves)
    weight = orthogonal(size, inputs, gain=2**0.5, key=key).T
    return FlatEncoder(Linear(weight, jnp.zeros(size)), tuple(leaf.ndim for leaf in leaves))
