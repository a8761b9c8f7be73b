"""Fitting the model to a dataset."""

from collections.abc import Callable
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.optimise import moved
from dred.tasks.gridworld.config import MaskedConfig
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
from dred.tasks.gridworld.generators.masked.bound import bound, bound_given, unknown_cells
from dred.tasks.gridworld.generators.masked.cells import cells_of
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.symmetry import turned
from dred.tasks.gridworld.levels.level import Level

JUDGED_BY = 8  # sets of unknown cells for each level held back, the same after every epoch
WARM_UP = 0.03  # share of the fit in which the learning rate rises
Learner = tuple[optax.OptState, MaskedModel]  # the optimiser's state, and the mean of weights


def optimiser_of(config: MaskedConfig, levels: int) -> optax.GradientTransformation:
    """Return Adam with a learning rate that rises at first and then falls to zero."""
    steps = config.epochs * -(-levels // min(config.batch_size, levels))
    rate = optax.warmup_cosine_decay_schedule(
        0.0, config.learning_rate, max(1, round(WARM_UP * steps)), max(2, steps)
    )
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate, b2=0.99))


def begin(levels: Level, config: MaskedConfig, *, key: PRNGKeyArray) -> Fitting[MaskedModel]:
    """Return the fit of a model that knows nothing."""
    need_one_size(levels, "masked")
    count = levels.tiles.shape[0]
    held_back = max(1, round(config.validation_fraction * count))
    need_enough(count, held_back)
    model = MaskedModel(config, key=jax.random.fold_in(key, MODEL))
    fitting = new_fitting(model, optimiser_of(config, count - held_back))
    return eqx.tree_at(lambda one: one.optimiser, fitting, (fitting.optimiser, model))


def fit(
    levels: Level,
    config: MaskedConfig,
    *,
    key: PRNGKeyArray,
    fitting: Fitting[MaskedModel] | None = None,
    history: History | None = None,
    tell: Callable[[dict[str, float], Fitting[MaskedModel]], None] = lambda row, fitting: None,
) -> tuple[Fitting[MaskedModel], History]:
    """Fit a model to a batch of levels, from the beginning or from where a fit was left.

    `tell` hears of each epoch. Some levels are held back to judge by, and to stop by.
    """
    levels = Level(*(jnp.asarray(part) for part in levels))
    held_back = held_back_levels(len(levels.tiles), config.validation_fraction, key=key)
    used = np.setdiff1d(np.arange(len(levels.tiles)), held_back)
    fitting = fitting or begin(levels, config, key=key)
    some, others = (
        jax.tree.map(lambda part, chosen=chosen: part[chosen], levels)
        for chosen in (used, held_back)
    )
    history = [*(history or [])]
    while int(fitting.epochs) < config.epochs and not has_stopped(history, config.patience):
        fitting, learned, judged = one_epoch(fitting, some, others, config, key)
        row = {"epoch": float(fitting.epochs), "bound/train": float(learned)}
        row["bound/held_back"] = float(judged)
        history.append(row)
        tell(row, fitting)
    return fitting, history


def has_stopped(history: History, patience: int) -> bool:
    """Return whether the last so many epochs were all worse than the best before."""
    found = [row["bound/held_back"] for row in history]
    return len(found) > patience and max(found[-patience:]) <= max(found[:-patience])


@eqx.filter_jit
def one_epoch(
    fitting: Fitting[MaskedModel],
    levels: Level,
    others: Level,
    config: MaskedConfig,
    key: PRNGKeyArray,
) -> tuple[Fitting[MaskedModel], Float[Array, ""], Float[Array, ""]]:
    """One pass over the levels, in batches, and a look at the others: their mean bounds."""
    key_order, key_steps = jax.random.split(
        jax.random.fold_in(jax.random.fold_in(key, EPOCHS), fitting.epochs)
    )
    count, height, width = levels.tiles.shape
    batches = batches_of(count, config.batch_size, key=key_order)
    optimiser = optimiser_of(config, count)

    def step(
        carry: tuple[MaskedModel, Learner], given: tuple[Array, PRNGKeyArray, Array]
    ) -> tuple[tuple[MaskedModel, Learner], Float[Array, ""]]:
        (model, (state, mean)), (chosen, key, number) = carry, given
        key_turn, key_bound = jax.random.split(key)
        batch = jax.tree.map(lambda part: part[chosen], levels)
        if config.augment_symmetries:
            batch = turned(batch, key=key_turn)
        cells = cells_of(batch)

        def loss(model: MaskedModel) -> Float[Array, ""]:
            return -bound(model, cells, key=key_bound).mean() / (height * width)

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        model, state = moved(optimiser, state, model, gradient)
        mean = averaged(mean, model, number, config.average)
        return (model, (state, mean)), -value * (height * width)

    numbers = fitting.epochs * len(batches) + jnp.arange(len(batches))
    given = batches, jax.random.split(key_steps, len(batches)), numbers
    begun = fitting.model, cast("Learner", fitting.optimiser)
    (model, learner), found = jax.lax.scan(step, begun, given)
    judged = judge(learner[1], others, key)
    after = after_epoch(fitting, model, learner, -judged, judged_model=learner[1])
    return after, found.mean(), judged


def averaged(
    mean: MaskedModel, model: MaskedModel, number: Int[Array, ""], slow: float
) -> MaskedModel:
    """Return the mean of weights after a step, given by its number: early ones follow faster."""
    done = number.astype(jnp.float32)
    share = jnp.minimum(slow, (1.0 + done) / (10.0 + done))
    return jax.tree.map(lambda old, new: share * old + (1.0 - share) * new, mean, model)


def judge(model: MaskedModel, others: Level, key: PRNGKeyArray) -> Float[Array, ""]:
    """Return the mean bound of levels held back, by sets of cells that are always the same."""
    cells = cells_of(others)
    wide = jnp.repeat(cells, JUDGED_BY, axis=0)
    is_unknown = unknown_cells(wide.shape, key=jax.random.fold_in(key, EPOCHS + 1))
    return bound_given(model, wide, is_unknown).mean()
