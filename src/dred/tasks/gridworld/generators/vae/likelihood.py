"""How probable the model says that levels are: a bound by importance sampling.

    log p(level) ≥ E log 1/K Σ over k of p(level | z_k) p(z_k) / q(z_k | level),  z_k ~ q

after Burda et al. (2016), "Importance Weighted Autoencoders"; with K = 1 it is the evidence lower
bound. A level is its tiles, then its start, then its goal. The tile drawn at a start or goal is
moss or empty and becomes empty, so it has the probability of both.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.places import goal_log_odds, start_log_odds
from dred.tasks.gridworld.generators.vae.elbo import flat_places
from dred.tasks.gridworld.generators.vae.graph import CLASSES, level_graph
from dred.tasks.gridworld.generators.vae.model import Drawing, LevelVAE
from dred.tasks.gridworld.levels.level import EMPTY, MOSS, Level


def log_probability(drawing: Drawing, levels: Level) -> Float[Array, " batch"]:
    """Return log p(level | z) of each level, given what the decoder makes of its z."""
    count = levels.tiles.shape[0]
    tiles = levels.tiles.reshape(count, -1)
    goal, start = flat_places(levels)
    log_p = jax.nn.log_softmax(drawing.layout)
    kinds = jnp.array(CLASSES)
    is_kind = tiles[..., None] == kinds.astype(tiles.dtype)[None, None]
    walkable = (kinds == EMPTY) | (kinds == MOSS)
    number = jnp.arange(tiles.shape[1])[None]
    is_place = (number == goal[:, None]) | (number == start[:, None])
    possible = jnp.where(is_place[..., None], walkable[None, None], is_kind)
    cells = jax.nn.logsumexp(jnp.where(possible, log_p, -jnp.inf), axis=-1)
    can_walk = (tiles == EMPTY) | (tiles == MOSS)
    rows = jnp.arange(count)
    return (
        cells.sum(-1)
        + jax.nn.log_softmax(start_log_odds(drawing.start, can_walk))[rows, start]
        + jax.nn.log_softmax(goal_log_odds(drawing.goal, can_walk, start))[rows, goal]
    )


@eqx.filter_jit
def importance_bound(
    model: LevelVAE, levels: Level, config: VAEConfig, *, samples: int, key: PRNGKeyArray
) -> Float[Array, " batch"]:
    """Return the bound on the log-likelihood of each level, in nats, from so many samples."""
    graphs = jax.vmap(lambda level: level_graph(level, config.edges))(levels)
    latent = model.encode(graphs)

    def one(key: PRNGKeyArray) -> Float[Array, " batch"]:
        noise = jax.random.normal(key, latent.mean.shape)
        point = latent.mean + latent.deviation * noise
        log_ratio = 0.5 * (noise**2 - point**2) + jnp.log(latent.deviation + 1e-12)
        return log_probability(model.decode(point), levels) + log_ratio.sum(-1)

    weights = jax.lax.map(one, jax.random.split(key, samples))
    return jax.nn.logsumexp(weights, axis=0) - jnp.log(jnp.float32(samples))
