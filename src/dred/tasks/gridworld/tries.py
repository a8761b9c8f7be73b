"""An exported policy in one level, several times side by side: all that it saw, thought and did."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from dred.config import check_seed
from dred.environment import Transition
from dred.exported_policy import Policy
from dred.tasks.gridworld.environment import (
    GridworldEnvironment,
    State,
    check_actions,
    time_limit,
)
from dred.tasks.gridworld.levels.level import Level, as_batch, cropped
from dred.tasks.gridworld.view import View, World

ENVIRONMENT = GridworldEnvironment()


class Tries(NamedTuple):
    """Episodes in one level. Row t is what was so before step t; the last row after all steps."""

    row: Int[np.ndarray, "time try"]
    column: Int[np.ndarray, "time try"]
    heading: Int[np.ndarray, "time try"]
    image: UInt8[np.ndarray, "time try across ahead channel"]
    chance: Float[np.ndarray, "time try action"]  # of each action, by the policy
    value: Float[np.ndarray, "time try"]  # the return that the critic expects
    action: Int[np.ndarray, "step try"]  # one row less
    steps: Int[np.ndarray, " try"]  # until the episode's end
    returned: Float[np.ndarray, " try"]
    over: Bool[np.ndarray, " try"]  # whether it ended, or was only not played on

    @property
    def visited(self) -> Bool[np.ndarray, "time try"]:
        """Return which rows belong to the episode, and not to what came after its end."""
        return np.arange(len(self.row))[:, None] <= self.steps


def try_level(
    level: Level,
    policy: Policy,
    *,
    count: int = 1,
    seed: int = 0,
    actions: Sequence[int] = (),
    plays_on: bool = True,
) -> Tries:
    """Play a level so many times, with actions drawn from the policy.

    The first steps can be given as `actions`, with the policy watching; without `plays_on` it takes
    none of its own.
    """
    check_actions(np.asarray(actions, np.int64))
    rng = np.random.default_rng(check_seed(seed))
    level = cropped(level)
    world = ENVIRONMENT.prepare(as_batch(level))
    bits = jnp.asarray(rng.integers(0, 2**32, count, dtype=np.uint32))
    state, view = _begin(world, bits)
    memory, critic = policy.initial_memory(count), critic_of(policy)
    rows: list[tuple[np.ndarray, ...]] = []
    done: list[np.ndarray] = []
    over, steps, returned = np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count)
    limit = time_limit(*level.tiles.shape) if plays_on else len(actions)
    while True:
        seen, place = jax.device_get((view, (state.row, state.column, state.heading)))
        _, value = critic.step(memory, seen.image, seen.direction)
        memory, logits = policy.step(memory, seen.image, seen.direction)
        rows.append((*place, seen.image, softmax(logits), value[:, 0]))
        if over.all() or len(done) >= limit:
            break
        drawn = (logits + rng.gumbel(size=logits.shape)).argmax(axis=-1)
        action = np.full(count, actions[len(done)]) if len(done) < len(actions) else drawn
        after, view = _step(world, state, jnp.asarray(action, jnp.int32))
        reward, ended = jax.device_get((after.reward, after.terminated | after.truncated))
        steps, returned = steps + ~over, returned + np.where(over, 0.0, reward)
        over, state = over | ended, after.state
        done.append(action)
    row, column, heading, image, chance, expected = (
        np.stack(column) for column in zip(*rows, strict=True)
    )
    acted = np.stack(done) if done else np.zeros((0, count), np.int64)
    return Tries(row, column, heading, image, chance, expected, acted, steps, returned, over)


def critic_of(policy: Policy) -> Policy:
    """Return a policy whose only log-odds are the return that the critic expects."""
    heads = {
        f"{head}.{part}": policy.weights[f"{head.replace('actor', 'critic')}.{part}"]
        for head in ("actor_hidden", "actor")
        for part in ("weight", "bias")
    }
    return Policy({**policy.weights, **heads}, policy.meta)


def softmax(logits: Float[np.ndarray, "try action"]) -> Float[np.ndarray, "try action"]:
    """Return probabilities from log-odds."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


@eqx.filter_jit
def _begin(world: World, bits: Array) -> tuple[State, View]:
    first = jnp.zeros((), jnp.int32)
    state = jax.vmap(lambda one: ENVIRONMENT.reset(world, first, bits=one))(bits)
    return state, jax.vmap(lambda one: ENVIRONMENT.observe(world, one))(state)


@eqx.filter_jit
def _step(world: World, state: State, action: Array) -> tuple[Transition[State], View]:
    after = jax.vmap(lambda one, a: ENVIRONMENT.step(world, one, a))(state, action)
    return after, jax.vmap(lambda one: ENVIRONMENT.observe(world, one))(after.state)


def visits(level: Level, tries: Tries) -> Float[np.ndarray, "height width"]:
    """Return in which share of the tries each cell was visited."""
    count = tries.row.shape[1]
    been = np.zeros((count, *cropped(level).tiles.shape), np.bool_)
    time, which = np.nonzero(tries.visited)
    been[which, tries.row[time, which], tries.column[time, which]] = True
    return been.mean(axis=0)
