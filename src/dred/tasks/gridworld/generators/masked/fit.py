"""Fitting the model to a dataset.

Learned from is the bound on the likelihood, in which start and goal weigh more than their share:
they are two cells of many. Without that, the start lies within ± .15 of its place in the order of
all floor by distance; with it within ± .09 (.03 in the dataset).
"""

from collections.abc import Callable
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

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
from dred.tasks.gridworld.generators.masked.bound import (
    bound_from,
    bound_given,
    knowledge,
    log_p_of_places,
    shown,
)
from dred.tasks.gridworld.generators.masked.cells import cells_of
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.masked.structures import structures_of, told
from dred.tasks.gridworld.generators.symmetry import turned
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level

JUDGED_BY = 8  # steps of each level held back, the same after every epoch
PLACES = 16.0  # how much more start and goal count, of which a level has but one
WARM_UP = 0.03  # share of the fit in which the learning rate rises
Learner = tuple[optax.OptState, MaskedModel]  # the optimiser's state, and the mean of weights


def optimiser_of(config: MaskedConfig, levels: int) -> optax.GradientTransformation:
    """Return Adam with a learning rate that rises at first and then falls to zero."""
    steps = config.epochs * -(-levels // min(config.batch_size, levels))
    rate = optax.warmup_cosine_decay_schedule(
        0.0, config.learning_rate, max(1, round(WARM_UP * steps)), max(2, steps)
    )
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate, b2=0.99))


class Lessons(NamedTuple):
    """Levels to learn from or to judge by, and what is known of their structures."""

    levels: Level
    label: Int[Array, " level"]
    copies: Bool[Array, "label symmetry"]  # by which symmetric copies each structure is learned

    def of(self, chosen: Int[Array, " some"]) -> "Lessons":
        """Return some of them."""
        levels = jax.tree.map(lambda part: part[chosen], self.levels)
        return Lessons(levels, self.label[chosen], self.copies)


def lessons_of(dataset: LevelDataset, config: MaskedConfig) -> Lessons:
    """Return all levels of a dataset, with their structures."""
    found = structures_of(dataset, symmetries=config.augment_symmetries)
    levels = Level(*(jnp.asarray(part) for part in dataset.levels))
    return Lessons(levels, jnp.asarray(found.label), jnp.asarray(found.copies))


def begin(lessons: Lessons, config: MaskedConfig, *, key: PRNGKeyArray) -> Fitting[MaskedModel]:
    """Return the fit of a model that knows nothing."""
    need_one_size(lessons.levels, "masked")
    count = len(lessons.label)
    held_back = max(1, round(config.validation_fraction * count))
    need_enough(count, held_back)
    structures = len(lessons.copies) - 1
    model = MaskedModel(config, structures=structures, key=jax.random.fold_in(key, MODEL))
    fitting = new_fitting(model, optimiser_of(config, count - held_back))
    return eqx.tree_at(lambda one: one.optimiser, fitting, (fitting.optimiser, model))


def fit(
    lessons: Lessons,
    config: MaskedConfig,
    *,
    key: PRNGKeyArray,
    fitting: Fitting[MaskedModel] | None = None,
    history: History | None = None,
    tell: Callable[[dict[str, float], Fitting[MaskedModel]], None] = lambda row, fitting: None,
) -> tuple[Fitting[MaskedModel], History]:
    """Fit a model to levels, from the beginning or from where a fit was left.

    `tell` hears of each epoch. Some levels are held back to judge by, and to stop by.
    """
    count = len(lessons.label)
    held_back = held_back_levels(count, config.validation_fraction, key=key)
    some = lessons.of(jnp.asarray(np.setdiff1d(np.arange(count), held_back)))
    others = lessons.of(jnp.asarray(held_back))
    fitting = fitting or begin(lessons, config, key=key)
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
    lessons: Lessons,
    others: Lessons,
    config: MaskedConfig,
    key: PRNGKeyArray,
) -> tuple[Fitting[MaskedModel], Float[Array, ""], Float[Array, ""]]:
    """One pass over the levels, in batches, and a look at the others: their mean bounds."""
    key_order, key_steps = jax.random.split(
        jax.random.fold_in(jax.random.fold_in(key, EPOCHS), fitting.epochs)
    )
    count, height, width = lessons.levels.tiles.shape
    batches = batches_of(count, config.batch_size, key=key_order)
    optimiser = optimiser_of(config, count)

    def step(
        carry: tuple[MaskedModel, Learner], given: tuple[Array, PRNGKeyArray, Array]
    ) -> tuple[tuple[MaskedModel, Learner], Float[Array, ""]]:
        (model, (state, mean)), (chosen, key, number) = carry, given
        key_turn, key_told, key_bound = jax.random.split(key, 3)
        batch = lessons.of(chosen)
        levels = batch.levels
        if config.augment_symmetries:
            levels = turned(levels, key=key_turn, allowed=lessons.copies[batch.label])
        cells, label = cells_of(levels), told(batch.label, key=key_told)

        known = knowledge(cells.shape, key=key_bound)

        def loss(model: MaskedModel) -> tuple[Float[Array, ""], Float[Array, ""]]:
            log_p = model(shown(cells, known), label)
            found = bound_from(log_p, cells, known).mean()
            places = log_p_of_places(log_p, cells, known).mean()
            return -(found + PLACES * places) / (height * width), found

        (_, found), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(model)
        model, state = moved(optimiser, state, model, gradient)
        mean = averaged(mean, model, number, config.average)
        return (model, (state, mean)), found

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


def judge(model: MaskedModel, others: Lessons, key: PRNGKeyArray) -> Float[Array, ""]:
    """Return the mean bound of levels held back, by steps that are always the same."""
    cells = jnp.repeat(cells_of(others.levels), JUDGED_BY, axis=0)
    label = jnp.repeat(others.label, JUDGED_BY, axis=0)
    known = knowledge(cells.shape, key=jax.random.fold_in(key, EPOCHS + 1))
    return bound_given(model, cells, label, known).mean()
