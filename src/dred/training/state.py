"""Everything that changes while an agent trains."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from dred.agents.classifier import Classifier, new_classifier
from dred.agents.ppo import Learner, Losses, make_optimiser
from dred.agents.probe import Information
from dred.agents.protocol import Agent
from dred.agents.rewards import RewardScale, new_scale
from dred.agents.rollout import Rollout
from dred.config import TrainConfig
from dred.devices import mesh_of
from dred.errors import ConfigError, lookup
from dred.generation import NONE, check_generators
from dred.host import HostEnvironment, Ongoing, new_ongoing
from dred.replay.buffer import Buffer, new_buffer
from dred.replay.scores import SCORES, LevelScores
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
    reward_scale: RewardScale | None = None  # if rewards are scaled
    classifier: Classifier | None = None  # of levels, if there is one
    ongoing: Ongoing | None = None  # in a simulator on the host
    classified: Ongoing | None = None  # there, where the classifier's agents play
    simulators: Any = None  # what these have saved, in a checkpoint


class Metrics(eqx.Module):
    """What one update tells about itself."""

    episodes: Int[Array, ""]  # that ended during play
    solved_rate: Float[Array, ""]  # share of them that were solved
    mean_return: Float[Array, ""]  # of them
    mean_steps: Float[Array, ""]  # between ends
    value_loss: Float[Array, ""]  # mean |advantage| of the levels that were played
    losses: Losses
    information: Information | None = None  # about the level, by the classifier that learns beside

    @staticmethod
    def of(
        rollout: Rollout[Any],
        scores: LevelScores,
        losses: Losses,
        is_solved: Callable[[Array], Array],
        before: Ongoing | None = None,
    ) -> "Metrics":
        """Return the metrics of an update; episodes may have begun before it."""
        ended = rollout.ended
        episodes = ended.sum()
        nothing = jnp.zeros_like(rollout.reward[0])
        first = nothing if before is None else before.returned
        returned = returns_so_far(rollout.reward, rollout.begins, first)
        solved = ended & is_solved(returned)
        shown = jnp.maximum(episodes, 1).astype(jnp.float32)
        total = rollout.reward.sum() if before is None else jnp.where(ended, returned, 0.0).sum()
        was_played = scores.episodes > 0
        return Metrics(
            episodes=episodes,
            solved_rate=solved.sum(dtype=jnp.float32) / shown,
            mean_return=total / shown,
            mean_steps=ended.size / shown,
            value_loss=jnp.where(was_played, scores.value_loss, 0.0).sum()
            / jnp.maximum(was_played.sum(dtype=jnp.float32), 1.0),
            losses=losses,
        )


@jax.jit
def returns_so_far(
    reward: Float[Array, "time env"], begins: Bool[Array, "time env"], before: Float[Array, " env"]
) -> Float[Array, "time env"]:
    """Return the sum of rewards of each step's episode, up to and with that step."""

    def step(total: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward_t, begins_t = now
        total = jnp.where(begins_t, 0.0, total) + reward_t
        return total, total

    return jax.lax.scan(step, before, (reward, begins))[1]


class Setup(eqx.Module):
    """What does not change during a run: settings, task, optimiser and devices."""

    config: TrainConfig = eqx.field(static=True)
    task: Task = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)

    @property
    def environment(self) -> Any:  # noqa: ANN401  (an environment of either kind)
        """Return how levels are played."""
        return self.task.environment


def new_setup(config: TrainConfig, task: Task) -> Setup:
    """Return the fixed parts of a run; stops at what the task cannot do."""
    check_method(config, task)
    optimiser = make_optimiser(config.ppo, config.num_updates)
    return Setup(config, task, optimiser, mesh_of(config.devices or 1))


def check_config(config: TrainConfig, task: Task) -> None:
    """Stop if a method or an agent asks for what its task does not have; makes nothing."""
    check_method(config, task)
    jax.eval_shape(lambda: task.new_agent(config.agent, jax.random.key(0)))


def check_method(config: TrainConfig, task: Task) -> None:
    """Stop if a method asks for what its task does not have."""
    method = config.method
    check_generators(method, task)
    for name in method.scores:
        lookup(SCORES, name, what="score")
    asks = {'admit = "solvable"': method.admit == "solvable"}
    asks |= {f"the score {name!r}": name == "true_regret" for name in method.scores}
    for what, is_asked in asks.items():
        if is_asked and task.optimal_returns is None:
            raise ConfigError(
                f"{method.name}: {what} needs to know which returns are possible in a level, which "
                f"the task {task.name} does not tell."
            )
    generates = (method.new_level_generator, method.mutation_generator) != (NONE, NONE)
    if "level_nll" in method.scores and not config.classifier.num_envs:
        raise ConfigError(
            f"{method.name}: the score 'level_nll' needs a classifier that guesses the level while "
            "the agent trains. Ask for one: --set classifier.num_envs=16."
        )
    if "level_nll" in method.scores and generates:
        raise ConfigError(
            f"{method.name}: the score 'level_nll' is about levels of the dataset, which a "
            "classifier can know; this method also generates others."
        )


@eqx.filter_jit
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
    if method.warm_up or method.unseen_first:
        return buffer
    return eqx.tree_at(
        lambda b: (b.primary, b.is_scored), buffer, (jnp.ones(capacity), buffer.is_used)
    )


def store(setup: Setup, levels: Levels, beside: Stored | None = None) -> Stored:
    """Return levels as the buffer holds them, such as it can take beside those that it has."""
    as_arrays = jax.tree.map(jnp.asarray, levels)
    environment = setup.environment
    if beside is None or isinstance(environment, HostEnvironment):
        return Stored(as_arrays, environment.prepare(levels))
    return Stored(as_arrays, environment.prepare_more(levels, beside.world))


def new_state(setup: Setup, dataset: Levels, *, key: PRNGKeyArray) -> TrainState:
    """The state with which a run begins."""
    learner = new_learner(setup, key=jax.random.fold_in(key, FIRST_WEIGHTS))
    buffer, num_envs = first_buffer(setup, dataset), setup.config.ppo.num_envs
    num_levels = int(buffer.from_dataset.sum())
    state = TrainState(
        learner,
        buffer,
        jnp.zeros((), jnp.int32),
        jnp.ones(()),
        reward_scale=new_scale(num_envs) if setup.config.ppo.scale_rewards else None,
        classifier=first_classifier(setup, learner.agent, num_levels, key=key),
        ongoing=first_ongoing(setup, learner.agent, num_levels, num_envs),
        classified=first_ongoing(
            setup, learner.agent, num_levels, setup.config.classifier.num_envs
        ),
    )
    return copied(state)  # no array twice, so that all can be given away


def first_classifier(
    setup: Setup, agent: Agent, num_levels: int, *, key: PRNGKeyArray
) -> Classifier | None:
    """Return the level classifier with which a run begins, if it has one."""
    if not setup.config.classifier.num_envs:
        return None
    size = agent.num_features
    key = jax.random.fold_in(key, FIRST_CLASSIFIER)
    return new_classifier(setup.config.classifier, size, num_levels, key=key)


def first_ongoing(setup: Setup, agent: Agent, num_levels: int, num_envs: int) -> Ongoing | None:
    """Return what goes on in a simulator at first: levels 0, 1, 2 and so on, as released."""
    if not isinstance(setup.environment, HostEnvironment) or not num_envs:
        return None
    return new_ongoing(agent, jnp.arange(num_envs, dtype=jnp.int32) % max(num_levels, 1))


FIRST_WEIGHTS, FIRST_CLASSIFIER = 2**31 - 2, 2**31 - 4  # numbers that no update has


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


@jax.jit
def copied(tree: Any) -> Any:  # noqa: ANN401  (any pytree)
    """Each array of a pytree anew."""
    return jax.tree.map(jnp.copy, tree)


@jax.jit
def stacked(trees: Sequence[Any]) -> Any:  # noqa: ANN401  (any pytrees of one structure)
    """Several pytrees as one with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
