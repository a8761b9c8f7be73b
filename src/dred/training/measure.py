"""How the agents of a run do now: in levels seen and unseen, and in those that they replay.

Everything is compiled once for a run, for all seeds together; in a simulator on the host, agents
are compiled, and there is one seed.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dred.agents.probe import Information
from dred.evaluation.evaluate import Episodes, evaluate_compiled
from dred.evaluation.gaps import level_information_compiled
from dred.replay.distribution import average_probabilities, drawn_from
from dred.training.state import Setup, TrainState, for_each_seed


def returns_in(
    states: TrainState,
    keys: Key[Array, " seed"],
    world: Any,  # noqa: ANN401  (any environment's)
    setup: Setup,
) -> Float[Array, "seed 2"]:
    """For each seed's agent, one try in each level: the share solved, and the mean return."""
    levels = jnp.arange(setup.environment.num_levels(world))

    def one_seed(state: TrainState, key: Array) -> Array:
        agent, environment = state.learner.agent, setup.task.environment
        episodes = evaluate_compiled(agent, environment, world, levels, key=key)
        return solved_and_returned(episodes, setup)

    return for_each_seed(one_seed, states, keys)


def returns_drawn(
    states: TrainState, keys: Key[Array, " seed"], setup: Setup, count: int
) -> Float[Array, "seed 2"]:
    """The same in so many levels drawn from P_Λ, averaged over the last updates."""

    def one_seed(state: TrainState, key: Array) -> Array:
        key_draw, key_play = jax.random.split(key)
        weight = average_probabilities(state.buffer)
        slots = jax.vmap(drawn_from(weight))(jax.random.bits(key_draw, (count,)))
        agent, world = state.learner.agent, state.buffer.levels.world
        episodes = evaluate_compiled(agent, setup.task.environment, world, slots, key=key_play)
        return solved_and_returned(episodes, setup)

    return for_each_seed(one_seed, states, keys)


def information_about(
    states: TrainState,
    keys: Key[Array, " seed"],
    world: Any,  # noqa: ANN401  (any environment's)
    setup: Setup,
) -> Information:
    """For each seed's agent, what its representation tells about which of these levels it is in."""
    levels = jnp.arange(setup.environment.num_levels(world))

    def one_seed(state: TrainState, key: Array) -> Information:
        agent, probe = state.learner.agent, setup.config.probe
        return level_information_compiled(
            agent, setup.task.environment, world, levels, probe, key=key
        )

    return for_each_seed(one_seed, states, keys)


def solved_and_returned(episodes: Episodes, setup: Setup) -> Float[Array, " 2"]:
    """Return the share of episodes that were solved, and their mean return."""
    solved = setup.task.is_solved(episodes.returned)
    return jnp.stack([solved.mean(), episodes.returned.mean()])
