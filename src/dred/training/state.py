"""Everything that changes while an agent trains."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from dred.agents.network import ActorCritic, new_network
from dred.agents.play import Rollout
from dred.agents.ppo import Learner, Losses, make_optimiser
from dred.config import TrainConfig
from dred.devices import mesh_of
from dred.errors import ConfigError
from dred.replay.buffer import Buffer, new_buffer
from dred.tasks.gridworld.environment import Gridworld
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.optimal import optimal_returns
from dred.tasks.gridworld.view import World


class Stored(eqx.Module):
    """Levels as the buffer holds them: to be read and edited, and laid out for playing."""

    level: Level
    world: World


class TrainState(eqx.Module):
    """All of it, as one pytree. A run continues exactly from a saved one."""

    learner: Learner[ActorCritic]
    buffer: Buffer
    num_updates: Int[Array, ""]
    eta_scale: Float[Array, ""]  # below 1 if the drift guard holds η back


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
    """What does not change during a run: settings, environment, optimiser and devices."""

    config: TrainConfig = eqx.field(static=True)
    environment: Gridworld = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)


def new_setup(config: TrainConfig) -> Setup:
    """The fixed parts of a run."""
    optimiser = make_optimiser(config.ppo, config.num_updates)
    return Setup(config, Gridworld(), optimiser, mesh_of(config.devices or 1))


def new_learner(setup: Setup, *, key: PRNGKeyArray) -> Learner[ActorCritic]:
    """A network that has learned nothing."""
    ppo = setup.config.ppo
    network = new_network(
        setup.environment.num_actions,
        hidden_size=ppo.hidden_size,
        encoder=ppo.encoder,
        key=key,
    )
    return Learner(network, setup.optimiser.init(eqx.filter(network, eqx.is_array)))


def optimal_returns_of(setup: Setup, stored: Stored) -> Float[Array, " level"]:
    """The highest return that each level allows."""
    return optimal_returns(stored.level, setup.environment.time_limit(stored.world))


def first_buffer(setup: Setup, dataset: Level) -> Buffer:
    """The buffer with which a run begins."""
    method, num_envs = setup.config.method, setup.config.ppo.num_envs
    stored = store(setup, dataset)
    optimal = optimal_returns_of(setup, stored)
    if method.begins_with == "nothing":
        stored, optimal = jax.tree.map(lambda leaf: leaf[:0], (stored, optimal))
    count = optimal.shape[0]
    capacity = method.capacity or count
    generates = method.new != "none" or method.after != "none"
    if capacity < count or (generates and capacity - count < num_envs):
        raise ConfigError(
            f"capacity (={capacity}) of {method.name!r} must have room for the {count} levels it "
            f"begins with and for {num_envs} more. Use fewer levels or a larger capacity."
        )
    buffer = new_buffer(stored, optimal, capacity)
    if method.warm_up:
        return buffer
    return eqx.tree_at(
        lambda b: (b.primary, b.is_scored), buffer, (jnp.ones(capacity), buffer.is_used)
    )


def store(setup: Setup, levels: Level) -> Stored:
    """Levels as the buffer holds them."""
    as_arrays = Level(*(jnp.asarray(part) for part in levels))
    return Stored(as_arrays, setup.environment.prepare(levels))


def new_state(setup: Setup, dataset: Level, *, key: PRNGKeyArray) -> TrainState:
    """The state with which a run begins."""
    learner = new_learner(setup, key=jax.random.fold_in(key, FIRST_WEIGHTS))
    buffer = first_buffer(setup, dataset)
    state = TrainState(learner, buffer, jnp.zeros((), jnp.int32), jnp.ones(()))
    return jax.tree.map(jnp.copy, state)  # no array twice, so that all can be given away


FIRST_WEIGHTS = 2**31 - 2  # a number that no update has


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


def new_states(setup: Setup, dataset: Level, seeds: Sequence[int]) -> TrainState:
    """The states with which runs of several seeds begin, with a leading axis."""
    return stacked([new_state(setup, dataset, key=run_key(seed)) for seed in seeds])


def stacked(trees: Sequence[Any]) -> Any:  # noqa: ANN401  (any pytrees of one structure)
    """Several pytrees as one with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
