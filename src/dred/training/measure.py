"""How the agents of a run do now: in levels seen and unseen, and in those that they replay.

Everything is compiled once for a run, for all seeds together.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dred.agents.probe import Information
from dred.evaluation.evaluate import evaluate
from dred.evaluation.gaps import level_information
from dred.replay.distribution import average_probabilities, drawn_from
from dred.tasks.gridworld.view import World
from dred.training.state import Setup, TrainState, for_each_seed


@jax.jit
def returns_in(
    states: TrainState, keys: Key[Array, " seed"], world: World, setup: Setup
) -> Float[Array, "seed 2"]:
    """For each seed's agent, one try in each level: the share solved, and the mean return."""
    levels = jnp.arange(world.start.shape[0])

    def one_seed(state: TrainState, key: Array) -> Array:
        network = state.learner.network
        episodes = evaluate(network, setup.environment, world, levels, key=key)
        return jnp.stack([episodes.solved.mean(), episodes.returned.mean()])

    return for_each_seed(one_seed, states, keys)


@partial(jax.jit, static_argnames=("count",))
def returns_drawn(
    states: TrainState, keys: Key[Array, " seed"], setup: Setup, count: int
) -> Float[Array, "seed 2"]:
    """The same in so many levels drawn from P_Λ, averaged over the last updates."""

    def one_seed(state: TrainState, key: Array) -> Array:
        key_draw, key_play = jax.random.split(key)
        weight = average_probabilities(state.buffer)
        slots = jax.vmap(drawn_from(weight))(jax.random.bits(key_draw, (count,)))
        world, network = state.buffer.levels.world, state.learner.network
        episodes = evaluate(network, setup.environment, world, slots, key=key_play)
        return jnp.stack([episodes.solved.mean(), episodes.returned.mean()])

    return for_each_seed(one_seed, states, keys)


@jax.jit
def information_about(
    states: TrainState, keys: Key[Array, " seed"], world: World, setup: Setup
) -> Information:
    """For each seed's agent, what its representation tells about which of these levels it is in."""
    levels = jnp.arange(world.start.shape[0])

    def one_seed(state: TrainState, key: Array) -> Information:
        network, probe = state.learner.network, setup.config.probe
        return level_information(network, setup.environment, world, levels, probe, key=key)

    return for_each_seed(one_seed, states, keys)
