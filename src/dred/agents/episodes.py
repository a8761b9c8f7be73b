"""What happens when an episode ends: play on, in the same level or in the next one from a source.

A restart policy is a function of the world, the state in which an episode ended and two random
numbers; it gives the state in which the agent goes on.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from dred.environment import Environment

WorldT = TypeVar("WorldT")
StateT = TypeVar("StateT")
ViewT = TypeVar("ViewT")

Chance = UInt32[Array, " 2"]  # random bits: one number to choose a level, one to begin it
Restart = Callable[[WorldT, StateT, Chance], StateT]
Source = Callable[[UInt32[Array, ""]], Int[Array, ""]]  # which level next, given random bits


class Played(eqx.Module, Generic[StateT, ViewT]):
    """One step of an agent that never stops: where an episode ended, the next has begun."""

    state: StateT
    view: ViewT  # of the new episode, where one has begun
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


def same_level(
    environment: Environment[Any, WorldT, StateT, Any],
) -> Restart[WorldT, StateT]:
    """Begin the same level again, exactly as before."""

    def restart(world: WorldT, state: StateT, chance: Chance) -> StateT:
        del chance
        return environment.restart(world, state)

    return restart


def next_level(
    environment: Environment[Any, WorldT, StateT, Any], source: Source
) -> Restart[WorldT, StateT]:
    """Begin the level that a source names."""

    def restart(world: WorldT, state: StateT, chance: Chance) -> StateT:
        del state
        return environment.begin(world, source(chance[0]), chance=chance[1])

    return restart


def uniform(num_levels: int) -> Source:
    """A source that names every level equally often."""

    def draw(bits: UInt32[Array, ""]) -> Int[Array, ""]:
        return (bits % jnp.uint32(num_levels)).astype(jnp.int32)

    return draw


def choose(condition: Bool[Array, ""], first: StateT, second: StateT) -> StateT:
    """The first of two pytrees where the condition holds, else the second."""

    def choose_leaf(one: Array, other: Array) -> Array:
        return jnp.where(condition, one, other)

    return jax.tree.map(choose_leaf, first, second)


def play_on(
    environment: Environment[Any, WorldT, StateT, ViewT],
    world: WorldT,
    state: StateT,
    action: Int[Array, ""],
    *,
    restart: Restart[WorldT, StateT],
    chance: Chance,
) -> Played[StateT, ViewT]:
    """Act once; if that ends the episode, begin another. Looks only once."""
    move = environment.move(world, state, action)
    ended = move.terminated | move.truncated
    after = choose(ended, restart(world, move.state, chance), move.state)
    view = environment.look(world, after)
    return Played(after, view, move.reward, move.terminated, move.truncated)
