"""Gymnasium: the gridworld for the tools that people already have.

One environment (`CaveEscape`) or many in one compiled call (`CaveEscapeVector`), over any set of
levels. Both are `gymnasium.make("dred/CaveEscape-v0", levels=…)` and `make_vec` with the same name.

JAX does not survive a fork, so Gymnasium's own asynchronous vector environment needs
`context="spawn"`; `CaveEscapeVector` is faster anyway.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Int
from numpy.typing import NDArray

from dred.agents.episodes import where
from dred.environment import Transition
from dred.errors import ConfigError
from dred.tasks.gridworld.environment import (
    NUM_ACTIONS,
    GridworldEnvironment,
    State,
    check_actions,
)
from dred.tasks.gridworld.levels.dataset import LevelDataset, from_levels, load
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level
from dred.tasks.gridworld.pictures import draw_agent, draw_text
from dred.tasks.gridworld.view import View, World

Levels = LevelDataset | Level | Sequence[Level] | str | Path
Observation = dict[str, Any]


def as_dataset(levels: Levels) -> LevelDataset:
    """A set of levels from whatever stands for one: a set, a level, several, or a file's name."""
    if isinstance(levels, LevelDataset):
        return levels  # `prepare` checks its levels
    if isinstance(levels, str | Path):
        return load(levels)
    return from_levels([levels] if isinstance(levels, Level) else levels)


def observation_space() -> spaces.Dict:
    """Minigrid's image and compass."""
    return spaces.Dict(
        {"image": spaces.Box(0, 255, (5, 5, 3), np.uint8), "direction": spaces.Discrete(4)}
    )


class _Core:
    """The compiled functions that both environments share."""

    def __init__(self, levels: Levels, max_steps: int | None) -> None:
        self.dataset = as_dataset(levels)
        self.env = GridworldEnvironment(max_steps)
        self.world = self.env.prepare(self.dataset.levels)
        self.begin = jax.jit(jax.vmap(self._begin, in_axes=(None, 0, 0)))
        self.play = jax.jit(jax.vmap(self._play, in_axes=(None, 0, 0, 0, 0, 0)))

    def _begin(
        self, world: World, level: Int[Array, ""], heading: Int[Array, ""]
    ) -> tuple[State, View]:
        state = self.env.start(world, level, heading)
        return state, self.env.observe(world, state)

    def _play(
        self,
        world: World,
        state: State,
        action: Int[Array, ""],
        ended: Bool[Array, ""],
        level: Int[Array, ""],
        heading: Int[Array, ""],
    ) -> tuple[Transition[State], View]:
        """Act; or, where the last step ended an episode, begin the given level instead."""
        move = self.env.step(world, state, action)
        begun, _ = self._begin(world, level, heading)
        after = where(ended, begun, move.state)
        goes_on = ~ended
        move = Transition(
            after,
            jnp.where(ended, 0.0, move.reward),
            move.terminated & goes_on,
            move.truncated & goes_on,
        )
        return move, self.env.observe(world, after)

    def draw_start(
        self, random: np.random.Generator, options: Mapping[str, Any] | None, count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Which levels to begin, and with which headings, as asked for or by chance."""
        options = options or {}
        unknown = set(options) - {"level", "heading"}
        if unknown:
            raise ConfigError(
                f"reset(options=…) knows 'level' and 'heading', not {', '.join(sorted(unknown))}."
            )
        level = _spread(options.get("level"), count, 0, len(self.dataset) - 1, "level")
        drawn = random.integers(len(self.dataset), size=count)
        level = drawn if level is None else level
        heading = _spread(options.get("heading"), count, 0, 3, "heading")
        if heading is None:
            given = self.dataset.heading[level]
            heading = np.where(given == ANY_HEADING, random.integers(4, size=count), given)
        return level.astype(np.int32), heading.astype(np.int32)


def _spread(
    value: object, count: int, least: int, most: int, what: str
) -> NDArray[np.int64] | None:
    """An option as one number per environment; None if it was not given."""
    if value is None:
        return None
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iu" or numbers.shape not in ((), (count,)):
        raise ConfigError(
            f"The option {what!r} must be a whole number, or one for each of {count} environments; "
            f"found {value!r}."
        )
    if (numbers < least).any() or (numbers > most).any():
        raise ConfigError(f"The option {what!r} (={value!r}) must be from {least} to {most}.")
    return np.broadcast_to(numbers, (count,)).astype(np.int64)


def _observation(view: View) -> Observation:
    return {
        "image": np.array(view.image),  # a copy, which callers may write to
        "direction": np.asarray(view.direction).astype(np.int64),
    }


class CaveEscape(gymnasium.Env[Observation, np.int64]):
    """One agent in one level at a time.

    `reset()` draws a level and, if the level leaves it open, a heading;
    `reset(options={"level": 3, "heading": 0})` chooses them. Each reset's info names both.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (Gymnasium's own way)
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 8,
    }

    def __init__(
        self, levels: Levels, max_steps: int | None = None, render_mode: str | None = None
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ConfigError(
                f"render_mode (={render_mode!r}) must be None, 'rgb_array' or 'ansi'."
            )
        self.render_mode = render_mode
        self._core = _Core(levels, max_steps)
        self.observation_space = observation_space()
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._state: State | None = None

    @property
    def levels(self) -> LevelDataset:
        """The levels that are played."""
        return self._core.dataset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        level, heading = self._core.draw_start(self.np_random, options, 1)
        self._state, view = self._core.begin(self._core.world, level, heading)
        return self._first(view), {"level": int(level[0]), "heading": int(heading[0])}

    def step(
        self,
        action: Any,  # noqa: ANN401  (a whole number, or an array of one)
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act once."""
        check_actions(action)
        if np.size(action) != 1:
            raise ConfigError(f"There is one agent; give one action, not {np.size(action)}.")
        move, view = self._core.play(
            self._core.world,
            self._playing,
            np.asarray(action, np.int32).reshape(1),
            np.array([False]),
            np.zeros(1, np.int32),
            np.zeros(1, np.int32),
        )
        self._state = move.state
        reward, terminated, truncated = jax.device_get(
            (move.reward, move.terminated, move.truncated)
        )
        return self._first(view), float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}

    def _first(self, view: View) -> Observation:
        both = _observation(view)
        return {"image": both["image"][0], "direction": both["direction"][0]}

    @property
    def _playing(self) -> State:
        if self._state is None:
            raise ConfigError("Call reset() before step() or render(): no episode has begun.")
        return self._state

    def render(self) -> Any:  # noqa: ANN401  (Gymnasium's own type)
        """The level with the agent in it: a picture, or text."""
        pose = [int(part[0]) for part in jax.device_get(_pose(self._playing))]
        level = self.levels[pose[0]]
        if self.render_mode == "rgb_array":
            return draw_agent(level, pose[1], pose[2], pose[3])
        if self.render_mode == "ansi":
            return draw_text(level, pose[1], pose[2], pose[3])
        return None


def _pose(state: State) -> tuple[Array, Array, Array, Array]:
    return state.level, state.row, state.column, state.heading


class CaveEscapeVector(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Many agents side by side, in one compiled call a step.

    Where an episode has ended, the next step begins another, in a new level (Gymnasium's
    NEXT_STEP mode).
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        levels: Levels,
        num_envs: int = 1,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"num_envs (={num_envs}) must be at least 1.")
        if render_mode is not None:
            raise ConfigError("Many environments at once are not drawn. Use make_gym to see one.")
        self.render_mode = None
        self._core = _Core(levels, max_steps)
        self.num_envs = num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._state: State | None = None
        self._ended = np.zeros(num_envs, np.bool_)

    @property
    def levels(self) -> LevelDataset:
        """The levels that are played."""
        return self._core.dataset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in each environment."""
        super().reset(seed=seed)
        level, heading = self._core.draw_start(self.np_random, options, self.num_envs)
        self._state, view = self._core.begin(self._core.world, level, heading)
        self._ended = np.zeros(self.num_envs, np.bool_)
        return _observation(view), {"level": level, "heading": heading}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Act once in each environment."""
        check_actions(actions)
        if self._state is None:
            raise ConfigError("Call reset() before step(): no episode has begun.")
        if np.shape(actions) != (self.num_envs,):
            raise ConfigError(
                f"There are {self.num_envs} environments; give one action for each, not "
                f"{list(np.shape(actions))}."
            )
        level, heading = self._core.draw_start(self.np_random, None, self.num_envs)
        move, view = self._core.play(
            self._core.world,
            self._state,
            np.asarray(actions, np.int32),
            self._ended,
            level,
            heading,
        )
        self._state = move.state
        reward, terminated, truncated, playing, first = cast(
            "tuple[NDArray[Any], ...]",
            jax.device_get(
                (
                    move.reward,
                    move.terminated,
                    move.truncated,
                    move.state.level,
                    move.state.first_heading,
                )
            ),
        )
        self._ended = terminated | truncated
        info = {"level": playing, "heading": first}
        return _observation(view), reward.astype(np.float64), terminated, truncated, info


def make_gym(
    levels: Levels, *, max_steps: int | None = None, render_mode: str | None = None
) -> CaveEscape:
    """A Gymnasium environment over these levels: a set, a level, several, or a file's name."""
    return CaveEscape(levels, max_steps=max_steps, render_mode=render_mode)


def make_gym_vector(
    levels: Levels, num_envs: int, *, max_steps: int | None = None
) -> CaveEscapeVector:
    """Many of them, stepped together in one compiled call."""
    return CaveEscapeVector(levels, num_envs, max_steps=max_steps)


__all__ = ["CaveEscape", "CaveEscapeVector", "as_dataset", "make_gym", "make_gym_vector"]
