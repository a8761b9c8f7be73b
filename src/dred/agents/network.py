"""The agent's network: a small convolution, an LSTM, and two heads.

    view 5×5×3 ─ conv 3×3, 16 ─ ReLU ─┐
    heading, one of 4 ─ linear, 5 ────┴─ LSTM 256 ─┬─ linear 32 ─ tanh ─ linear 7   (policy)
                                                   └─ linear 32 ─ tanh ─ linear 1   (value)

Sizes and first weights are those of the released code (432 929 parameters, with one bias for the
LSTM). [fidelity 40] The paper speaks of two hidden layers of 32 in each head; there is one.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

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
        seen = jax.nn.relu(self.kernel(patches(view.image)))
        flat = seen.reshape(*seen.shape[:-3], FILTERS * PLACES**2)
        compass = self.heading(one_hot(view.direction, HEADINGS))
        return jnp.concatenate([flat, compass], axis=-1)

    def judge(self, hidden: Float[Array, "*batch hidden"]) -> Judgement:
        """Policy and value from the hidden state."""
        logits = self.actor(jnp.tanh(self.actor_hidden(hidden)))
        value = self.critic(jnp.tanh(self.critic_hidden(hidden)))[..., 0]
        return Judgement(logits, value)

    def step(self, memory: Memory, view: View) -> tuple[Memory, Judgement]:
        """One step of a batch of agents."""
        memory = self.lstm.step(memory, self.features(view))
        return memory, self.judge(memory.hidden)

    def over_time(self, views: View, begins: Bool[Array, "time env"]) -> Judgement:
        """All steps of a batch of agents, from empty memories; see `LSTM.over_time`."""
        return self.judge(self.lstm.over_time(self.features(views), begins))


def one_hot(index: Int[Array, "*batch"], size: int) -> Float[Array, "*batch size"]:
    """1 at the index, 0 elsewhere."""
    return jnp.where(index[..., None] == jnp.arange(size), 1.0, 0.0)


def patches(
    image: UInt8[Array, "*batch across ahead channel"],
) -> Float[Array, "*batch places places inputs"]:
    """The 3×3 neighbourhoods of a view, each flattened: a convolution is then one product.

    XLA's own convolution is several times slower here, above all its weight gradient.
    """
    scaled = image.astype(jnp.float32) / SCALE
    shifted = [
        scaled[..., i : i + PLACES, j : j + PLACES, :] for i in range(KERNEL) for j in range(KERNEL)
    ]
    return jnp.concatenate(shifted, axis=-1)


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
