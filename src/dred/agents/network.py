"""The agent's network: a small convolution, an LSTM, and two heads.

    view 5×5×3 ─ conv 3×3, 16 ─ ReLU ─┐
    heading, one of 4 ─ linear, 5 ────┴─ LSTM 256 ─┬─ linear 32 ─ tanh ─ linear 7   (policy)
                                                   └─ linear 32 ─ tanh ─ linear 1   (value)

Sizes and first weights are those of the released code (432 929 parameters, with one bias for the
LSTM). [fidelity 40] The paper speaks of two hidden layers of 32 in each head; there is one.
"""

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.initialise import orthogonal, xavier_uniform
from dred.agents.lstm import LSTM, Memory, new_lstm
from dred.envs.view import VIEW, View

KERNEL, CHANNELS, FILTERS = 3, 3, 16
PLACES = VIEW - KERNEL + 1  # where the kernel fits along a side
HEADINGS, HEADING_SIZE = 4, 5
SCALE = 10.0  # Minigrid's numbers are divided by this
INPUT_SIZE = FILTERS * PLACES**2 + HEADING_SIZE
HEAD_SIZE = 32


class Linear(eqx.Module):
    """x W + b."""

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"]

    def __call__(self, inputs: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """Apply to the last axis."""
        return inputs @ self.weight + self.bias


class Judgement(NamedTuple):
    """What the network makes of a view and its memory."""

    logits: Float[Array, "*batch action"]  # of the policy
    value: Float[Array, "*batch"]  # what the critic expects from here on


class ActorCritic(eqx.Module):
    """Policy and value from what the agent sees and remembers."""

    kernel: Linear  # 27 → 16, the same at each of 3×3 places
    heading: Linear
    lstm: LSTM
    actor_hidden: Linear
    actor: Linear
    critic_hidden: Linear
    critic: Linear

    def features(self, view: View) -> Float[Array, "*batch input"]:
        """What the LSTM gets to see."""
        flat = view.image.reshape(-1, VIEW * VIEW * CHANNELS).astype(jnp.float32) / SCALE
        bias = jnp.tile(self.kernel.bias, PLACES**2)
        seen = jax.nn.relu(flat @ at_each_place(self.kernel.weight) + bias)
        compass = self.heading(one_hot(view.direction.reshape(-1), HEADINGS))
        both = jnp.concatenate([seen, compass], axis=-1)
        return both.reshape(*view.direction.shape, INPUT_SIZE)

    def judge(self, hidden: Float[Array, "*batch hidden"]) -> Judgement:
        """Policy and value from the hidden state."""
        # Both hidden layers in one product, which is faster than two narrow ones.
        layers = (self.actor_hidden, self.critic_hidden)
        weight = jnp.concatenate([layer.weight for layer in layers], axis=-1)
        bias = jnp.concatenate([layer.bias for layer in layers])
        both = jnp.tanh(hidden @ weight + bias)
        for_actor, for_critic = jnp.split(both, 2, axis=-1)
        return Judgement(self.actor(for_actor), self.critic(for_critic)[..., 0])

    def step(self, memory: Memory, view: View) -> tuple[Memory, Judgement]:
        """One step of a batch of agents."""
        memory = self.lstm.step(memory, self.features(view))
        return memory, self.judge(memory.hidden)

    def over_time(
        self, views: View, begins: Bool[Array, "time env"], memory: Memory | None = None
    ) -> Judgement:
        """All steps of a batch of agents, from their first memories; see `LSTM.over_time`."""
        return self.judge(self.lstm.over_time(self.features(views), begins, memory))


def one_hot(index: Int[Array, "*batch"], size: int) -> Float[Array, "*batch size"]:
    """1 at the index, 0 elsewhere."""
    return jnp.where(index[..., None] == jnp.arange(size), 1.0, 0.0)


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


def new_network(num_actions: int, *, hidden_size: int = 256, key: PRNGKeyArray) -> ActorCritic:
    """A network with the first weights of the released code."""
    keys = iter(jax.random.split(key, 8))
    inputs = KERNEL * KERNEL * CHANNELS

    def head(size: int, outputs: int, gain: float) -> Linear:
        weight = orthogonal(outputs, size, gain=gain, key=next(keys)).T
        return Linear(weight, jnp.zeros(outputs))

    kernel = xavier_uniform(inputs, FILTERS * KERNEL**2, (inputs, FILTERS), key=next(keys))
    heading_weight = jax.random.uniform(
        next(keys), (HEADINGS, HEADING_SIZE), minval=-0.5, maxval=0.5
    )
    heading_bias = jax.random.uniform(next(keys), (HEADING_SIZE,), minval=-0.5, maxval=0.5)
    return ActorCritic(
        kernel=Linear(kernel, jnp.zeros(FILTERS)),
        heading=Linear(heading_weight, heading_bias),
        lstm=new_lstm(INPUT_SIZE, hidden_size, key=next(keys)),
        actor_hidden=head(hidden_size, HEAD_SIZE, 2**0.5),
        actor=head(HEAD_SIZE, num_actions, 0.01),
        critic_hidden=head(hidden_size, HEAD_SIZE, 2**0.5),
        critic=head(HEAD_SIZE, 1, 1.0),
    )
