"""The highest return that a level allows: shortest ways in steps and turns.

    V(cell, heading) = 0 at the goal, else 1 + min(V after a left turn, V after a right turn,
                                                   V one cell ahead)

where walls, lava and what lies outside the level cannot be entered, found by repeating that line
until nothing changes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dred.tasks.gridworld.levels.level import ANY_HEADING, LAVA, OUTSIDE, WALL, Level

FAR = 2**20  # more steps than any way has


def reward_after(
    steps: Int[Array, "*batch"], time_limit: int | Int[Array, ""]
) -> Float[Array, "*batch"]:
    """The reward for reaching the goal after so many steps: 1 − 0.9·t/T."""
    limit = time_limit if isinstance(time_limit, int) else time_limit.astype(jnp.float32)
    return 1.0 - 0.9 * steps.astype(jnp.float32) / limit


def steps_to_goal(level: Level) -> Int[Array, "heading height width"]:
    """Actions from each cell and heading to the goal; FAR where there is no way."""
    tiles = jnp.asarray(level.tiles)
    height, width = tiles.shape
    row, column = jnp.arange(height)[:, None], jnp.arange(width)[None]
    is_goal = (row == level.goal[0]) & (column == level.goal[1])
    blocked = (tiles == WALL) | (tiles == LAVA) | (tiles == OUTSIDE)

    def improve(steps: Array) -> Array:
        around = jnp.pad(steps, ((0, 0), (1, 1), (1, 1)), constant_values=FAR)
        inner = slice(1, -1)
        ahead = jnp.stack(  # headings right, down, left, up
            [
                around[0, inner, 2:],
                around[1, 2:, inner],
                around[2, inner, :-2],
                around[3, :-2, inner],
            ]
        )
        turned = jnp.minimum(jnp.roll(steps, 1, axis=0), jnp.roll(steps, -1, axis=0))
        better = jnp.minimum(steps, 1 + jnp.minimum(ahead, turned))
        return jnp.where(blocked, FAR, jnp.minimum(better, FAR))

    def sweep(now: tuple[Array, Array]) -> tuple[Array, Array]:
        steps, _ = now
        better = improve(steps)
        return better, jnp.any(better != steps)

    first = jnp.where(is_goal, 0, jnp.full((4, height, width), FAR))
    return jax.lax.while_loop(lambda now: now[1], sweep, (first, jnp.array(True)))[0]


@eqx.filter_jit
def optimal_returns(
    levels: Level, time_limit: int | Int[Array, " level"]
) -> Float[Array, " level"]:
    """The highest return of each level of a batch; a mean over headings where that is left open.

    The time limit is that of all levels, or one for each.
    """

    def one(level: Level, time_limit: int | Int[Array, ""]) -> Float[Array, ""]:
        steps = steps_to_goal(level)[:, level.start[0], level.start[1]]
        reward = jnp.where(steps <= time_limit, reward_after(steps, time_limit), 0.0)
        given = reward[jnp.maximum(level.heading, 0)]
        return jnp.where(level.heading == ANY_HEADING, reward.mean(), given)

    batch = Level(*(jnp.asarray(part) for part in levels))
    if isinstance(time_limit, int):
        return jax.vmap(lambda level: one(level, time_limit))(batch)
    return jax.vmap(one)(batch, time_limit)
