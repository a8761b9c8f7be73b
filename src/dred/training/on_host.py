"""The phases of an update in a simulator on the host: only what surrounds playing is compiled."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.rollout import Rollout
from dred.config import MethodConfig
from dred.errors import ConfigError
from dred.generation import NONE
from dred.host import HostEnvironment, new_ongoing, rows
from dred.host_rollout import Played as Rolled
from dred.host_rollout import roll_out_on_host
from dred.replay.buffer import MUTATED, NEW
from dred.replay.distribution import drawn_from, probabilities
from dred.replay.scores import record
from dred.task import Levels, RunContext
from dred.training.phases import (
    ROLLOUTS,
    Generated,
    Phases,
    Played,
    admit_generated,
    eta_of,
    explore,
    generate,
    is_time_to_replay,
    is_waiting,
    mutate,
    next_waiting,
    noted,
    recorded,
    score,
    score_dataset,
    with_distribution,
)
from dred.training.state import Setup, TrainState

SCORING = "score"  # the simulator in which levels are played only to score them


def phases_for(setup: Setup) -> Phases:
    """Return the phases of an update, where the task's levels are played."""
    learn_on = setup.config.method.learn_on
    if not isinstance(setup.task.environment, HostEnvironment):
        return Phases(score_dataset, explore, ROLLOUTS[learn_on], mutate)
    roll_out = rollout_in_simulator if learn_on == "replay" else rollout_on_new_in_simulator
    return Phases(score_dataset_in_simulator, explore_in_simulator, roll_out, mutate_in_simulator)


def scores_apart(method: MethodConfig) -> bool:
    """Return whether a method plays levels that it does not go on with, for which it needs more."""
    generators = (method.new_level_generator, method.mutation_generator)
    return method.warm_up or generators != (NONE, NONE)


def rollout_in_simulator(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Played:
    """Play levels of the buffer, a new draw from P_Λ for each episode, on from where agents are."""
    if context.simulators is None or state.ongoing is None:
        raise ConfigError(f"The simulator of {setup.task.name} was not started.")
    key_draw, key_play = jax.random.split(key)
    slots, chances = draw_slots(state, setup, key_draw)
    ongoing, world = state.ongoing, state.buffer.levels.world
    if setup.config.method.initial_buffer == "empty" and state.num_updates == 0:
        first = slots[-1]  # there were no levels to begin with when the simulator was started
        context.simulators["play"].reset_to(rows(world, first))
        ongoing = new_ongoing(state.learner.agent, first)
    played = roll_out_on_host(
        state.learner.agent,
        context.simulators["play"],
        world,
        ongoing,
        np.asarray(slots),
        segment_length=setup.config.ppo.segment_length,
        key=key_play,
    )
    seen = played.rollout.observation  # most of a rollout, which scores need not copy
    unseen = replace(played.rollout, observation=())
    found = score_and_record(state, unseen, played.features, chances, setup)
    rollout = replace(found.rollout, observation=seen)
    return replace(found, rollout=rollout, ongoing=played.ongoing)


@jax.jit
def draw_slots(
    state: TrainState, setup: Setup, key: PRNGKeyArray
) -> tuple[Int[Array, "time env"], Float[Array, " slot"]]:
    """Draw a level for each place in a rollout where an episode might end; and P_Λ."""
    chances = probabilities(state.buffer, setup.config.method, eta_of(state, setup))
    shape = (setup.config.ppo.num_steps, setup.config.ppo.num_envs)
    return jax.vmap(jax.vmap(drawn_from(chances)))(jax.random.bits(key, shape)), chances


@jax.jit
def score_and_record(
    state: TrainState,
    rollout: Rollout[Any],
    features: Float[Array, "time env feature"],
    chances: Float[Array, " slot"],
    setup: Setup,
) -> Played:
    """Score the levels that were played, and note it in the buffer."""
    buffer = with_distribution(state, chances, setup)
    best, optimal = buffer.best, buffer.optimal
    played = score(state, rollout, best=best, optimal=optimal, setup=setup, features=features)
    return recorded(played, buffer, setup)


def play_from_start(
    state: TrainState,
    world: Levels,
    levels: Int[np.ndarray, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> Rolled:
    """Play these levels of a world from their starts, each again and again, for a rollout."""
    if context.simulators is None or SCORING not in context.simulators:
        raise ConfigError(f"The simulator of {setup.task.name} that scores levels was not started.")
    agent, slots = state.learner.agent, context.simulators[SCORING]
    slots.reset_to(rows(world, levels))
    played = roll_out_on_host(
        agent,
        slots,
        world,
        new_ongoing(agent, jnp.asarray(levels, jnp.int32)),
        np.broadcast_to(levels, (setup.config.ppo.num_steps, len(levels))),
        segment_length=setup.config.ppo.segment_length,
        key=key,
    )
    begins = played.rollout.begins.at[0].set(True)  # also the first, which followed no other
    return played._replace(rollout=replace(played.rollout, begins=begins))


def score_dataset_in_simulator(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> TrainState:
    """Score those levels of the dataset that have no score yet, without learning."""
    tried = jnp.zeros(state.buffer.capacity, jnp.bool_)
    while (waiting := is_waiting(state.buffer, tried)).any():
        slots = next_waiting(waiting, setup.config.ppo.num_envs)
        key_now = jax.random.fold_in(key, state.buffer.is_scored.sum())
        played = play_from_start(
            state,
            state.buffer.levels.world,
            np.asarray(slots),
            context=context,
            setup=setup,
            key=key_now,
        )
        state = record_scores(state, played.rollout, played.features, setup)
        tried = tried.at[slots].set(True)
    return state


@jax.jit
def record_scores(
    state: TrainState,
    rollout: Rollout[Any],
    features: Float[Array, "time env feature"],
    setup: Setup,
) -> TrainState:
    """Score levels of the buffer that were played only for that."""
    buffer = state.buffer
    best, optimal = buffer.best, buffer.optimal
    played = score(state, rollout, best=best, optimal=optimal, setup=setup, features=features)
    return replace(state, buffer=record(buffer, played.scores))


def generate_and_score_in_simulator(
    state: TrainState,
    made_by: int,
    parents: Int[Array, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> Played:
    """Make levels, play each for a whole rollout, and admit those that may enter."""
    key_make, key_play = jax.random.split(key)
    made = generate_here(state, context.dataset, context.models, parents, setup, made_by, key_make)
    levels = np.arange(parents.shape[0])
    played = play_from_start(
        state, made.stored.world, levels, context=context, setup=setup, key=key_play
    )
    return score_and_admit(state, made, played.rollout, played.features, parents, setup, made_by)


@partial(jax.jit, static_argnames=("made_by",))
def generate_here(
    state: TrainState,
    dataset: Levels,
    models: dict[str, Any],
    parents: Int[Array, " env"],
    setup: Setup,
    made_by: int,
    key: PRNGKeyArray,
) -> Generated:
    """Make levels, in one compiled program."""
    context = RunContext(dataset, models)
    return generate(state, made_by, parents, context=context, setup=setup, key=key)


@partial(jax.jit, static_argnames=("made_by",))
def score_and_admit(
    state: TrainState,
    made: Generated,
    rollout: Rollout[Any],
    features: Float[Array, "time env feature"],
    parents: Int[Array, " env"],
    setup: Setup,
    made_by: int,
) -> Played:
    """Score new levels that were played, and admit those that may enter."""
    best, optimal = made.best, made.optimal
    played = score(state, rollout, best=best, optimal=optimal, setup=setup, features=features)
    return admit_generated(state, made, played, made_by, parents, setup=setup)


def explore_in_simulator(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> TrainState:
    """Score new levels without learning, again and again, until it is time to replay."""
    num_envs = setup.config.ppo.num_envs
    no_parents = jnp.zeros(num_envs, jnp.int32)
    for count in range(2 * state.buffer.capacity // num_envs):
        if is_time_to_replay(state, count, setup, key):
            break
        key_now = jax.random.fold_in(key, 2 * count + 1)
        played = generate_and_score_in_simulator(
            state, NEW, no_parents, context=context, setup=setup, key=key_now
        )
        state = replace(state, buffer=played.buffer)
    return state


def rollout_on_new_in_simulator(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Played:
    """Play new levels, one for each agent for the whole rollout."""
    no_parents = jnp.zeros(setup.config.ppo.num_envs, jnp.int32)
    played = generate_and_score_in_simulator(
        state, NEW, no_parents, context=context, setup=setup, key=key
    )
    return replace(noted(state, played, setup), ongoing=state.ongoing)


def mutate_in_simulator(
    state: TrainState,
    parents: Int[Array, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> TrainState:
    """Make levels from these slots, score them without learning, and admit the good ones."""
    if eta_of(state, setup) < setup.config.method.mutation_min_eta:
        return state
    played = generate_and_score_in_simulator(
        state, MUTATED, parents, context=context, setup=setup, key=key
    )
    return replace(state, buffer=played.buffer)
