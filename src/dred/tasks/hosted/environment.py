"""Gymnasium environments behind the core's adapter for simulators."""

import warnings
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dred.errors import CheckpointError, ConfigError
from dred.host import Moment, NextLevels
from dred.tasks.hosted.players import Episode, InProcess, InProcesses, Players
from dred.tasks.hosted.recipe import Recipe, need_gymnasium
from dred.tasks.hosted.rules import broken_rules
from dred.tasks.hosted.spaces import Spaces

SAVED = (
    "level",
    "seed",
    "episode",
    "length",
    "action",
    "seen",
    "reward",
    "terminated",
    "truncated",
)


class HostedSlots:
    """Environments side by side, each in an episode that is known by level, seed and actions."""

    def __init__(self, players: Players, names: Sequence[str], num_envs: int, seed: int) -> None:
        self.players, self.names, self.seed = players, tuple(names), seed
        self._num_envs = num_envs
        self._begun = np.zeros(num_envs, np.int32)  # episodes so far
        self._episodes: dict[int, Episode] = {}
        self._now: Moment | None = None

    @property
    def num_envs(self) -> int:
        """Return how many there are."""
        return self._num_envs

    def observe(self) -> Moment:
        """Return what all of them show."""
        if self._now is None:
            raise ConfigError("Call reset_to() or restore() first: no episode has begun.")
        return self._now

    def reset_to(self, levels: Mapping[str, NDArray[Any]]) -> Moment:
        """Begin these levels, one in each slot."""
        seen = self._begin(np.arange(self.num_envs), levels)
        nobody = np.zeros(self.num_envs, np.bool_)
        self._now = Moment(seen, np.zeros(self.num_envs, np.float32), nobody, nobody)
        return self._now

    def step(self, actions: NDArray[Any], next_levels: NextLevels) -> Moment:
        """Act once in each slot; where that ends an episode, begin the level that comes next."""
        actions = np.asarray(actions)
        for place, action in enumerate(actions):
            self._episodes[place].actions.append(action)
        seen, reward, terminated, truncated = self.players.step(actions)
        ended, last = np.flatnonzero(terminated | truncated), seen if truncated.any() else None
        if len(ended):
            seen = seen.copy()
            seen[ended] = self._begin(ended, next_levels(ended))
        self._now = Moment(seen, reward, terminated, truncated, last)
        return self._now

    def _begin(
        self, slots: NDArray[np.intp], levels: Mapping[str, NDArray[Any]]
    ) -> NDArray[np.float32]:
        """Begin levels in some slots, each with a seed of its own."""
        rows = np.stack([np.asarray(levels[name]) for name in self.names], axis=-1)
        begun: dict[int, Episode] = {}
        for slot, row in zip(slots.tolist(), rows.tolist(), strict=True):
            level = dict(zip(self.names, row, strict=True))
            begun[slot] = Episode(level, self._next_seed(slot), [])
        self._episodes |= begun
        return self.players.begin(begun)

    def _next_seed(self, slot: int) -> int:
        """Return the seed of a slot's next episode: by the slots' seed, the slot and its count."""
        entropy = [self.seed, slot, int(self._begun[slot])]
        self._begun[slot] += 1
        return int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)  # fits 32 bits

    def save(self) -> dict[str, NDArray[Any]]:
        """Return how each slot's episode began, and what was done in it."""
        now, episodes = self.observe(), [self._episodes[slot] for slot in range(self.num_envs)]
        done = [action for one in episodes for action in one.actions]
        return {
            "level": np.array(
                [[one.level[name] for name in self.names] for one in episodes], np.float32
            ),
            "seed": np.array([one.seed for one in episodes], np.int32),
            "episode": self._begun.copy(),
            "length": np.array([len(one.actions) for one in episodes], np.int32),
            "action": np.stack(done) if done else np.zeros(0),
            "seen": np.asarray(now.observation),
            "reward": now.reward,
            "terminated": now.terminated,
            "truncated": now.truncated,
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> Moment:
        """Play the episodes again up to where they were, and go on from there."""
        if saved["level"].shape != (self.num_envs, len(self.names)):
            raise CheckpointError(
                f"The saved episodes are of {list(saved['level'].shape)} environments and numbers, "
                f"where {[self.num_envs, len(self.names)]} are expected: they belong to other "
                "settings."
            )
        ends = np.cumsum(saved["length"])
        for slot in range(self.num_envs):
            level = dict(zip(self.names, saved["level"][slot].tolist(), strict=True))
            done = list(saved["action"][ends[slot] - saved["length"][slot] : ends[slot]])
            self._episodes[slot] = Episode(level, int(saved["seed"][slot]), done)
        self._begun = saved["episode"].astype(np.int32).copy()
        seen = self.players.begin(self._episodes)
        if not np.array_equal(seen, saved["seen"]):
            warnings.warn(
                "The environments do not show again what they showed when the run was saved: they "
                "leave something to chance besides the seed, so that the run goes on, but not "
                "exactly as it would have. `dred check-task` says more.",
                stacklevel=2,
            )
        ends_of = (saved[name].astype(np.bool_) for name in ("terminated", "truncated"))
        self._now = Moment(seen, saved["reward"].astype(np.float32), *ends_of)
        return self._now


@dataclass(frozen=True, eq=False)
class HostedEnvironment:
    """How levels of an environment of Gymnasium's kind are played."""

    recipe: Recipe
    names: tuple[str, ...]
    """The numbers of a level."""
    processes: int = 0
    """Other processes in which environments are; 0 for none."""
    idle: dict[int, list[Players]] = field(default_factory=dict[int, list[Players]])
    """Environments that nobody plays in any more, by how many there are, to be used again."""

    @cached_property
    def spaces(self) -> Spaces:
        """Return what is seen and done in an environment."""
        env = self.recipe.new_env()
        spaces = Spaces(env.observation_space, env.action_space)
        env.close()
        return spaces

    @property
    def num_actions(self) -> int:
        """Return how many actions there are, or how many numbers one has."""
        return self.spaces.num_actions

    @property
    def saved(self) -> Sequence[str]:
        """Return the names of the arrays that slots save."""
        return SAVED

    def need(self) -> None:
        """Stop, saying how to install it, if Gymnasium is not there."""
        need_gymnasium()

    def open(self, num_envs: int, *, seed: int = 0) -> HostedSlots:
        """Return so many slots; environments are used again when their slots are gone."""
        waiting = self.idle.setdefault(num_envs, [])
        players = waiting.pop() if waiting else self._new_players(num_envs)
        slots = HostedSlots(players, self.names, num_envs, seed)
        weakref.finalize(slots, waiting.append, players).atexit = False
        return slots

    def _new_players(self, num_envs: int) -> Players:
        if self.processes:
            return InProcesses(self.recipe, num_envs, self.processes)
        return InProcess(self.recipe, num_envs)

    def problems(self, levels: Mapping[str, Any], steps: int, seed: int) -> list[str]:
        """Return which rules of Gymnasium's it breaks, each in a sentence."""
        return broken_rules(self.recipe, levels, steps, seed)

    def prepare(self, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Return levels as arrays."""
        return {name: jnp.asarray(levels[name], jnp.float32) for name in self.names}

    def num_levels(self, world: Mapping[str, Any]) -> int:
        """Return how many levels there are."""
        return len(world[self.names[0]])
