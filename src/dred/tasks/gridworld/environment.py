"""The gridworld of the paper: walls, moss, lava, a goal, and an agent that sees a little."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from dred.environment import Environment, Transition
from dred.errors import ConfigError, DatasetError
from dred.tasks.gridworld.levels.level import (
    ANY_HEADING,
    LAVA,
    WALL,
    Level,
    as_batch,
    has_outside,
    own_sizes,
)
from dred.tasks.gridworld.optimal import reward_after
from dred.tasks.gridworld.view import (
    GOAL,
    VIEW,
    View,
    World,
    check_levels,
    draw_image,
    is_concrete,
    lay_out,
    middle_tile,
    read_lines,
)

LEFT, RIGHT, FORWARD = range(3)  # actions 3 to 6 do nothing, and take a step
NUM_ACTIONS = 7
Side = TypeVar("Side", int, Array)
STEPS, AREA = 250, 15**2  # the paper's time limits: 250 for 15×15, 2250 for 45×45


class State(eqx.Module):
    """Where an agent is."""

    level: Int[Array, ""]  # of the world
    row: Int[Array, ""]
    column: Int[Array, ""]
    heading: Int[Array, ""]  # 0 right, 1 down, 2 left, 3 up
    first_heading: Int[Array, ""]  # that with which it began
    time: Int[Array, ""]  # steps taken in this episode


class Episode(eqx.Module):
    """An agent together with the level it is in; what `reset_to` gives and `step` takes."""

    world: World
    agent: State


class Step(eqx.Module):
    """What an action did, and what the agent sees now."""

    state: Episode
    view: View
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]  # reached the goal or stepped into lava: no future reward
    truncated: Bool[Array, ""]  # out of time: the future is still worth something


class GridworldEnvironment(Environment[Level, World, State, View]):
    """The rules, for many agents that share one world of levels. See `Gridworld`."""

    max_steps: int | None = eqx.field(default=None, static=True)
    """T; in proportion to each level's area if not given: 250 for 15×15 with the border."""

    def __check_init__(self) -> None:
        given = self.max_steps
        if given is not None and (type(given) is not int or given < 1):
            raise ConfigError(f"max_steps (={given!r}) must be a whole number, at least 1.")

    @property
    def num_actions(self) -> int:
        """Actions are 0 … 6."""
        return NUM_ACTIONS

    def time_limit(self, world: World) -> int | Int[Array, " level"]:
        """Return T in this world; of each level if they differ in size."""
        if self.max_steps is not None:
            return self.max_steps
        return time_limit(world.height, world.width) if world.limit is None else world.limit

    def prepare(self, levels: Level) -> World:
        """Lay out a batch of levels for playing, with a time limit for each if some are padded.

        Where JAX traces them that is not known, so each has its own then, too.
        """
        check_levels(levels)
        same_size = is_concrete(levels.tiles) and not has_outside(levels.tiles)
        return self.lay_out(levels, several_sizes=not same_size)

    def prepare_more(self, levels: Level, world: World) -> World:
        """Lay out levels to stand beside those of a world, in its shape."""
        check_levels(levels)
        return self.lay_out(levels, several_sizes=world.limit is not None)

    def lay_out(self, levels: Level, *, several_sizes: bool) -> World:
        """Lay out proper levels, which may differ in size or do not."""
        own_limits = several_sizes and self.max_steps is None
        return lay_out(levels, limits_of(levels) if own_limits else None)

    def num_levels(self, world: World) -> int:
        """Return how many levels a world has."""
        return world.start.shape[0]

    def reset(self, world: World, level: Int[Array, ""], *, bits: UInt32[Array, ""]) -> State:
        """Return an agent at the start of a level; the bits decide a heading that is left open."""
        given = world.heading[level]
        drawn = (bits % jnp.uint32(4)).astype(jnp.int32)
        return self.start(world, level, jnp.where(given == ANY_HEADING, drawn, given))

    def start(self, world: World, level: Int[Array, ""], heading: Int[Array, ""]) -> State:
        """Return an agent at the start of a level, with this heading."""
        row, column = world.start[level, 0], world.start[level, 1]
        return State(level, row, column, heading, heading, jnp.zeros((), jnp.int32))

    def observe(self, world: World, state: State) -> View:
        """Return what the agent sees."""
        ahead = jnp.arange(VIEW)
        lines = read_lines(world, state.level, state.row, state.column, state.heading, ahead)
        return View(draw_image(lines, state.heading), state.heading)

    def step(self, world: World, state: State, action: Int[Array, ""]) -> Transition[State]:
        """Turn or walk, and see whether that was the end."""
        one = jnp.ones((1,), jnp.int32)
        line = read_lines(world, state.level, state.row, state.column, state.heading, one)[0]
        in_front = middle_tile(line)
        forward = action == FORWARD
        walks = jnp.where(forward & (in_front != WALL), 1, 0)
        turn = jnp.where(action == RIGHT, 1, 0) - jnp.where(action == LEFT, 1, 0)
        down = jnp.where(state.heading == 1, 1, 0) - jnp.where(state.heading == 3, 1, 0)
        right = jnp.where(state.heading == 0, 1, 0) - jnp.where(state.heading == 2, 1, 0)
        time = state.time + 1
        limit = self.time_limit(world)
        limit = limit if isinstance(limit, int) else limit[state.level]
        at_goal = forward & (in_front == GOAL)
        after = State(
            level=state.level,
            row=state.row + walks * down,
            column=state.column + walks * right,
            heading=(state.heading + turn) % 4,
            first_heading=state.first_heading,
            time=time,
        )
        return Transition(
            state=after,
            reward=jnp.where(at_goal, reward_after(time, limit), 0.0),
            terminated=at_goal | (forward & (in_front == LAVA)),
            truncated=time >= limit,
        )


class Gridworld(eqx.Module):
    """A grid to walk through, from start to goal.

    **View**: five by five tiles, see `View`. Walls do not block the sight.
    **Actions**: 0 turn left, 1 turn right, 2 go forward; 3 to 6 do nothing but take a step.
    **Reward**: 1 − 0.9·t/T for reaching the goal at step t of at most T, else 0.
    **End**: terminated on the goal and in lava; truncated after T steps.
    **Start**: at the level's start, with its heading, or a random one if the level leaves it open.

    These are the dynamics of Minigrid, and tested against it step by step. All methods are pure and
    work under `jit`, `vmap` and `scan`. They are for one level; training uses `environment`, which
    shares one world of levels among all agents.
    """

    max_steps: int | None = eqx.field(default=None, static=True)
    """T; in proportion to the level's area if not given: 250 for 15×15 with the border."""

    def __check_init__(self) -> None:
        _ = self.environment  # says what is wrong

    @property
    def environment(self) -> GridworldEnvironment:
        """Return the same rules for many agents."""
        return GridworldEnvironment(self.max_steps)

    @property
    def num_actions(self) -> int:
        """Actions are 0 … 6."""
        return NUM_ACTIONS

    def reset_to(self, level: Level, *, key: PRNGKeyArray) -> tuple[Episode, View]:
        """An agent at the start of this level, and what it sees."""
        if level.tiles.ndim != 2:
            raise DatasetError(
                "reset_to takes one level, such as dataset[0]. For a batch use "
                "jax.vmap(env.reset_to), or env.environment."
            )
        batch = as_batch(level) if is_concrete(*level) else as_traceable_batch(level)
        check_levels(batch)
        rules = self.environment
        world = rules.lay_out(batch, several_sizes=True)  # so that episodes have one structure
        agent = rules.reset(world, jnp.zeros((), jnp.int32), bits=jax.random.bits(key))
        return Episode(world, agent), rules.observe(world, agent)

    def step(self, state: Episode, action: ArrayLike, *, key: PRNGKeyArray | None = None) -> Step:
        """Act once. `key` is not needed: nothing in this environment is left to chance.

        Actions that do not exist are an error if their values are known; while JAX traces, they
        are not, and such actions do nothing.
        """
        check_actions(action)
        if jnp.ndim(action) != 0:
            raise ConfigError("step takes one action; for a batch use jax.vmap(env.step).")
        rules = self.environment
        after = rules.step(state.world, state.agent, jnp.asarray(action, jnp.int32))
        view = rules.observe(state.world, after.state)
        episode = Episode(state.world, after.state)
        return Step(episode, view, after.reward, after.terminated, after.truncated)


def time_limit(height: Side, width: Side) -> Side:
    """The paper's time limit, in proportion to the area, the surrounding wall included."""
    return (2 * STEPS * (height + 2) * (width + 2) + AREA) // (2 * AREA)  # to the nearest


def limits_of(levels: Level) -> Int[Array, " level"]:
    """The time limit of each level of a batch, by its own area."""
    height, width = own_sizes(jnp.asarray(levels.tiles))
    return time_limit(height.astype(jnp.int32), width.astype(jnp.int32))


def as_traceable_batch(level: Level) -> Level:
    """A batch of one level, whose parts may be traced by JAX."""
    return Level(*(jnp.asarray(part)[None] for part in level))


def check_actions(action: object) -> None:
    """Stop at actions that do not exist, if their values are known already."""
    if not is_concrete(action):
        return
    values = np.asarray(action)
    if values.dtype.kind not in "iu" or (values < 0).any() or (values >= NUM_ACTIONS).any():
        raise ConfigError(
            f"The action {values.tolist()!r} does not exist. Actions are the whole numbers 0 (turn "
            "left), 1 (turn right), 2 (go forward) and 3 to 6 (do nothing)."
        )
