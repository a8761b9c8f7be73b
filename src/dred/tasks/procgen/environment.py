"""Procgen behind the core's adapter for simulators: levels are numbers, observations images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dred.compute import num_cores
from dred.host import Moment, NextLevels
from dred.tasks.procgen.levels import NUM_ACTIONS, SAVED, ProcgenLevels
from dred.tasks.procgen.levels import Moment as Shown
from dred.tasks.procgen.simulator import Difficulty, need_procgen
from dred.tasks.procgen.states import FirstStates

COLUMN = "level"  # of a table of levels: Procgen's own number
FEW = 32  # slots, up to which the caller's own thread steps them


class ProcgenSlots:
    """Slots of a game, each in a level of the caller's choice."""

    def __init__(self, envs: ProcgenLevels) -> None:
        self.envs = envs

    @property
    def num_envs(self) -> int:
        """Return how many there are."""
        return self.envs.num_envs

    def observe(self) -> Moment:
        """Return what all of them show."""
        return _as_moment(self.envs.now)

    def reset_to(self, levels: Mapping[str, NDArray[Any]]) -> Moment:
        """Begin these levels, one in each slot."""
        return _as_moment(self.envs.reset_to(levels[COLUMN]))

    def step(self, actions: NDArray[Any], next_levels: NextLevels) -> Moment:
        """Act once in each slot; where that ends an episode, begin the level that comes next."""
        return _as_moment(self.envs.step(actions, lambda slots: next_levels(slots)[COLUMN]))

    def save(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to continue exactly."""
        return self.envs.save()

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> Moment:
        """Continue from what was saved."""
        return _as_moment(self.envs.restore(saved))


def _as_moment(shown: Shown) -> Moment:
    """[fidelity 81] A time-out counts as an end, as released: its last image is never shown."""
    return Moment(shown.image, shown.reward, shown.ended, np.zeros_like(shown.ended))


@cache
def first_states(game: str, difficulty: Difficulty) -> FirstStates:
    """Return the first states of a game's levels, shared by all that play it here."""
    return FirstStates(game, difficulty=difficulty)


@dataclass(frozen=True)
class ProcgenEnvironment:
    """How the levels of one game are played."""

    game: str
    difficulty: Difficulty = "easy"

    @property
    def num_actions(self) -> int:
        """Return how many actions there are."""
        return NUM_ACTIONS

    @property
    def saved(self) -> Sequence[str]:
        """Return the names of the arrays that slots save."""
        return SAVED

    def need(self) -> None:
        """Stop, saying how to install it, if the simulator is not there."""
        need_procgen()

    def open(self, num_envs: int, *, seed: int = 0) -> ProcgenSlots:
        """Return so many slots; levels leave nothing to chance."""
        del seed
        states = first_states(self.game, self.difficulty)
        envs = ProcgenLevels(
            self.game,
            num_envs,
            difficulty=self.difficulty,
            num_threads=0 if num_envs <= FEW or num_cores() == 1 else 2,
            first_states=states,
        )
        return ProcgenSlots(envs)

    def prepare(self, levels: Mapping[str, Any]) -> dict[str, Any]:
        """Return levels as arrays."""
        return {name: jnp.asarray(column) for name, column in levels.items()}

    def num_levels(self, world: Mapping[str, Any]) -> int:
        """Return how many levels there are."""
        return len(world[COLUMN])
