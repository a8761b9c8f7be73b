"""A fit in progress, of any model of levels, and which levels are held back to judge it by."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.errors import DatasetError
from dred.tasks.gridworld.levels.level import Level, has_outside

ModelT = TypeVar("ModelT")
History = list[dict[str, float]]  # a row per epoch
MODEL, SPLIT, EPOCHS = range(3)  # what the key of a fit is used for


class Fitting(eqx.Module, Generic[ModelT]):
    """A fit in progress. All that is needed to go on exactly."""

    model: ModelT
    optimiser: optax.OptState
    best: ModelT  # by the loss on levels held back
    least: Float[Array, ""]  # that loss
    epochs: Int[Array, ""]  # done


def new_fitting(model: ModelT, optimiser: optax.GradientTransformation) -> Fitting[ModelT]:
    """Return the fit of a model that knows nothing."""
    state = optimiser.init(eqx.filter(model, eqx.is_array))
    least = jnp.array(jnp.inf, jnp.float32)  # a weak type would be compiled once more
    return Fitting(model, state, model, least, jnp.zeros((), jnp.int32))


def after_epoch(
    fitting: Fitting[ModelT],
    model: ModelT,
    optimiser: Any,  # noqa: ANN401  (its state)
    judged: Float[Array, ""],
    judged_model: ModelT | None = None,
) -> Fitting[ModelT]:
    """Return a fit after one more epoch, whose loss on the levels held back is given.

    The model that is kept as the best may be another than the one that goes on learning.
    """
    candidate = model if judged_model is None else judged_model
    is_best = judged < fitting.least
    best = jax.tree.map(lambda new, old: jnp.where(is_best, new, old), candidate, fitting.best)
    least = jnp.minimum(judged, fitting.least)
    return Fitting(model, optimiser, best, least, fitting.epochs + 1)


def held_back_levels(count: int, share: float, *, key: PRNGKeyArray) -> Int[np.ndarray, " held"]:
    """The numbers of the levels by which to judge, at least one."""
    return next(folds(count, max(1, round(share * count)), key=key))


def folds(count: int, size: int, *, key: PRNGKeyArray) -> Iterator[Int[np.ndarray, " held"]]:
    """All levels in random order, so many at a time: each is held back in just one fold."""
    need_enough(count, size)
    order = np.asarray(jax.random.permutation(jax.random.fold_in(key, SPLIT), count))
    return (order[first : first + size] for first in range(0, count, size))


def need_enough(count: int, held_back: int) -> None:
    """Stop unless at least two levels are left to fit to."""
    if count - max(1, held_back) < 2:
        raise DatasetError(
            f"A model needs at least 3 levels to fit to, and a few hundred to be any good; there "
            f"{'is' if count == 1 else 'are'} {count}."
        )


def need_one_size(levels: Level, kind: str) -> None:
    """Stop at levels of several sizes."""
    if has_outside(levels.tiles):
        raise DatasetError(
            f"A generator of kind {kind} is fitted to levels of one size, and these have several. "
            "Keep those of one with `dred levels filter LEVELS --sizes 15 --out SOME`; or train "
            "with a method that needs no fitted generator, such as plr, accel-d or resample-dred, "
            "which take levels of any sizes."
        )


def batches_of(count: int, size: int, *, key: PRNGKeyArray) -> Int[Array, "batches batch"]:
    """All numbers below `count` in random order, in batches; the last is filled up."""
    size = min(size, count)
    num_batches = -(-count // size)
    shuffled = jnp.resize(jax.random.permutation(key, count), (num_batches * size,))
    return shuffled.reshape(num_batches, size)
