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


class Episodes:
    """Episodes at work side by side in one level, which may be stopped at and gone on with."""

    def __init__(self, level: Level, policy: Policy, *, count: int = 1, seed: int = 0) -> None:
        self._rng = np.random.default_rng(check_seed(seed))
        level = cropped(level)
        self.limit = time_limit(*level.tiles.shape)
        self._world = ENVIRONMENT.prepare(as_batch(level))
        bits = jnp.asarray(self._rng.integers(0, 2**32, count, dtype=np.uint32))
        self._state, self._view = _begin(self._world, bits)
        self._policy, self._critic = policy, critic_of(policy)
        self._memory = policy.initial_memory(count)
        self._rows: list[tuple[np.ndarray, ...]] = []
        self._done: list[np.ndarray] = []
        self._over = np.zeros(count, np.bool_)
        self._steps, self._returned = np.zeros(count, np.int64), np.zeros(count)
        self._look()

    @property
    def is_over(self) -> bool:
        """Return whether all have ended."""
        return bool(self._over.all())

    @property
    def actions(self) -> list[int]:
        """Return what was done in the first of them."""
        return [int(action[0]) for action in self._done]

    def step(self, action: int | None = None) -> None:
        """Take a step in all of them: the given action, or what the policy draws."""
        over, count = self._over, len(self._over)
        drawn = (self._logits + self._rng.gumbel(size=self._logits.shape)).argmax(axis=-1)
        taken = drawn if action is None else np.full(count, action)
        after, self._view = _step(self._world, self._state, jnp.asarray(taken, jnp.int32))
        reward, ended = jax.device_get((after.reward, after.terminated | after.truncated))
        self._steps = self._steps + ~over
        self._returned = self._returned + np.where(over, 0.0, reward)
        self._over, self._state = over | ended, after.state
        self._done.append(taken)
        self._look()

    def _look(self) -> None:
        state = self._state
        place = (state.row, state.column, state.heading)
        seen, place = jax.device_get((self._view, place))
        _, value = self._critic.step(self._memory, seen.image, seen.direction)
        self._memory, self._logits = self._policy.step(self._memory, seen.image, seen.direction)
        self._rows.append((*place, seen.image, softmax(self._logits), value[:, 0]))

    def tries(self) -> Tries:
        """Return all that was so far."""
        parts = (np.stack(column) for column in zip(*self._rows, strict=True))
        row, column, heading, image, chance, value = parts
        count = len(self._over)
        acted = np.stack(self._done) if self._done else np.zeros((0, count), np.int64)
        ends = (self._steps, self._returned, self._over)
        return Tries(row, column, heading, image, chance, value, acted, *ends)


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
    episodes = Episodes(level, policy, count=count, seed=seed)
    go_on(episodes, actions, until=episodes.limit if plays_on else len(actions))
    return episodes.tries()


def go_on(episodes: Episodes, actions: Sequence[int], *, until: int) -> None:
    """Go on up to a step: with the actions that are given, then with what the policy draws."""
    for time in range(len(episodes.actions), until):
        if episodes.is_over:
            return
        episodes.step(actions[time] if time < len(actions) else None)


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
