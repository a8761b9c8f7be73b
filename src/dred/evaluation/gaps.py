"""What the paper explains generalisation by, for any agent and any levels.

    GenGap    mean return on the training levels − mean return on held-out levels
    ShiftGap  mean return under P_Λ, the levels as they are drawn − mean return on training levels
    I(L; b)   what the agent's representation tells about the level it is in
    bound     GenGap ≤ √(2 D² I(L; b) / |L|), with D twice the largest value

I(L; b) is estimated by a classifier, from below, so the bound computed from the estimate is itself
an estimate: a GenGap may be larger than it.

The shift itself, the Jensen–Shannon distance, is in `dred.evaluation.shift`.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.episodes import Start, same_level
from dred.agents.probe import Examples, Guesser, Information, fitted, information, judged
from dred.agents.protocol import Agent
from dred.agents.rollout import roll_out
from dred.config import ProbeConfig
from dred.environment import Environment
from dred.evaluation.statistics import deviation
from dred.host import (
    SIDE_BY_SIDE,
    HostEnvironment,
    new_ongoing,
    rows,
    seed_from,
)
from dred.host_rollout import roll_out_on_host

AnyArray = Array | np.ndarray  # on a device or here


def gen_gap(
    train: Float[AnyArray, "*level"], test: Float[AnyArray, "*other"]
) -> Float[AnyArray, ""] | float:
    """Mean return on training levels minus mean return on held-out ones."""
    return train.mean() - test.mean()


def shift_gap(
    returned: Float[AnyArray, " level"],
    probability: Float[AnyArray, " level"],
    train: Float[AnyArray, "*other"],
) -> Float[AnyArray, ""] | float:
    """Mean return under a distribution over levels minus mean return on training levels."""
    return returned @ probability / probability.sum() - train.mean()


def error_of_gap(*sets: Float[np.ndarray, "_"]) -> float:
    """Return the standard error over levels of a mean return, or of the difference of two.

    NaN if there is a single level in a set.
    """
    return math.hypot(*(deviation(values) / math.sqrt(len(values)) for values in sets))


def gap_bound(
    nats: Float[Array, "*agent"] | float, num_levels: int, largest_value: float = 1.0
) -> Float[Array, "*agent"]:
    """The largest GenGap that so much information about the level would allow: √(2 D² I / |L|).

    D is twice the largest value. Of an estimated I this is an estimate.
    """
    return jnp.sqrt(2.0 * (2.0 * largest_value) ** 2 * nats / num_levels)


def level_information(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> Information:
    """I(L; b) for levels that are equally likely, b being the agent's representation."""
    return level_guesser(agent, environment, world, levels, config, key=key)[1]


def level_guesser(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> tuple[Guesser, Information]:
    """A classifier that guesses the level from the agent's representation, and what it shows.

    The agent plays each level for the same number of steps, three times: for a classifier to be
    fitted to, for its settings to be chosen by, and for it to be judged by.
    """
    *keys, key_fit = jax.random.split(key, 4)
    fit, choose, judge = (
        examples(agent, environment, world, levels, config, key=key) for key in keys
    )
    guesser = fitted(fit, choose, levels.shape[0], config, key=key_fit)
    return guesser, judged(guesser, judge, levels.shape[0])


def examples(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> Examples:
    """Representations from each level, a few steps apart, with the place of the level in `levels`.

    An episode that ends is followed by another in the same level, begun anew.
    """
    key_begin, key_play = jax.random.split(key)
    rollout = roll_out(
        agent,
        environment,
        world,
        Start(levels, jax.random.bits(key_begin, levels.shape)),
        length=config.length,
        next_start=same_level,
        value_ends=False,
        key=key_play,
    )
    features = agent.representation(rollout.observation, rollout.begins)
    some = jax.lax.stop_gradient(features[:: config.stride])
    place = jnp.broadcast_to(jnp.arange(levels.shape[0]), some.shape[:2])
    return Examples(some.reshape(-1, some.shape[-1]), place.reshape(-1))


_in_one_program = eqx.filter_jit(level_information)
_information = eqx.filter_jit(information)


def level_information_compiled(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any] | HostEnvironment,
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> Information:
    """Measure I(L; b) in one compiled program, or with episodes in a simulator on the host."""
    if not isinstance(environment, HostEnvironment):
        return _in_one_program(agent, environment, world, levels, config, key=key)
    *keys, key_fit = jax.random.split(key, 4)
    fit, choose, judge = (
        examples_on_host(agent, environment, world, levels, config, key=key) for key in keys
    )
    return _information(fit, choose, judge, levels.shape[0], config, key=key_fit)


def examples_on_host(
    agent: Agent,
    environment: HostEnvironment,
    world: Any,  # noqa: ANN401  (its levels)
    levels: Int[Array, " level"],
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> Examples:
    """Representations from each level, as `examples` gives them, some levels at a time."""
    num_levels = levels.shape[0]
    found: list[Examples] = []
    for begin in range(0, num_levels, SIDE_BY_SIDE):
        some = np.asarray(levels[begin : begin + SIDE_BY_SIDE])
        slots = environment.open(len(some), seed=seed_from(jax.random.fold_in(key, begin)))
        slots.reset_to(rows(world, some))
        again = np.broadcast_to(some, (config.length, len(some)))
        played = roll_out_on_host(
            agent,
            slots,
            world,
            new_ongoing(agent, jnp.asarray(some)),
            again,
            keep_observations=False,
            key=jax.random.fold_in(key, begin),
        )
        features = played.features[:: config.stride]
        place = jnp.broadcast_to(begin + jnp.arange(len(some)), features.shape[:2])
        found.append(Examples(features.reshape(-1, features.shape[-1]), place.reshape(-1)))
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *found)
