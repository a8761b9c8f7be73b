"""Agents for any environment: observations are plain numbers, side by side."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from dred.agents.encoders import new_flat_encoder
from dred.agents.network import ActorCritic, keys_for_agent, new_agent
from dred.config import AgentConfig
from dred.environment import Environment


class SimpleAgent:
    """Makes agents for an environment whose observations are numbers of about 1.

    `level` is any level, as a batch of one: it tells the shape of observations. If actions are
    `continuous`, each is as many numbers as the environment says it has actions.
    """

    def __init__(
        self,
        environment: Environment[Any, Any, Any, Any],
        level: Any,  # noqa: ANN401  (a batch of one level)
        *,
        continuous: bool = False,
    ) -> None:
        self.environment, self.level, self.continuous = environment, level, continuous

    def __call__(self, config: AgentConfig, key: PRNGKeyArray) -> ActorCritic:
        """Return an agent that has learned nothing."""
        for_encoder, rest = keys_for_agent(key)
        encoder = new_flat_encoder(self._example(), config.hidden_size, key=for_encoder[0])
        num_actions = self.environment.num_actions
        return new_agent(config, encoder, num_actions, keys=rest, continuous=self.continuous)

    def _example(self) -> Any:  # noqa: ANN401  (shapes of an observation)
        def first() -> Any:  # noqa: ANN401
            world = self.environment.prepare(jax.tree.map(jnp.asarray, self.level))
            state = self.environment.reset(world, jnp.int32(0), bits=jnp.uint32(0))
            return self.environment.observe(world, state)

        return jax.eval_shape(first)
