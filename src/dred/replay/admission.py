"""Who enters the buffer: candidates in order of score meet slots in order of worth."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dred.replay.buffer import Buffer, are_finite, fingerprints, locate, rescore


class Candidates(eqx.Module):
    """Levels that would like to enter a buffer. Row i of every array is candidate i."""

    levels: Any
    primary: Float[Array, " candidate"]
    secondary: Float[Array, " candidate"]
    best: Float[Array, " candidate"]
    optimal: Float[Array, " candidate"]
    is_scored: Bool[Array, " candidate"]
    is_complete: Bool[Array, " candidate"]  # scored by an episode that ended
    may_enter: Bool[Array, " candidate"]
    parent: Int[Array, " candidate"]
    generation: Int[Array, " candidate"]
    made_by: Int[Array, ""]
    birth: Int[Array, ""]


def admit(
    buffer: Buffer,
    candidates: Candidates,
    *,
    worth: Callable[[Buffer], Float[Array, " slot"]],
    by: str,
) -> tuple[Buffer, Int[Array, " candidate"]]:
    """Let candidates in, and say into which slots; a slot out of range means not admitted.

    Free slots are filled first, then those of least worth, but never a level of the dataset. The
    best candidate is set against the slot of least worth, the second best against the next, and so
    on; it enters if the slot is free or its score is at least that of the level there. `by` names
    the score, primary or secondary. A candidate whose content is in the buffer already does not
    enter; its scores replace those of that level instead, if an episode ended or the level has no
    score. Of candidates with the same content only the best counts, whatever their order. Scores
    that are not finite admit nobody.
    """
    capacity = buffer.capacity
    home = locate(buffer, candidates.levels)
    is_known = home < capacity
    has_score = buffer.is_scored.at[home].get(mode="fill", fill_value=False)
    may_rescore = is_known & candidates.is_scored & (candidates.is_complete | ~has_score)
    buffer = rescore(
        buffer,
        jnp.where(are_best_of_twins(candidates, may_rescore, by), home, capacity),
        primary=candidates.primary,
        secondary=candidates.secondary,
        best=candidates.best,
    )
    is_usable = are_finite(candidates.primary, candidates.secondary)
    may_enter = candidates.may_enter & is_usable & ~is_known
    wanted = are_best_of_twins(candidates, may_enter, by)
    seats = seat(buffer, wanted, getattr(candidates, by), worth(buffer), getattr(buffer, by))
    num_unusable = buffer.num_unusable + (~is_usable & ~is_known).sum()
    after = replace(with_entered(buffer, candidates, seats), num_unusable=num_unusable)
    return after, jnp.full(seats.order.shape, capacity).at[seats.order].set(seats.slots)


def are_best_of_twins(
    candidates: Candidates, counts: Bool[Array, " candidate"], by: str
) -> Bool[Array, " candidate"]:
    """Return which of the candidates that count are the best of those with the same content."""
    marks = fingerprints(candidates.levels)
    twins = jnp.all(marks[:, None] == marks[None], axis=-1)
    rank = jnp.argsort(jnp.argsort(jnp.where(counts, -getattr(candidates, by), jnp.inf)))
    better = twins & counts[None] & (rank[None] < rank[:, None])
    return counts & ~better.any(axis=1)


class Seats(NamedTuple):
    """Which candidates enter, and where."""

    order: Int[Array, " candidate"]  # the best first, the unwanted last
    slots: Int[Array, " candidate"]  # of each in this order; out of range if it does not enter
    enters: Bool[Array, " candidate"]  # in this order
    is_free: Bool[Array, " candidate"]  # whether the slot it is set against is


def seat(
    buffer: Buffer,
    wanted: Bool[Array, " candidate"],
    score: Float[Array, " candidate"],
    worth: Float[Array, " slot"],
    held: Float[Array, " slot"],
) -> Seats:
    """Set candidates against slots; `held` are the scores of the levels in them."""
    order = jnp.argsort(jnp.where(wanted, -score, jnp.inf))
    keep = jnp.where(buffer.is_used, jnp.where(buffer.from_dataset, jnp.inf, worth), -jnp.inf)
    least, slots = jax.lax.top_k(-keep, score.shape[0])
    is_free, is_permanent = least == jnp.inf, least == -jnp.inf
    enters = wanted[order] & (is_free | (score[order] >= held[slots])) & ~is_permanent
    return Seats(order, jnp.where(enters, slots, buffer.capacity), enters, is_free)


def with_entered(buffer: Buffer, candidates: Candidates, seats: Seats) -> Buffer:
    """Return the buffer with the candidates in their slots, all columns by the same scatter."""
    order, slots, enters, is_free = seats
    count, num_entered = order.shape[0], enters.sum()

    def put(column: Array, values: Array) -> Array:
        return column.at[slots].set(values, mode="drop")

    def put_all(column: Array, values: Array) -> Array:
        return put(column, values[order])

    return Buffer(
        levels=jax.tree.map(put_all, buffer.levels, candidates.levels),
        fingerprint=put_all(buffer.fingerprint, fingerprints(candidates.levels)),
        number=put(buffer.number, buffer.next_number + jnp.cumsum(enters) - 1),
        from_dataset=put(buffer.from_dataset, jnp.zeros(count, jnp.bool_)),
        is_scored=put_all(buffer.is_scored, candidates.is_scored),
        primary=put_all(buffer.primary, candidates.primary),
        secondary=put_all(buffer.secondary, candidates.secondary),
        best=put_all(buffer.best, candidates.best),
        optimal=put_all(buffer.optimal, candidates.optimal),
        last_drawn=put(buffer.last_drawn, jnp.broadcast_to(buffer.num_draws, count)),
        birth=put(buffer.birth, jnp.broadcast_to(candidates.birth, count)),
        parent=put_all(buffer.parent, candidates.parent),
        generation=put_all(buffer.generation, candidates.generation),
        made_by=put(buffer.made_by, jnp.broadcast_to(candidates.made_by, count)),
        average=put(buffer.average, jnp.zeros(count)),
        num_draws=buffer.num_draws,
        next_number=buffer.next_number + num_entered,
        num_admitted=buffer.num_admitted + num_entered,
        num_refused=buffer.num_refused + count - num_entered,
        num_evicted=buffer.num_evicted + (enters & ~is_free).sum(),
        num_unusable=buffer.num_unusable,
    )
