"""Fitting the model to a dataset."""

from collections.abc import Callable
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from dred.config import VAEConfig
from dred.errors import DatasetError
from dred.generators.vae.elbo import Parts, loss_of
from dred.generators.vae.model import LevelVAE, Seen, with_running_values
from dred.levels.level import ANY_HEADING, Level


class Fit(NamedTuple):
    """A fitted model and how it got there."""

    last: LevelVAE
    best: LevelVAE  # by the loss on levels held back
    history: list[dict[str, float]]  # a row per epoch


def fit(
    levels: Level,
    config: VAEConfig,
    *,
    key: PRNGKeyArray,
    tell: Callable[[dict[str, float]], None] = lambda row: None,
) -> Fit:
    """Fit a model to a batch of levels; `tell` hears of each epoch."""
    levels = Level(*(jnp.asarray(part) for part in levels))
    count, height, width = levels.tiles.shape
    if config.turns and height != width:
        raise DatasetError(f"turns needs square levels; these have {height}×{width} cells.")
    key_split, key_model, key_epochs = jax.random.split(key, 3)
    order = jax.random.permutation(key_split, count)
    num_held_back = max(1, round(config.held_back * count))
    if count - num_held_back < 2:
        raise DatasetError(
            f"A model needs at least 3 levels to fit to, and a few hundred to be any good; there "
            f"{'is' if count == 1 else 'are'} {count}."
        )
    held_back, used = order[:num_held_back], order[num_held_back:]
    model = LevelVAE(config, height * width, key=key_model)
    optimiser = optax.adam(config.learning_rate)
    state = optimiser.init(eqx.filter(model, eqx.is_array))
    size = min(config.batch_size, used.shape[0])
    num_batches = -(-used.shape[0] // size)

    def step(
        carry: tuple[LevelVAE, optax.OptState], given: tuple[Int[Array, " batch"], PRNGKeyArray]
    ) -> tuple[tuple[LevelVAE, optax.OptState], Parts]:
        (model, state), (chosen, key) = carry, given
        batch = jax.tree.map(lambda part: part[chosen], levels)
        key_turn, key_noise = jax.random.split(key)
        if config.turns:
            batch = turned(batch, key=key_turn)

        def loss(model: LevelVAE) -> tuple[Array, tuple[Parts, Seen]]:
            seen: Seen = []
            parts = loss_of(model, batch, config, seen, key=key_noise)
            return parts.loss, (parts, seen)

        (_, (parts, seen)), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(model)
        changes, state = optimiser.update(gradient, state)
        moved = cast(LevelVAE, eqx.apply_updates(model, changes))
        return (with_running_values(moved, seen), state), parts

    @eqx.filter_jit
    def epoch(
        model: LevelVAE, state: optax.OptState, key: PRNGKeyArray
    ) -> tuple[LevelVAE, optax.OptState, Parts, Parts]:
        key_order, key_steps, key_judge = jax.random.split(key, 3)
        shuffled = jnp.resize(jax.random.permutation(key_order, used), (num_batches * size,))
        given = shuffled.reshape(num_batches, size), jax.random.split(key_steps, num_batches)
        (model, state), parts = jax.lax.scan(step, (model, state), given)
        others = jax.tree.map(lambda part: part[held_back], levels)
        judged = loss_of(model, others, config, None, key=key_judge)
        return model, state, jax.tree.map(jnp.mean, parts), judged

    best, least, history = model, float("inf"), []
    for number in range(config.epochs):
        key_now = jax.random.fold_in(key_epochs, number)
        model, state, learned, judged = epoch(model, state, key_now)
        row = {"epoch": float(number + 1)}
        for where, parts in (("train", learned), ("held_back", judged)):
            row |= {f"{name}/{where}": float(value) for name, value in parts._asdict().items()}
        history.append(row)
        if row["loss/held_back"] < least:
            best, least = model, row["loss/held_back"]
        tell(row)
    return Fit(model, best, history)


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
