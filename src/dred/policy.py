"""A trained agent that acts in any loop, of JAX or of Gymnasium.

memory = policy.initial_memory(36)                           # of 36 agents; without 36, of one
memory, actions = policy.act(memory, observations, key=key)  # without a key, the most probable
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Num, PRNGKeyArray

from dred.agents.choices import chosen, noise_for
from dred.agents.memory import forget
from dred.agents.protocol import Agent


class OneAgent(eqx.Module):
    """The memory of a single agent, whose observations and actions have no axis of agents."""

    memory: Any


class Policy(eqx.Module):
    """A trained agent; a pytree, so it can be handed to compiled functions."""

    agent: Agent
    """The network."""
    read: Callable[[Any], Any] | None = eqx.field(static=True, default=None)
    """Return an observation as the agent takes it, from one of a Gymnasium environment."""

    def initial_memory(self, num_agents: int | None = None) -> Any:  # noqa: ANN401  (a pytree)
        """Return what so many agents remember when an episode begins, or a single agent."""
        if num_agents is None:
            return OneAgent(self.agent.initial_memory(1))
        return self.agent.initial_memory(num_agents)

    def forget(self, memory: Any, ended: Bool[Array, " agent"]) -> Any:  # noqa: ANN401
        """Return the memory, as at the beginning for those agents whose episode has ended."""
        return forget(memory, jnp.asarray(ended))

    def act(
        self,
        memory: Any,  # noqa: ANN401
        observation: Any,  # noqa: ANN401  (leaves [agent, …])
        *,
        key: PRNGKeyArray | None = None,
    ) -> tuple[Any, Num[Array, "..."]]:
        """Return the memory after a step, and an action for each agent.

        Actions are drawn from the policy, or are the most probable ones if there is no key.
        """
        seen = observation if self.read is None else self.read(observation)
        if isinstance(memory, OneAgent):
            batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], seen)
            after, actions = _act(self.agent, memory.memory, batch, key)
            return OneAgent(after), actions[0]
        return _act(self.agent, memory, jax.tree.map(jnp.asarray, seen), key)


@eqx.filter_jit
def _act(
    agent: Agent,
    memory: Any,  # noqa: ANN401
    observation: Any,  # noqa: ANN401
    key: PRNGKeyArray | None,
) -> tuple[Any, Num[Array, "agent *numbers"]]:
    memory, output = agent.step(memory, observation)
    if output.log_std is not None:
        noise = jnp.zeros(()) if key is None else noise_for(output, key=key)
        return memory, chosen(output, jnp.broadcast_to(noise, output.logits.shape))
    if key is None:
        return memory, output.logits.argmax(axis=-1)
    return memory, jax.random.categorical(key, output.logits)
