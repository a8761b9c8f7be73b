"""What an agent remembers from step to step: an LSTM, a GRU, or nothing.

A cell has parameters, an initial memory of zeros, a step, and an unrolled form over whole sequences
in which the memory is lost where an episode begins. To add one, write the class and name it here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dred.agents.encoders import Linear
from dred.agents.initialise import orthogonal
from dred.agents.lstm import LSTM, new_lstm


@runtime_checkable
@runtime_checkable
class Cell(Protocol):
    """A memory cell."""

    @property
    def size(self) -> int:
        """Return how many numbers a step gives."""
        ...

    @property
    def products(self) -> int:
        """Return the multiplications of a step."""
        ...

    def initial(self, num_envs: int) -> Any:  # noqa: ANN401  (a pytree, leaves [env, …])
        """Return the memory before the first step."""
        ...

    def step(self, memory: Any, inputs: Array) -> tuple[Any, Array]:  # noqa: ANN401
        """Return the memory after a step, and the output."""
        ...

    def unroll(self, inputs: Array, begins: Array, memory: Any = None) -> Array:  # noqa: ANN401
        """Return the outputs of all steps."""
        ...


class GRUMemory(NamedTuple):
    """What a batch of agents with a GRU remembers."""

    hidden: Float[Array, "env hidden"]


class GRU(eqx.Module):
    """A gated recurrent unit (Cho et al. 2014), the reset gate applied after the product.

    r, z = σ(x Wᵣ + h⁻ Uᵣ), σ(x W_z + h⁻ U_z)    n = tanh(x Wₙ + r (h⁻ Uₙ))    h = (1 − z) n + z h⁻
    """

    input_weight: Float[Array, "input gates"]
    recurrent_weight: Float[Array, "hidden gates"]
    bias: Float[Array, " gates"]

    @property
    def size(self) -> int:
        """Return the numbers in the hidden state."""
        return self.recurrent_weight.shape[0]

    @property
    def products(self) -> int:
        """Return one multiplication for each weight."""
        return self.input_weight.size + self.recurrent_weight.size

    def initial(self, num_envs: int) -> GRUMemory:
        """Return a memory of zeros."""
        return GRUMemory(jnp.zeros((num_envs, self.size)))

    def step(
        self, memory: GRUMemory, inputs: Float[Array, "env input"]
    ) -> tuple[GRUMemory, Float[Array, "env hidden"]]:
        """Return the memory after a step, which is also the output."""
        hidden = self._next(memory.hidden, inputs @ self.input_weight + self.bias[None])
        return GRUMemory(hidden), hidden

    def unroll(
        self,
        inputs: Float[Array, "time env input"],
        begins: Bool[Array, "time env"],
        memory: GRUMemory | None = None,
    ) -> Float[Array, "time env hidden"]:
        """Return the outputs of all steps; the inputs' share is one large product."""
        first = self.initial(inputs.shape[1]) if memory is None else memory
        keeps = jnp.where(begins, 0.0, 1.0)[..., None]
        shares = inputs @ self.input_weight + self.bias[None, None]

        def step(hidden: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            from_inputs, keep = now
            after = self._next(hidden * keep, from_inputs)
            return after, after

        return jax.lax.scan(step, first.hidden, (shares, keeps))[1]

    def _next(
        self, hidden: Float[Array, "env hidden"], from_inputs: Float[Array, "env gates"]
    ) -> Float[Array, "env hidden"]:
        resets, updates, news = jnp.split(from_inputs, 3, axis=-1)
        hidden_r, hidden_z, hidden_n = jnp.split(hidden @ self.recurrent_weight, 3, axis=-1)
        update = jax.nn.sigmoid(updates + hidden_z)
        new = jnp.tanh(news + jax.nn.sigmoid(resets + hidden_r) * hidden_n)
        return (1.0 - update) * new + update * hidden


class NoMemory(eqx.Module):
    """A cell for agents that act on what they see now: a layer with a ReLU."""

    weight: Float[Array, "input hidden"]
    bias: Float[Array, " hidden"]

    @property
    def size(self) -> int:
        """Return the numbers of the layer."""
        return self.bias.shape[0]

    @property
    def products(self) -> int:
        """Return one multiplication for each weight."""
        return self.weight.size

    def initial(self, num_envs: int) -> None:
        """Return nothing."""
        del num_envs

    def step(
        self, memory: None, inputs: Float[Array, "env input"]
    ) -> tuple[None, Float[Array, "env hidden"]]:
        """Return nothing, and the output."""
        del memory
        return None, self._output(inputs)

    def unroll(
        self,
        inputs: Float[Array, "time env input"],
        begins: Bool[Array, "time env"],
        memory: None = None,
    ) -> Float[Array, "time env hidden"]:
        """Return the outputs of all steps."""
        del begins, memory
        return self._output(inputs)

    def _output(self, inputs: Float[Array, "*batch input"]) -> Float[Array, "*batch hidden"]:
        return jax.nn.relu(Linear(self.weight, self.bias)(inputs))


def new_gru(input_size: int, hidden_size: int, *, key: PRNGKeyArray) -> GRU:
    """Return a GRU with orthogonal weights, over the three gates together, and no bias."""
    key_input, key_recurrent = jax.random.split(key)
    return GRU(
        input_weight=orthogonal(3 * hidden_size, input_size, key=key_input).T,
        recurrent_weight=orthogonal(3 * hidden_size, hidden_size, key=key_recurrent).T,
        bias=jnp.zeros(3 * hidden_size),
    )


def new_no_memory(input_size: int, hidden_size: int, *, key: PRNGKeyArray) -> NoMemory:
    """Return a layer with orthogonal weights and no bias."""
    weight = orthogonal(hidden_size, input_size, gain=2**0.5, key=key).T
    return NoMemory(weight, jnp.zeros(hidden_size))


MEMORIES: dict[str, Callable[..., LSTM | GRU | NoMemory]] = {
    "lstm": new_lstm,
    "gru": new_gru,
    "none": new_no_memory,
}


def forget(memory: Any, begins: Bool[Array, " env"]) -> Any:  # noqa: ANN401  (any memory)
    """Return the memory, with zeros where an episode begins."""
    keep = jnp.where(begins, 0.0, 1.0)
    return jax.tree.map(lambda leaf: leaf * keep.reshape(-1, *[1] * (leaf.ndim - 1)), memory)
