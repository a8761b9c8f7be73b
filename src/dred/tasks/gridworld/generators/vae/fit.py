"""Fitting the model to a dataset."""

from collections.abc import Callable, Iterator
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.optimise import moved
from dred.errors import DatasetError
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.vae.elbo import Parts, loss_of
from dred.tasks.gridworld.generators.vae.model import LevelVAE, Seen, with_running_values
from dred.tasks.gridworld.levels.level import ANY_HEADING, Level, has_outside


class Fitting(eqx.Module):
    """A fit in progress. All that is needed to go on exactly."""

    model: LevelVAE
    optimiser: optax.OptState
    best: LevelVAE  # by the loss on levels held back
    least: Float[Array, ""]  # that loss
    epochs: Int[Array, ""]  # done


History = list[dict[str, float]]  # a row per epoch


def begin(levels: Level, config: VAEConfig, *, key: PRNGKeyArray) -> Fitting:
    """A model that knows nothing."""
    if has_outside(levels.tiles):
        raise DatasetError(
            "The VAE is fitted to levels of one size, and these have several. Keep those of one "
            "with `dred levels filter LEVELS --sizes 15 --out SOME`; or train with a method that "
            "needs no VAE, such as plr, accel-d or resample-dred, which take levels of any sizes."
        )
    count, height, width = levels.tiles.shape
    need_enough(count, round(config.validation_fraction * count))
    if config.augment_symmetries and height != width:
        raise DatasetError(f"turns needs square levels; these have {height}×{width} cells.")
    model = LevelVAE(config, height * width, key=jax.random.fold_in(key, MODEL))
    state = optax.adam(config.learning_rate).init(eqx.filter(model, eqx.is_array))
    least = jnp.array(jnp.inf, jnp.float32)  # a weak type would be compiled once more
    return Fitting(model, state, model, least, jnp.zeros((), jnp.int32))


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


MODEL, SPLIT, EPOCHS = range(3)  # what a key is used for


def fit(
    levels: Level,
    config: VAEConfig,
    *,
    key: PRNGKeyArray,
    held_back: Int[np.ndarray, " held"] | None = None,
    fitting: Fitting | None = None,
    tell: Callable[[dict[str, float], Fitting], None] = lambda row, fitting: None,
) -> tuple[Fitting, History]:
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
    fitting: Fitting, levels: Level, others: Level, config: VAEConfig, key: PRNGKeyArray
) -> tuple[Fitting, Parts, Parts]:
    """One pass over the levels, in batches, and a look at the others."""
    key_order, key_steps, key_judge = jax.random.split(
        jax.random.fold_in(jax.random.fold_in(key, EPOCHS), fitting.epochs), 3
    )
    count = levels.tiles.shape[0]
    size = min(config.batch_size, count)
    num_batches = -(-count // size)
    shuffled = jnp.resize(jax.random.permutation(key_order, count), (num_batches * size,))
    given = shuffled.reshape(num_batches, size), jax.random.split(key_steps, num_batches)

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
    is_best = judged.loss < fitting.least
    best = jax.tree.map(partial(jnp.where, is_best), model, fitting.best)
    least = jnp.minimum(judged.loss, fitting.least)
    after = Fitting(model, state, best, least, fitting.epochs + 1)
    return after, jax.tree.map(jnp.mean, parts), judged


def turned(levels: Level, *, key: PRNGKeyArray) -> Level:
    """Each level of a batch as one of its eight symmetric copies; levels must be square."""
    which = jax.random.randint(key, (levels.tiles.shape[0],), 0, 8)

    def one(level: Level, number: Int[Array, ""]) -> Level:
        copies = [symmetric_copy(level, symmetry) for symmetry in range(8)]
        return jax.tree.map(lambda *parts: jnp.stack(parts)[number], *copies)

    return jax.vmap(one)(levels, which)


def symmetric_copy(level: Level, symmetry: int) -> Level:
    """One of the eight: from 4 on mirrored, then turned by quarters; its heading is left open."""
    last = level.tiles.shape[0] - 1
    tiles, places = level.tiles, [level.goal, level.start]
    if symmetry >= 4:
        tiles = tiles[:, ::-1]
        places = [jnp.stack([row, last - column]) for row, column in places]
    for _ in range(symmetry % 4):
        tiles = jnp.rot90(tiles)
        places = [jnp.stack([last - column, row]) for row, column in places]
    goal, start = places
    return Level(tiles, goal, start, jnp.full_like(level.heading, ANY_HEADING))
