"""Where episodes begin, and where the next begins when one has ended."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from dred.environment import Environment

TreeT = TypeVar("TreeT")


class Start(eqx.Module):
    """How an episode begins: in which level of a world, and with which random bits."""

    level: Int[Array, "*env"]
    bits: UInt32[Array, "*env"]


NextStart = Callable[[Start, UInt32[Array, " 2"]], Start]
"""Return the start after one, given random bits: one number to choose a level, one to begin it."""
LevelSource = Callable[[UInt32[Array, ""]], Int[Array, ""]]
"""Return the level to play next, given random bits."""


def same_start(start: Start, bits: UInt32[Array, " 2"]) -> Start:
    """Begin the same level again, exactly as before."""
    del bits
    return start


def same_level(start: Start, bits: UInt32[Array, " 2"]) -> Start:
    """Begin the same level again, anew."""
    return Start(start.level, bits[1])


def next_level(source: LevelSource) -> NextStart:
    """Begin the level that a source names."""
    return lambda _, bits: Start(source(bits[0]), bits[1])


def uniform(num_levels: int) -> LevelSource:
    """Draw levels uniformly at random."""
    return lambda bits: (bits % jnp.uint32(num_levels)).astype(jnp.int32)


def begin(
    environment: Environment[Any, Any, TreeT, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    start: Start,
) -> TreeT:
    """Return a batch of agents at their starts."""
    return jax.vmap(lambda level, bits: environment.reset(world, level, bits=bits))(
        start.level, start.bits
    )


def where(condition: Bool[Array, "*env"], first: TreeT, second: TreeT) -> TreeT:
    """Return, for each agent of a batch, the first where the condition holds, else the second."""

    def choose(one: Array, other: Array) -> Array:
        return jnp.where(
            condition.reshape(condition.shape + (1,) * (one.ndim - condition.ndim)), one, other
        )

    return jax.tree.map(choose, first, second)


class Moment(eqx.Module):
    """A batch of agents that never stop, after a step: where an episode ended, the next began."""

    start: Start
    state: Any
    observation: Any
    reward: Float[Array, " env"]
    terminated: Bool[Array, " env"]
    truncated: Bool[Array, " env"]


def play_on(
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    start: Start,
    state: Any,  # noqa: ANN401  (any environment's)
    action: Int[Array, " env"],
    *,
    next_start: NextStart,
    bits: UInt32[Array, "env 2"],
) -> Moment:
    """Act once with each agent; where that ends the episode, begin another."""
    after = jax.vmap(lambda one, a: environment.step(world, one, a))(state, action)
    ended = after.terminated | after.truncated
    start = where(ended, jax.vmap(next_start)(start, bits), start)
    state = where(ended, begin(environment, world, start), after.state)
    seen = jax.vmap(lambda one: environment.observe(world, one))(state)
    return Moment(start, state, seen, after.reward, after.terminated, after.truncated)
