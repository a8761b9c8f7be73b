"""Everything that changes while an agent trains."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from dred.agents.network import new_network
from dred.agents.play import Rollout
from dred.agents.ppo import Learner, Losses, make_optimiser
from dred.config import TrainConfig
from dred.envs.gridworld import Gridworld


class TrainState(eqx.Module):
    """All of it, as one pytree. A run continues exactly from a saved one."""

    learner: Learner
    num_updates: Int[Array, ""]


class Metrics(eqx.Module):
    """What one update tells about itself."""

    episodes: Int[Array, ""]  # that ended during play
    solved_rate: Float[Array, ""]  # share of them that got a reward
    mean_return: Float[Array, ""]  # of them
    mean_steps: Float[Array, ""]  # between ends
    losses: Losses

    @staticmethod
    def of(rollout: Rollout[Any], losses: Losses) -> "Metrics":
        """The metrics of an update."""
        ended = rollout.ended
        episodes = ended.sum()
        shown = jnp.maximum(episodes, 1).astype(jnp.float32)
        return Metrics(
            episodes=episodes,
            solved_rate=(ended & (rollout.reward > 0)).sum() / shown,
            mean_return=rollout.reward.sum() / shown,
            mean_steps=ended.size / shown,
            losses=losses,
        )


class Setup(eqx.Module):
    """What does not change during a run: settings, environment and optimiser."""

    config: TrainConfig = eqx.field(static=True)
    environment: Gridworld = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)


def new_setup(config: TrainConfig) -> Setup:
    """The fixed parts of a run."""
    return Setup(config, Gridworld(), make_optimiser(config.ppo, config.num_updates))


def new_state(setup: Setup, *, key: PRNGKeyArray) -> TrainState:
    """The state with which a run begins."""
    network = new_network(
        setup.environment.num_actions, hidden_size=setup.config.ppo.hidden_size, key=key
    )
    learner = Learner(network, setup.optimiser.init(eqx.filter(network, eqx.is_array)))
    return TrainState(learner, jnp.zeros((), jnp.int32))


def run_key(seed: int) -> PRNGKeyArray:
    """The key of a run: seed 7 means the same alone and among others."""
    return jax.random.key(seed)


def key_of_update(key: PRNGKeyArray, num_updates: Int[Array, ""]) -> PRNGKeyArray:
    """The key for this update, whatever happened before it."""
    return jax.random.fold_in(key, num_updates)


def for_each_seed(
    function: Callable[..., Any],
    states: Any,  # noqa: ANN401  (any pytree with a leading axis)
    keys: Key[Array, " seed"],
) -> Any:  # noqa: ANN401  (what the function gives, with a leading axis)
    """Apply to every seed in one program. A single seed is not batched, which is faster."""
    if keys.shape[0] > 1:
        return jax.vmap(function)(states, keys)
    one = function(jax.tree.map(lambda leaf: leaf[0], states), keys[0])
    return jax.tree.map(lambda leaf: leaf[None], one)


def new_states(setup: Setup, seeds: Sequence[int]) -> TrainState:
    """The states with which runs of several seeds begin, with a leading axis."""
    states = [new_state(setup, key=run_key(seed)) for seed in seeds]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
