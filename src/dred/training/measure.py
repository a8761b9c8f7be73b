"""How the agents of a run do now: in levels seen and unseen, and in those that they replay.

Each measurement is one program for a run, for all seeds together; in a simulator on the host,
agents are compiled, and there is one seed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dred.agents.probe import Information
from dred.devices import placed
from dred.evaluation.evaluate import Episodes, evaluate_compiled
from dred.evaluation.gaps import level_information_compiled
from dred.host import HostEnvironment
from dred.replay.distribution import average_probabilities, drawn_from
from dred.training.state import Setup, TrainState, for_each_seed, new_states

UNTRAINED = "untrained/"  # before the names of metrics

P = ParamSpec("P")
R = TypeVar("R")


def in_one_program(
    measure: Callable[Concatenate[Setup, P], R],
) -> Callable[Concatenate[Setup, P], R]:
    """Compile a measurement as a whole, but for simulators on the host, which cannot be."""
    compiled = eqx.filter_jit(measure)

    @wraps(measure)
    def measure_now(setup: Setup, *args: P.args, **kwargs: P.kwargs) -> R:
        is_on_host = isinstance(setup.environment, HostEnvironment)
        return (measure if is_on_host else compiled)(setup, *args, **kwargs)

    return measure_now


@in_one_program
def returns_in(
    setup: Setup,
    states: TrainState,
    keys: Key[Array, " seed"],
    world: Any,  # noqa: ANN401  (any environment's)
    *,
    episodes: int = 0,
) -> Float[Array, "seed 2"]:
    """For each seed's agent, the share of episodes solved, and their mean return.

    Levels take turns for so many episodes; 0 for one in each.
    """
    num_levels = setup.environment.num_levels(world)
    levels = jnp.arange(episodes or num_levels) % num_levels

    def one_seed(state: TrainState, key: Array) -> Array:
        agent, environment = state.learner.agent, setup.task.environment
        episodes = evaluate_compiled(agent, environment, world, levels, key=key)
        return solved_and_returned(episodes, setup)

    return for_each_seed(one_seed, states, keys)


@in_one_program
def returns_drawn(
    setup: Setup, states: TrainState, keys: Key[Array, " seed"], count: int
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


@in_one_program
def information_about(
    setup: Setup,
    states: TrainState,
    keys: Key[Array, " seed"],
    world: Any,  # noqa: ANN401  (any environment's)
) -> Information:
    """For each seed's agent, what its representation tells about which of these levels it is in."""
    levels = jnp.arange(setup.environment.num_levels(world))

    def one_seed(state: TrainState, key: Array) -> Information:
        agent, probe = state.learner.agent, setup.config.probe
        return level_information_compiled(
            agent, setup.task.environment, world, levels, probe, key=key
        )

    return for_each_seed(one_seed, states, keys)


def of_untrained(
    seeds: Sequence[int],
    keys: tuple[Key[Array, " seed"], Key[Array, " seed"]],
    dataset: Any,  # noqa: ANN401  (the task's levels)
    suites: Mapping[str, Any],
    setup: Setup,
) -> list[dict[str, float]]:
    """Return what agents get and know that have learned nothing, by metric, for each seed.

    The keys are those of the evaluation and of the probe, so chance is as for trained agents.
    """
    for_evaluation, for_probe = keys
    states = placed(new_states(setup, dataset, seeds), setup.mesh)
    episodes = setup.config.final_episodes
    returned = {
        name: np.asarray(returns_in(setup, states, for_evaluation, world, episodes=episodes))[:, 1]
        for name, world in suites.items()
    }
    found = information_about(setup, states, for_probe, suites["train"])
    columns = {f"return/{name}": values for name, values in returned.items()}
    if "test" in returned:
        columns["gen_gap"] = returned["train"] - returned["test"]
    columns |= {"mutual_information": found.nats, "probe_accuracy": found.accuracy}
    return [
        {f"{UNTRAINED}{name}": float(values[place]) for name, values in columns.items()}
        for place in range(len(seeds))
    ]


def solved_and_returned(episodes: Episodes, setup: Setup) -> Float[Array, " 2"]:
    """Return the share of episodes that were solved, and their mean return."""
    solved = setup.task.is_solved(episodes.returned)
    return jnp.stack([solved.mean(), episodes.returned.mean()])
