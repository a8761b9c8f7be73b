"""Everything that changes while an agent trains."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from dred.agents.ppo import Learner, Losses, make_optimiser
from dred.agents.protocol import Agent
from dred.agents.rollout import Rollout
from dred.config import TrainConfig
from dred.devices import mesh_of
from dred.environment import Environment
from dred.errors import ConfigError, lookup
from dred.generation import NONE, generators_of, settings_of
from dred.replay.buffer import Buffer, new_buffer
from dred.replay.scores import SCORES, scores_of
from dred.task import Levels, Task


class Stored(eqx.Module):
    """Levels as the buffer holds them: to be read and edited, and laid out for playing."""

    level: Levels
    world: Any


class TrainState(eqx.Module):
    """All of it, as one pytree. A run continues exactly from a saved one."""

    learner: Learner[Agent]
    buffer: Buffer
    num_updates: Int[Array, ""]
    eta_scale: Float[Array, ""]  # below 1 if the drift guard holds η back


class Metrics(eqx.Module):
    """What one update tells about itself."""

    episodes: Int[Array, ""]  # that ended during play
    solved_rate: Float[Array, ""]  # share of them that were solved
    mean_return: Float[Array, ""]  # of them
    mean_steps: Float[Array, ""]  # between ends
    losses: Losses

    @staticmethod
    def of(rollout: Rollout[Any], losses: Losses, is_solved: Callable[[Array], Array]) -> "Metrics":
        """Return the metrics of an update."""
        ended = rollout.ended
        episodes = ended.sum()
        solved = ended & is_solved(returns_so_far(rollout))
        shown = jnp.maximum(episodes, 1).astype(jnp.float32)
        return Metrics(
            episodes=episodes,
            solved_rate=solved.sum() / shown,
            mean_return=rollout.reward.sum() / shown,
            mean_steps=ended.size / shown,
            losses=losses,
        )


def returns_so_far(rollout: Rollout[Any]) -> Float[Array, "time env"]:
    """Return the sum of rewards of each step's episode, up to and with that step."""

    def step(total: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, begins = now
        total = jnp.where(begins, 0.0, total) + reward
        return total, total

    nothing = jnp.zeros_like(rollout.reward[0])
    return jax.lax.scan(step, nothing, (rollout.reward, rollout.begins))[1]


class Setup(eqx.Module):
    """What does not change during a run: settings, task, optimiser and devices."""

    config: TrainConfig = eqx.field(static=True)
    task: Task = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)

    @property
    def environment(self) -> Environment[Any, Any, Any, Any]:
        """Return how levels are played."""
        return self.task.environment


def new_setup(config: TrainConfig, task: Task) -> Setup:
    """Return the fixed parts of a run; stops at what the task cannot do."""
    check_method(config, task)
    optimiser = make_optimiser(config.ppo, config.num_updates)
    return Setup(config, task, optimiser, mesh_of(config.devices or 1))


def check_method(config: TrainConfig, task: Task) -> None:
    """Stop if a method asks for what its task does not have."""
    method = config.method
    for name, generator in generators_of(method, task).items():
        settings_of(method, name, generator)
    for name in scores_of(method):
        lookup(SCORES, name, what="score")
    asks = {'admit = "solvable"': method.admit == "solvable"}
    asks |= {f"the score {name!r}": name == "true_regret" for name in scores_of(method)}
    for what, is_asked in asks.items():
        if is_asked and task.optimal_returns is None:
            raise ConfigError(
                f"{method.name}: {what} needs to know which returns are possible in a level, which "
                f"the task {task.name} does not tell."
            )
    if "level_nll" in scores_of(method):
        raise ConfigError(
            f"{method.name}: the score 'level_nll' needs a classifier that guesses the level while "
            f"the agent trains, which the task {task.name} does not have."
        )


def new_learner(setup: Setup, *, key: PRNGKeyArray) -> Learner[Agent]:
    """Return an agent that has learned nothing."""
    agent = setup.task.new_agent(setup.config.agent, key)
    return Learner(agent, setup.optimiser.init(eqx.filter(agent, eqx.is_array)))


def first_buffer(setup: Setup, dataset: Levels) -> Buffer:
    """The buffer with which a run begins."""
    method, num_envs = setup.config.method, setup.config.ppo.num_envs
    stored = store(setup, dataset)
    optimal = setup.task.optimal_of(stored.level, stored.world)
    if method.initial_buffer == "empty":
        stored, optimal = jax.tree.map(lambda leaf: leaf[:0], (stored, optimal))
    count = optimal.shape[0]
    capacity = method.capacity or count
    generates = (method.new_level_generator, method.mutation_generator) != (NONE, NONE)
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


def store(setup: Setup, levels: Levels) -> Stored:
    """Return levels as the buffer holds them."""
    as_arrays = jax.tree.map(jnp.asarray, levels)
    return Stored(as_arrays, setup.environment.prepare(levels))


def new_state(setup: Setup, dataset: Levels, *, key: PRNGKeyArray) -> TrainState:
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


def new_states(setup: Setup, dataset: Levels, seeds: Sequence[int]) -> TrainState:
    """The states with which runs of several seeds begin, with a leading axis."""
    return stacked([new_state(setup, dataset, key=run_key(seed)) for seed in seeds])


def stacked(trees: Sequence[Any]) -> Any:  # noqa: ANN401  (any pytrees of one structure)
    """Several pytrees as one with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
