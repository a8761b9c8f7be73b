"""The agent's network: an encoder, an LSTM, and two heads.

    view 5×5×3 ─ conv 3×3, 16 ─ ReLU ─┐
    heading, one of 4 ─ linear, 5 ────┴─ LSTM 256 ─┬─ linear 32 ─ tanh ─ linear 7   (policy)
                                                   └─ linear 32 ─ tanh ─ linear 1   (value)

Sizes and first weights are those of the released code (432 929 parameters, with one bias for the
LSTM), unless another encoder or size is asked for. [fidelity 40] The paper speaks of two hidden
layers of 32 in each head; there is one.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dred.agents.encoders import ENCODERS, Convolution, Linear, Tiles
from dred.agents.initialise import orthogonal
from dred.agents.lstm import LSTM, Memory, new_lstm
from dred.tasks.gridworld.view import View

HEAD_SIZE = 32


class Judgement(NamedTuple):
    """What the network makes of a view and its memory."""

    logits: Float[Array, "*batch action"]  # of the policy
    value: Float[Array, "*batch"]  # what the critic expects from here on


class ActorCritic(eqx.Module):
    """Policy and value from what the agent sees and remembers."""

    encoder: Convolution | Tiles
    lstm: LSTM
    actor_hidden: Linear
    actor: Linear
    critic_hidden: Linear
    critic: Linear

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
        memory = self.lstm.step(memory, self.encoder(view))
        return memory, self.judge(memory.hidden)

    def over_time(
        self, views: View, begins: Bool[Array, "time env"], memory: Memory | None = None
    ) -> Judgement:
        """All steps of a batch of agents, from their first memories; see `LSTM.over_time`."""
        return self.judge(self.lstm.over_time(self.encoder(views), begins, memory))


def new_network(
    num_actions: int,
    *,
    hidden_size: int = 256,
    encoder: str = "convolution",
    key: PRNGKeyArray,
) -> ActorCritic:
    """A network with the first weights of the released code."""
    keys = jax.random.split(key, 8)
    for_heads = iter(keys[4:])

    def head(size: int, outputs: int, gain: float) -> Linear:
        weight = orthogonal(outputs, size, gain=gain, key=next(for_heads)).T
        return Linear(weight, jnp.zeros(outputs))

    encodes = ENCODERS[encoder](keys[:3])
    return ActorCritic(
        encoder=encodes,
        lstm=new_lstm(encodes.size, hidden_size, key=keys[3]),
        actor_hidden=head(hidden_size, HEAD_SIZE, 2**0.5),
        actor=head(HEAD_SIZE, num_actions, 0.01),
        critic_hidden=head(hidden_size, HEAD_SIZE, 2**0.5),
        critic=head(HEAD_SIZE, 1, 1.0),
    )
