"""Stock Procgen, except that each environment starts the level it is told to.

    envs = ProcgenLevels("bigfish", 64)
    now = envs.reset_to(np.arange(64))
    now = envs.step(actions, lambda slots: random.integers(200, size=len(slots)))

Where an action ends an episode, the next image is already the first of another level, as in
Procgen itself, which never shows the last one. The level of a slot is always that of its image.

A level begins alike whatever was played before it. (In stock Procgen one thing survives an episode:
in dodgeball, the direction that the agent faces.)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, UInt8
from numpy.typing import ArrayLike, NDArray

from dred.errors import CheckpointError, ConfigError
from dred.tasks.procgen.simulator import Difficulty, put, start
from dred.tasks.procgen.states import LAST_LEVEL, FirstStates, settings_in

NUM_ACTIONS = 15
SAVED = ("state", "length", "level", "reward", "ended")  # what `save` returns

NextLevels = Callable[[NDArray[np.intp]], ArrayLike]
"""Asked at the end of episodes: slots, in rising order, in; the next level of each out."""


@dataclass(frozen=True)
class Moment:
    """What all slots show, and what the last actions led to."""

    image: UInt8[np.ndarray, "env 64 64 3"]
    level: Int32[np.ndarray, " env"]  # of the image
    reward: Float32[np.ndarray, " env"]  # for the last action; 0 after a reset
    ended: Bool[np.ndarray, " env"]  # by the last action, so that the image is a first one


class ProcgenLevels:
    """One Procgen game in `num_envs` slots, each in a level of the caller's choice.

    Slots are stepped by `num_threads` threads (0: by the caller's own), which changes nothing but
    speed. First states may be shared with other environments of the same game and difficulty.
    """

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        difficulty: Difficulty = "easy",
        num_threads: int = 2,
        first_states: FirstStates | None = None,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs (={num_envs}) must be at least 1.")
        first_states = first_states or FirstStates(game, difficulty=difficulty)
        if (first_states.game, first_states.difficulty) != (game, difficulty):
            raise ConfigError(
                f"These first states are of {first_states.game} ({first_states.difficulty}); "
                f"{game} ({difficulty}) needs its own."
            )
        self.game = game
        self.num_envs = num_envs
        self.difficulty: Difficulty = difficulty
        self.first_states = first_states
        self._simulator = start(
            game, num_envs, difficulty=difficulty, level=0, num_threads=num_threads
        )
        self._now: Moment | None = None

    @property
    def now(self) -> Moment:
        """What all slots show. It is not to be written to."""
        if self._now is None:
            raise ConfigError("Call reset_to() or restore() first: no episode has begun.")
        return self._now

    def reset_to(self, levels: ArrayLike) -> Moment:
        """Begin these levels, one in each slot."""
        chosen = _checked_levels(levels, self.num_envs)
        self._begin(np.arange(self.num_envs), chosen)
        self._now = Moment(
            image=self._look(),
            level=chosen,
            reward=np.zeros(self.num_envs, np.float32),
            ended=np.zeros(self.num_envs, np.bool_),
        )
        return self._now

    def step(self, actions: ArrayLike, next_levels: NextLevels) -> Moment:
        """Act once in each slot; where that ends an episode, begin the level that comes next."""
        level = self.now.level
        self._simulator.act(_checked_actions(actions, self.num_envs))
        reward, seen, ended = self._simulator.observe()  # beginning a level erases its reward
        image = seen["rgb"]
        if ended.any():
            slots = np.flatnonzero(ended)
            level = level.copy()
            level[slots] = _checked_levels(next_levels(slots), len(slots))
            self._begin(slots, level[slots])
            image = self._look()
        self._now = Moment(image=image, level=level, reward=reward, ended=ended)
        return self._now

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything needed to continue exactly, as arrays. `state` holds all slots, end to end."""
        states = self._simulator.get_state()
        return {
            "state": np.frombuffer(b"".join(states), np.uint8),
            "length": np.array([len(state) for state in states], np.int64),
            "level": self.now.level.copy(),
            "reward": self.now.reward.copy(),
            "ended": self.now.ended.copy(),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> Moment:
        """Continue from what `save` returned, here or in another process."""
        states = self._checked_states(saved)
        for slot, state in enumerate(states):
            put(self._simulator, slot, state)
        self._now = Moment(
            image=self._look(),
            level=saved["level"].astype(np.int32),
            reward=saved["reward"].astype(np.float32),
            ended=saved["ended"].astype(np.bool_),
        )
        return self._now

    def _begin(self, slots: NDArray[np.intp], levels: Int32[np.ndarray, " slot"]) -> None:
        for slot, level in zip(slots.tolist(), levels.tolist(), strict=True):
            put(self._simulator, slot, self.first_states.of(level))

    def _look(self) -> UInt8[np.ndarray, "env 64 64 3"]:
        return self._simulator.observe()[1]["rgb"]

    def _checked_states(self, saved: Mapping[str, NDArray[Any]]) -> list[bytes]:
        """The states of all slots, if they are of as many and of this game and difficulty."""
        for name in ("length", "level", "reward", "ended"):
            if name not in saved or saved[name].shape != (self.num_envs,):
                found = list(saved[name].shape) if name in saved else "nothing"
                raise CheckpointError(
                    f"The saved state has {found} for {name!r}, where one entry for each of "
                    f"{self.num_envs} environments is expected. It belongs to other settings."
                )
        ends = np.cumsum(saved["length"]).tolist()
        if "state" not in saved or saved["state"].size != ends[-1]:
            raise CheckpointError("The saved state has too few or too many bytes: it is damaged.")
        whole = saved["state"].astype(np.uint8).tobytes()
        states = [whole[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
        ours = settings_in(self._simulator.get_state()[0])
        if any(settings_in(state) != ours for state in states):
            raise CheckpointError(
                f"The saved state is not one of {self.game} ({self.difficulty}): it belongs to "
                "another game or difficulty, or is damaged."
            )
        return states


def _one_for_each(values: ArrayLike, count: int, *, what: str) -> NDArray[np.integer]:
    numbers = np.asarray(values)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu":
        raise ConfigError(
            f"Give one {what}, a whole number, for each of {count} environments; found an array of "
            f"{numbers.dtype} with the shape {list(numbers.shape)}."
        )
    return numbers


def _checked_levels(levels: ArrayLike, count: int) -> Int32[np.ndarray, " slot"]:
    numbers = _one_for_each(levels, count, what="level")
    if (numbers < 0).any() or (numbers > LAST_LEVEL).any():
        wrong = numbers[(numbers < 0) | (numbers > LAST_LEVEL)][0]
        raise ConfigError(f"There is no level {wrong}: levels are 0 to {LAST_LEVEL}.")
    return numbers.astype(np.int32)


def _checked_actions(actions: ArrayLike, count: int) -> Int32[np.ndarray, " env"]:
    numbers = _one_for_each(actions, count, what="action")
    if numbers.min() < 0 or numbers.max() >= NUM_ACTIONS:
        raise ConfigError(
            f"Actions are 0 to {NUM_ACTIONS - 1}; found {numbers.min()} to {numbers.max()}."
        )
    return numbers.astype(np.int32)
