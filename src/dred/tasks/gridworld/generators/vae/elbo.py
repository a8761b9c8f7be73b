"""What the model maximises: a weighted evidence lower bound.

    loss = β KL / latents − w_l mean over cells of log p(cell) − w_p (log p(start) + log p(goal))

At the start and the goal the tile is unknown, so the target there is half moss, half empty. The
start is given the layout, the goal the layout and the start, just as levels are drawn
(`dred.tasks.gridworld.generators.places`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.places import goal_log_odds, start_log_odds
from dred.tasks.gridworld.generators.vae.graph import CLASSES, level_graph
from dred.tasks.gridworld.generators.vae.model import Drawing, Latent, LevelVAE, Seen
from dred.tasks.gridworld.levels.level import EMPTY, MOSS, Level


class Parts(NamedTuple):
    """The parts of the bound, means over a batch, in nats."""

    loss: Float[Array, ""]
    layout: Float[Array, ""]  # log p per cell
    goal: Float[Array, ""]
    start: Float[Array, ""]
    divergence: Float[Array, ""]  # KL from the prior, in total


def flat_places(levels: Level) -> tuple[Array, Array]:
    """Goal and start of a batch as cell numbers."""
    width = levels.tiles.shape[-1]
    return (
        levels.goal[:, 0] * width + levels.goal[:, 1],
        levels.start[:, 0] * width + levels.start[:, 1],
    )


def targets(levels: Level) -> Float[Array, "batch cell 4"]:
    """One class a cell; half moss, half empty at start and goal."""
    count = levels.tiles.shape[0]
    tiles = levels.tiles.reshape(count, -1)
    one_hot = jnp.stack([tiles == kind for kind in CLASSES], axis=-1).astype(jnp.float32)
    either = jnp.array([0.5 if kind in (MOSS, EMPTY) else 0.0 for kind in CLASSES])
    goal, start = flat_places(levels)
    cell = jnp.arange(tiles.shape[1])[None]
    is_place = (cell == goal[:, None]) | (cell == start[:, None])
    return jnp.where(is_place[..., None], either, one_hot)


def log_likelihoods(drawing: Drawing, levels: Level) -> tuple[Array, Array, Array]:
    """Of layout (mean over cells), goal and start, for each level of a batch."""
    layout = (jax.nn.log_softmax(drawing.layout) * targets(levels)).sum(-1).mean(-1)
    goal, start = flat_places(levels)
    tiles = levels.tiles.reshape(levels.tiles.shape[0], -1)
    can_walk = (tiles == EMPTY) | (tiles == MOSS)
    rows = jnp.arange(tiles.shape[0])
    return (
        layout,
        jax.nn.log_softmax(goal_log_odds(drawing.goal, can_walk, start))[rows, goal],
        jax.nn.log_softmax(start_log_odds(drawing.start, can_walk))[rows, start],
    )


def divergence(latent: Latent) -> Float[Array, " batch"]:
    """KL(N(μ, σ²) ‖ N(0, 1)), summed over the latents."""
    variance = latent.deviation**2
    return 0.5 * (variance + latent.mean**2 - 1.0 - jnp.log(variance + 1e-12)).sum(-1)


def loss_of(
    model: LevelVAE, levels: Level, config: VAEConfig, seen: Seen | None, *, key: PRNGKeyArray
) -> Parts:
    """The loss and its parts, with one sample of the latent for each level."""
    graphs = jax.vmap(lambda level: level_graph(level, config.edges))(levels)
    latent = model.encode(graphs, seen)
    noise = jax.random.normal(key, latent.mean.shape)
    drawing = model.decode(latent.mean + latent.deviation * noise, seen)
    layout, goal, start = (part.mean() for part in log_likelihoods(drawing, levels))
    kl = divergence(latent).mean()
    loss = config.beta * kl / config.latent_size
    loss = loss - config.layout_weight * layout - config.place_weight * (goal + start)
    return Parts(loss, layout, goal, start, kl)
