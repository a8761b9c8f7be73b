"""What checks are about: a task, some of its levels, and how episodes in them went."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from dred.agents.protocol import Agent
from dred.config import AgentConfig
from dred.environment import Environment
from dred.host import HostEnvironment, rows
from dred.task import LevelSet, Task

Problems = Iterator[str]
Check = Callable[["Case"], Problems]


class NotThereError(Exception):
    """What a check is about is something that the task does not have."""


@runtime_checkable
class ChecksItself(Protocol):
    """An environment that knows rules of its own."""

    def problems(self, levels: Mapping[str, Any], steps: int, seed: int) -> list[str]:
        """Return what is wrong with it, each in a sentence, as seen in so many steps."""
        ...


class Trace(NamedTuple):
    """One episode in each of some levels, with actions drawn at random."""

    seen: Any  # leaves [time+1, level, …]
    reward: Float[np.ndarray, "time level"]
    ended: Bool[np.ndarray, "time level"]

    @property
    def alive(self) -> Bool[np.ndarray, "time level"]:
        """Return which steps belong to the first episode."""
        before = np.cumsum(self.ended, axis=0) - self.ended
        return before == 0

    @property
    def returned(self) -> Float[np.ndarray, " level"]:
        """Return the sum of rewards of each episode."""
        return np.where(self.alive, self.reward, 0.0).sum(axis=0)

    def same_as(self, other: "Trace") -> Bool[np.ndarray, " level"]:
        """Return in which levels both went the same, to the end of the first episode."""
        length = min(len(self.reward), len(other.reward))
        alive = self.alive[:length]
        same = np.ones(alive.shape[1], np.bool_)
        for one, two in ((self.reward, other.reward), (self.ended, other.ended)):
            same &= np.where(alive, one[:length] == two[:length], True).all(axis=0)
        for one, two in zip(jax.tree.leaves(self.seen), jax.tree.leaves(other.seen), strict=True):
            is_same = equal(one[:length], two[:length])
            same &= np.where(alive, is_same, True).all(axis=0)
        return same


def equal(one: NDArray[Any], two: NDArray[Any]) -> Bool[np.ndarray, "time level"]:
    """Return at which steps of which levels arrays are the same, all numbers together."""
    is_same = (one == two) | ((one != one) & (two != two))
    return is_same.reshape(*is_same.shape[:2], -1).all(axis=-1)


@dataclass(frozen=True, eq=False)
class Case:
    """A task, and what is tried in it."""

    task: Task
    levels: LevelSet
    """Levels to try, a few."""
    steps: int
    """Steps within which an episode must end."""
    seed: int

    @property
    def on_host(self) -> bool:
        """Return whether the environment is a simulator, and not JAX."""
        return isinstance(self.task.environment, HostEnvironment)

    @cached_property
    def world(self) -> Any:  # noqa: ANN401  (the task's own)
        """Return the levels, laid out for playing."""
        return self.task.environment.prepare(self.levels.levels)

    @cached_property
    def agent(self) -> Agent:
        """Return a small agent that has learned nothing."""
        config = AgentConfig(hidden_size=8)
        budgets = self.task.budgets
        if "smoke" in budgets:
            config = budgets["smoke"].agent
        return self.task.new_agent(config, jax.random.key(self.seed))

    def actions(self, count: int, steps: int, seed: int) -> NDArray[Any]:
        """Return actions at random, [time, level] or with an axis of their numbers."""
        random, number = np.random.default_rng([seed, 1]), self.task.environment.num_actions
        if self.is_continuous:
            return random.normal(size=(steps, count, number)).astype(np.float32)
        return random.integers(0, number, (steps, count)).astype(np.int32)

    @cached_property
    def is_continuous(self) -> bool:
        """Return whether actions are numbers."""
        features = jnp.zeros((1, self.agent.num_features))
        return jax.eval_shape(self.agent.heads, features).log_std is not None

    @cached_property
    def trace(self) -> Trace:
        """Return episodes in all levels."""
        return self.play(np.arange(len(self.levels)))

    def play(
        self, places: Int[np.ndarray, " level"], *, seed: int | None = None, steps: int = 0
    ) -> Trace:
        """Return an episode in each of these levels; the same seed leaves the same to chance."""
        chosen = self.seed if seed is None else seed
        length = steps or self.steps
        return self.play_with(places, self.actions(len(places), length, chosen))

    def play_with(self, places: Int[np.ndarray, " level"], actions: NDArray[Any]) -> Trace:
        """Return an episode in each of these levels with these actions, [time, level, …]."""
        play = play_on_host if self.on_host else play_in_jax
        return play(self, places, actions)


def play_in_jax(case: Case, places: Int[np.ndarray, " level"], actions: NDArray[Any]) -> Trace:
    """Play in one compiled program; what comes after an episode's end does not count."""
    environment: Any = case.task.environment
    seen, reward, ended = _scanned(
        environment, case.world, jnp.asarray(places, jnp.int32), jnp.asarray(actions), case.seed
    )
    return Trace(jax.tree.map(np.asarray, seen), np.asarray(reward), np.asarray(ended))


def _scanned(
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401
    places: Any,  # noqa: ANN401
    actions: Any,  # noqa: ANN401
    seed: int,
) -> Any:  # noqa: ANN401  (what was seen, rewards, ends)
    bits = jnp.full(places.shape, seed, jnp.uint32)  # one for all, so that but levels differ

    def look(states: Any) -> Any:  # noqa: ANN401
        return jax.vmap(lambda one: environment.observe(world, one))(states)

    def step(states: Any, action: Any) -> Any:  # noqa: ANN401
        after = jax.vmap(lambda one, a: environment.step(world, one, a))(states, action)
        ended = after.terminated | after.truncated
        return after.state, (look(after.state), after.reward, ended)

    @jax.jit
    def run(places: Any, actions: Any) -> Any:  # noqa: ANN401
        first = jax.vmap(lambda level, b: environment.reset(world, level, bits=b))(places, bits)
        _, (seen, reward, ended) = jax.lax.scan(step, first, actions)
        whole = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), look(first), seen)
        return whole, reward, ended

    return run(places, actions)


def play_on_host(case: Case, places: Int[np.ndarray, " level"], actions: NDArray[Any]) -> Trace:
    """Play each level in slots of its own, so that seeds are the same in all of them."""
    environment: Any = case.task.environment
    traces = [
        _one_on_host(environment, rows(case.world, places[[one]]), actions[:, [one]], case.seed)
        for one in range(len(places))
    ]
    length = max(len(trace.reward) for trace in traces)
    padded = [
        jax.tree.map(lambda leaf, t=trace: _padded(leaf, length - len(t.reward)), trace)
        for trace in traces
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *padded)


def _one_on_host(environment: HostEnvironment, level: Any, actions: Any, seed: int) -> Trace:  # noqa: ANN401
    slots = environment.open(1, seed=seed)
    now = slots.reset_to(level)
    seen, reward, ended = [now.observation], [], []
    for action in actions:
        now = slots.step(action, lambda _: level)
        seen.append(now.observation)
        reward.append(now.reward)
        ended.append(now.ended)
        if now.ended.all():
            break
    whole = jax.tree.map(lambda *leaves: np.stack(leaves), *seen)
    return Trace(whole, np.stack(reward), np.stack(ended))


def _padded(leaf: NDArray[Any], more: int) -> NDArray[Any]:
    """Return an array along time, with its last row again so many times."""
    return np.concatenate([leaf, np.repeat(leaf[-1:], more, axis=0)])
