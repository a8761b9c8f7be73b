"""Levels from the model: valid by construction, in the order layout, start, goal."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.tasks.gridworld.generators.parts import parts_of
from dred.tasks.gridworld.generators.places import NEVER, goal_log_odds, start_log_odds
from dred.tasks.gridworld.generators.vae.graph import CLASSES
from dred.tasks.gridworld.generators.vae.model import Drawing, Latent
from dred.tasks.gridworld.levels.level import ANY_HEADING, EMPTY, MOSS, Level

NAVIGABLE = np.array([kind in (EMPTY, MOSS) for kind in CLASSES])


def draw_levels(
    drawing: Drawing,
    shape: tuple[int, int],
    *,
    threshold: float = 0.5,
    connected: bool = False,
    temperature: float = 1.0,
    key: PRNGKeyArray,
) -> Level:
    """Draw one level for each drawing of a batch: its layout, then its start, then its goal.

    A cell can be walked on if the probability of moss and empty together is above the threshold
    and, for `connected`, if it also is in the part of the level in which start and goal most
    probably are. Whether it is moss or empty, or else lava or wall, is drawn. The start is drawn
    among all cells that can be walked on, the goal among those without the start, and both become
    empty. Where no cell is left to walk on, the place is drawn among all other cells. The
    temperature divides all log-odds but those of the threshold.
    """
    key_tiles, key_start, key_goal = jax.random.split(key, 3)
    chance = jax.nn.softmax(drawing.layout)
    navigable = jnp.asarray(NAVIGABLE)[None, None]
    can_walk = (chance * navigable.astype(chance.dtype)).sum(-1) > threshold
    if connected:
        part = parts_of(can_walk.reshape(-1, *shape)).reshape(can_walk.shape)
        can_walk = can_walk & (part == likeliest_part(part, drawing)[:, None])
    possible = can_walk[..., None] == navigable
    kind = jax.random.categorical(
        key_tiles, jnp.where(possible, drawing.layout / temperature, NEVER)
    )
    tiles = jnp.array(CLASSES)[kind]
    cell = jnp.arange(tiles.shape[-1])[None]
    start = jax.random.categorical(key_start, start_log_odds(drawing.start / temperature, can_walk))
    goal = jax.random.categorical(
        key_goal, goal_log_odds(drawing.goal / temperature, can_walk, start)
    )
    is_place = (cell == start[:, None]) | (cell == goal[:, None])
    tiles = jnp.where(is_place, EMPTY, tiles).astype(jnp.uint8)
    height, width = shape

    def place(cells: Int[Array, " batch"]) -> Int[Array, "batch 2"]:
        return jnp.stack([cells // width, cells % width], axis=-1).astype(jnp.int32)

    heading = jnp.full(start.shape, ANY_HEADING, jnp.int8)
    return Level(tiles.reshape(-1, height, width), place(goal), place(start), heading)


def likeliest_part(part: Int[Array, "batch cell"], drawing: Drawing) -> Int[Array, " batch"]:
    """The part in which start and goal most probably are: the highest product of the two."""
    count, cells = part.shape
    rows = jnp.arange(count)[:, None]

    def chance_in_part(odds: Float[Array, "batch cell"]) -> Float[Array, "batch part"]:
        chance = jax.nn.softmax(jnp.where(part > 0, odds, NEVER))
        return jnp.zeros((count, cells + 1)).at[rows, part].add(chance)

    both = chance_in_part(drawing.start) * chance_in_part(drawing.goal)
    return both.at[:, 0].set(-1.0).argmax(axis=1)


def between(first: Latent, second: Latent, share: Float[Array, " batch"]) -> Latent:
    """Points on the way from one latent to another: spherical for means, linear for deviations.

    The mean goes along the arc between the two, unless they point the same way (or opposite ways),
    where it goes straight.
    """
    t = share[:, None]
    lengths = jnp.linalg.norm(first.mean, axis=-1) * jnp.linalg.norm(second.mean, axis=-1)
    cosine = (first.mean * second.mean).sum(-1) / jnp.maximum(lengths, 1e-12)
    angle = jnp.arccos(jnp.clip(cosine, -1.0, 1.0))[:, None]
    is_straight = jnp.abs(cosine)[:, None] > 0.955
    sine = jnp.where(is_straight, 1.0, jnp.sin(angle))
    arc = (jnp.sin((1 - t) * angle) * first.mean + jnp.sin(t * angle) * second.mean) / sine
    line = (1 - t) * first.mean + t * second.mean
    deviation = (1 - t) * first.deviation + t * second.deviation
    return Latent(jnp.where(is_straight, line, arc), deviation)
