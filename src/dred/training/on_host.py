"""Rollouts from the buffer in a simulator on the host: only what surrounds them is compiled."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.rollout import Rollout
from dred.errors import ConfigError
from dred.host import HostEnvironment, roll_out_on_host
from dred.replay.distribution import drawn_from, probabilities
from dred.task import RunContext
from dred.training.phases import ROLLOUTS, Played, eta_of, recorded, score, with_distribution
from dred.training.state import Setup, TrainState


def rollout_for(setup: Setup) -> Callable[..., Played]:
    """Return how a method's levels are played where its task's are."""
    is_host = isinstance(setup.task.environment, HostEnvironment)
    return rollout_in_simulator if is_host else ROLLOUTS[setup.config.method.learn_on]


def rollout_in_simulator(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Played:
    """Play levels of the buffer, a new draw from P_Λ for each episode, on from where agents are."""
    if context.simulators is None or state.ongoing is None:
        raise ConfigError(f"The simulator of {setup.task.name} was not started.")
    key_draw, key_play = jax.random.split(key)
    slots, chances = draw_slots(state, setup, key_draw)
    played = roll_out_on_host(
        state.learner.agent,
        context.simulators["play"],
        state.buffer.levels.world,
        state.ongoing,
        np.asarray(slots),
        segment_length=setup.config.ppo.segment_length,
        key=key_play,
    )
    found = score_and_record(state, played.rollout, played.features, chances, setup)
    return replace(found, ongoing=played.ongoing)


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
