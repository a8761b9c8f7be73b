"""Fitting the model to a dataset."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from dred.agents.optimise import moved
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.fitting import (
    EPOCHS,
    MODEL,
    Fitting,
    History,
    after_epoch,
    batches_of,
    held_back_levels,
    need_enough,
    need_one_size,
    new_fitting,
)
from dred.tasks.gridworld.generators.symmetry import need_square, turned
from dred.tasks.gridworld.generators.vae.elbo import Parts, loss_of
from dred.tasks.gridworld.generators.vae.model import LevelVAE, Seen, with_running_values
from dred.tasks.gridworld.levels.level import Level


def begin(levels: Level, config: VAEConfig, *, key: PRNGKeyArray) -> Fitting[LevelVAE]:
    """A model that knows nothing."""
    need_one_size(levels, "vae")
    count, height, width = levels.tiles.shape
    need_enough(count, round(config.validation_fraction * count))
    if config.augment_symmetries:
        need_square((height, width))
    model = LevelVAE(config, height * width, key=jax.random.fold_in(key, MODEL))
    return new_fitting(model, optax.adam(config.learning_rate))


def fit(
    levels: Level,
    config: VAEConfig,
    *,
    key: PRNGKeyArray,
    held_back: Int[np.ndarray, " held"] | None = None,
    fitting: Fitting[LevelVAE] | None = None,
    tell: Callable[[dict[str, float], Fitting[LevelVAE]], None] = lambda row, fitting: None,
) -> tuple[Fitting[LevelVAE], History]:
    """Fit a model to a batch of levels, from the beginning or from where a fit was left.

    `tell` hears of each epoch. Some levels are held back to judge by.
    """
    levels = Level(*(jnp.asarray(part) for part in levels))
    count = levels.tiles.shape[0]
    if held_back is None:
        held_back = held_back_levels(count, config.validation_fraction, key=key)
    used = np.setdiff1d(np.arange(count), held_back)
    fitting = fitting or begin(levels, config, key=key)
    some, others = (
        jax.tree.map(lambda part, chosen=chosen: part[chosen], levels)
        for chosen in (used, held_back)
    )
    history: History = []
    while int(fitting.epochs) < config.epochs:
        fitting, learned, judged = one_epoch(fitting, some, others, config, key)
        row = {"epoch": float(fitting.epochs)}
        cells = levels.tiles[0].size
        for where, parts in (("train", learned), ("held_back", judged)):
            row |= {f"{name}/{where}": float(value) for name, value in parts._asdict().items()}
            row[f"elbo/{where}"] = float(
                cells * parts.layout + parts.goal + parts.start - parts.divergence
            )
        history.append(row)
        tell(row, fitting)
    return fitting, history


@eqx.filter_jit
def one_epoch(
    fitting: Fitting[LevelVAE], levels: Level, others: Level, config: VAEConfig, key: PRNGKeyArray
) -> tuple[Fitting[LevelVAE], Parts, Parts]:
    """One pass over the levels, in batches, and a look at the others."""
    key_order, key_steps, key_judge = jax.random.split(
        jax.random.fold_in(jax.random.fold_in(key, EPOCHS), fitting.epochs), 3
    )
    batches = batches_of(levels.tiles.shape[0], config.batch_size, key=key_order)
    given = batches, jax.random.split(key_steps, len(batches))

    def step(
        carry: tuple[LevelVAE, optax.OptState], given: tuple[Int[Array, " batch"], PRNGKeyArray]
    ) -> tuple[tuple[LevelVAE, optax.OptState], Parts]:
        (model, state), (chosen, key) = carry, given
        batch = jax.tree.map(lambda part: part[chosen], levels)
        key_turn, key_noise = jax.random.split(key)
        if config.augment_symmetries:
            batch = turned(batch, key=key_turn)

        def loss(model: LevelVAE) -> tuple[Array, tuple[Parts, Seen]]:
            seen: Seen = []
            parts = loss_of(model, batch, config, seen, key=key_noise)
            return parts.loss, (parts, seen)

        (_, (parts, seen)), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(model)
        after, state = moved(optax.adam(config.learning_rate), state, model, gradient)
        return (with_running_values(after, seen), state), parts

    (model, state), parts = jax.lax.scan(step, (fitting.model, fitting.optimiser), given)
    judged = loss_of(model, others, config, None, key=key_judge)
    after = after_epoch(fitting, model, state, judged.loss)
    return after, jax.tree.map(jnp.mean, parts), judged
