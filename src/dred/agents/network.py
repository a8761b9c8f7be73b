"""The agent's network: an encoder, a memory, and two heads.

    observation ─ encoder ─ memory ─┬─ linear 32 ─ tanh ─ linear        (policy)
                                    └─ linear 32 ─ tanh ─ linear 1      (value)

Where actions are numbers, the policy's head gives their means, and their spreads are learned beside
it, the same everywhere.

With the gridworld's convolution and an LSTM of 256, sizes and first weights are those of the
released code (432 929 parameters, with one bias for the LSTM). [fidelity 40] The paper speaks of
two hidden layers of 32 in each head; there is one.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from dred.agents.encoders import Encoder, Linear
from dred.agents.gaussian import FIRST_LOG_STD
from dred.agents.initialise import orthogonal
from dred.agents.memory import MEMORIES, Cell
from dred.agents.protocol import PolicyOutput
from dred.config import AgentConfig
from dred.errors import lookup


class ActorCritic(eqx.Module):
    """Policy and value from what the agent sees and remembers."""

    encoder: Encoder
    cell: Cell
    actor_hidden: Linear
    actor: Linear
    critic_hidden: Linear
    critic: Linear
    log_std: Float[Array, " action"] | None = None  # if actions are numbers

    @property
    def num_features(self) -> int:
        """Return how many numbers the memory gives."""
        return self.cell.size

    @property
    def products(self) -> int:
        """Return the multiplications of a step."""
        heads = (self.actor_hidden, self.actor, self.critic_hidden, self.critic)
        return self.encoder.products + self.cell.products + sum(head.weight.size for head in heads)

    def initial_memory(self, num_envs: int) -> Any:  # noqa: ANN401  (that of the cell)
        """Return what a batch of agents remembers before the first step."""
        return self.cell.initial(num_envs)

    def step(self, memory: Any, observation: Any) -> tuple[Any, PolicyOutput]:  # noqa: ANN401
        """Return the memory after one step of a batch of agents, and policy and value."""
        memory, features = self.perceive(memory, observation)
        return memory, self.heads(features)

    def perceive(
        self,
        memory: Any,  # noqa: ANN401
        observation: Any,  # noqa: ANN401
    ) -> tuple[Any, Float[Array, "env feature"]]:
        """Return the memory after one step of a batch of agents, and what it gives."""
        return self.cell.step(memory, self.encoder(observation))

    def representation(
        self,
        observations: Any,  # noqa: ANN401
        begins: Bool[Array, "time env"],
        memory: Any = None,  # noqa: ANN401
    ) -> Float[Array, "time env feature"]:
        """Return the outputs of the memory, at all steps of a batch of agents."""
        return self.cell.unroll(self.encoder(observations), begins, memory)

    def unroll(
        self,
        observations: Any,  # noqa: ANN401
        begins: Bool[Array, "time env"],
        memory: Any = None,  # noqa: ANN401
    ) -> PolicyOutput:
        """Return policy and value at all steps of a batch of agents."""
        return self.heads(self.representation(observations, begins, memory))

    def heads(self, features: Float[Array, "*batch feature"]) -> PolicyOutput:
        """Return policy and value from what the memory gives."""
        # Both hidden layers in one product, which is faster than two narrow ones.
        layers = (self.actor_hidden, self.critic_hidden)
        weight = jnp.concatenate([layer.weight for layer in layers], axis=-1)
        bias = jnp.concatenate([layer.bias for layer in layers])
        both = jnp.tanh(Linear(weight, bias)(features))
        for_actor, for_critic = jnp.split(both, 2, axis=-1)
        logits, value = self.actor(for_actor), self.critic(for_critic)[..., 0]
        if self.log_std is None:
            return PolicyOutput(logits, value)
        return PolicyOutput(logits, value, jnp.broadcast_to(self.log_std, logits.shape))


def keys_for_agent(key: PRNGKeyArray) -> tuple[Key[Array, " 3"], Key[Array, " 5"]]:
    """Return the keys for an encoder, and those for `new_agent`."""
    keys = jax.random.split(key, 8)
    return keys[:3], keys[3:]


def new_agent(
    config: AgentConfig,
    encoder: Encoder,
    num_actions: int,
    *,
    keys: Key[Array, " 5"],
    continuous: bool = False,
) -> ActorCritic:
    """Return an agent that has learned nothing, with this encoder.

    If actions are continuous, `num_actions` is how many numbers one has.
    """
    for_heads = iter(keys[1:])

    def head(size: int, outputs: int, gain: float) -> Linear:
        weight = orthogonal(outputs, size, gain=gain, key=next(for_heads)).T
        return Linear(weight, jnp.zeros(outputs))

    size = config.hidden_size
    return ActorCritic(
        encoder=encoder,
        cell=lookup(MEMORIES, config.memory, what="memory")(encoder.size, size, key=keys[0]),
        actor_hidden=head(size, config.head_size, 2**0.5),
        actor=head(config.head_size, num_actions, 0.01),
        critic_hidden=head(size, config.head_size, 2**0.5),
        critic=head(config.head_size, 1, 1.0),
        log_std=jnp.full(num_actions, FIRST_LOG_STD) if continuous else None,
    )
