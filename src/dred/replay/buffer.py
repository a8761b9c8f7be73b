"""The level buffer: a fixed number of slots, filled, rescored and emptied a batch at a time.

All that is known of a level stands in the same row of every array, so a level cannot lose its
score. A level also has a number of its own, given out once and never again, by which its children
remember it. Empty slots have the number −1.
"""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

EMPTY = -1  # the number of a slot without a level, and of a level without a parent
NEVER = -jnp.inf  # the best return in a level that was never finished
FROM_DATASET, NEW, MUTATED = 0, 1, 2  # `made_by`: the dataset, or which generator of the method


class Buffer(eqx.Module):
    """Levels and what is known of them. Row i of every array is slot i."""

    levels: Any  # leaves [slot, …]
    fingerprint: UInt32[Array, "slot 2"]  # of the level's content
    number: Int[Array, " slot"]  # the level's own; EMPTY if there is none
    from_dataset: Bool[Array, " slot"]
    is_scored: Bool[Array, " slot"]
    primary: Float[Array, " slot"]  # score
    secondary: Float[Array, " slot"]  # score
    best: Float[Array, " slot"]  # highest return so far
    optimal: Float[Array, " slot"]  # highest return that is possible
    last_drawn: Int[Array, " slot"]  # the draw at which it was drawn or admitted last
    birth: Int[Array, " slot"]  # updates done when it was admitted
    parent: Int[Array, " slot"]  # number of the level it was made from, or EMPTY
    generation: Int[Array, " slot"]  # how many times it was made from another
    made_by: Int[Array, " slot"]  # FROM_DATASET, NEW or MUTATED
    average: Float[Array, " slot"]  # running mean of P_Λ; 0 when a level enters
    num_draws: Int[Array, ""]
    next_number: Int[Array, ""]
    num_admitted: Int[Array, ""]
    num_refused: Int[Array, ""]
    num_evicted: Int[Array, ""]
    num_unusable: Int[Array, ""]  # scores that were not finite, and were not taken

    @property
    def capacity(self) -> int:
        """Slots."""
        return self.number.shape[0]

    @property
    def is_used(self) -> Bool[Array, " slot"]:
        """Slots with a level."""
        return self.number != EMPTY

    @property
    def share_full(self) -> Float[Array, ""]:
        """Share of the slots that hold a level."""
        return self.is_used.mean()

    @property
    def staleness(self) -> Int[Array, " slot"]:
        """Draws since the level was drawn or admitted."""
        return self.num_draws - self.last_drawn


@partial(jax.jit, static_argnames="capacity")
def new_buffer(levels: Any, optimal: Float[Array, " level"], capacity: int) -> Buffer:  # noqa: ANN401
    """A buffer with room for `capacity` levels that begins with these, of the dataset, unscored."""
    count = optimal.shape[0]
    used = jnp.arange(capacity) < count

    def widen(leaf: Array) -> Array:
        room = jnp.zeros((capacity - count, *leaf.shape[1:]), leaf.dtype)
        return jnp.concatenate([jnp.asarray(leaf), room])

    nothing, zero = jnp.zeros(capacity, jnp.int32), jnp.zeros((), jnp.int32)
    return Buffer(
        levels=jax.tree.map(widen, levels),
        fingerprint=widen(fingerprints(levels)),
        number=jnp.where(used, jnp.arange(capacity), EMPTY),
        from_dataset=used,
        is_scored=jnp.zeros(capacity, jnp.bool_),
        primary=jnp.zeros(capacity),
        secondary=jnp.zeros(capacity),
        best=jnp.full(capacity, NEVER, jnp.float32),
        optimal=widen(optimal),
        last_drawn=nothing,
        birth=nothing,
        parent=nothing + EMPTY,
        generation=nothing,
        made_by=nothing + FROM_DATASET,
        average=jnp.zeros(capacity),
        num_draws=zero,
        next_number=zero + count,
        num_admitted=zero,
        num_refused=zero,
        num_evicted=zero,
        num_unusable=zero,
    )


def fingerprints(levels: Any) -> UInt32[Array, "level 2"]:  # noqa: ANN401  (any pytree)
    """64 bits of each level's content: equal for equal levels, and hardly ever for others.

    Each word of a level is multiplied by a random odd number of its place; two such sums.
    """
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(levels)]
    count = leaves[0].shape[0]
    words = jnp.concatenate([in_words(leaf, count) for leaf in leaves], axis=1)
    odd = jax.random.bits(jax.random.key(0), (words.shape[1], 2)) | jnp.uint32(1)
    sums = jnp.stack([((words + 1) * odd[None, :, i]).sum(axis=1) for i in range(2)], axis=1)
    mixed = (sums ^ (sums >> 16)) * jnp.uint32(0x45D9F3B)  # the high bits are the well mixed ones
    return mixed ^ (mixed >> 16)


def in_words(leaf: Array, count: int) -> UInt32[Array, "level word"]:
    """The content of an array, 32 bits at a time."""
    flat = leaf.reshape(count, math.prod(leaf.shape[1:]))
    if jnp.issubdtype(flat.dtype, jnp.floating):
        return jax.lax.bitcast_convert_type(flat.astype(jnp.float32), jnp.uint32)
    return flat.astype(jnp.uint32)


def locate(buffer: Buffer, levels: Any) -> Int[Array, " level"]:  # noqa: ANN401  (any pytree)
    """The slots that hold levels with this content; out of range for those that are not there."""
    marks = fingerprints(levels)
    same = jnp.all(marks[:, None] == buffer.fingerprint[None], axis=-1) & buffer.is_used[None]
    return jnp.where(same.any(axis=1), same.argmax(axis=1), buffer.capacity)


def rescore(
    buffer: Buffer,
    slots: Int[Array, " level"],
    *,
    primary: Float[Array, " level"],
    secondary: Float[Array, " level"],
    best: Float[Array, " level"],
    smoothing: float = 0.0,
) -> Buffer:
    """New scores for some slots, of which old ones keep a share; slots out of range are left alone.

    A score that is not finite is not taken, but counted: a level that has no other stays unscored.
    """
    share = jnp.where(buffer.is_scored.at[slots].get(mode="fill", fill_value=False), smoothing, 0.0)
    old_primary, old_secondary = (
        column.at[slots].get(mode="fill", fill_value=0.0)
        for column in (buffer.primary, buffer.secondary)
    )
    is_usable = are_finite(primary, secondary)
    num_unusable = buffer.num_unusable + (~is_usable & (slots < buffer.capacity)).sum()
    slots = jnp.where(is_usable, slots, buffer.capacity)

    def put(column: Array, values: Array | bool) -> Array:
        return column.at[slots].set(values, mode="drop")

    return eqx.tree_at(
        lambda b: (b.primary, b.secondary, b.best, b.is_scored, b.num_unusable),
        buffer,
        (
            put(buffer.primary, mixed(primary, old_primary, share)),
            put(buffer.secondary, mixed(secondary, old_secondary, share)),
            buffer.best.at[slots].max(best, mode="drop"),
            put(buffer.is_scored, True),
            num_unusable,
        ),
    )


def mixed(
    new: Float[Array, " level"], old: Float[Array, " level"], share: Float[Array, " level"]
) -> Float[Array, " level"]:
    """Values with a share of old ones; exactly the new where it is 0."""
    return jnp.where(share > 0, (1.0 - share) * new + share * old, new)


def are_finite(*scores: Float[Array, " level"]) -> Bool[Array, " level"]:
    """Where all of these scores are finite."""
    return jnp.all(jnp.stack([jnp.isfinite(score) for score in scores]), axis=0)


def note_draws(buffer: Buffer, slots: Int[Array, " draw"], is_draw: Bool[Array, " draw"]) -> Buffer:
    """Count draws, in this order; entries that are none are passed over."""
    when = buffer.num_draws + jnp.cumsum(is_draw)
    where = jnp.where(is_draw, slots, buffer.capacity)
    last_drawn = buffer.last_drawn.at[where].max(when, mode="drop")
    total = buffer.num_draws + is_draw.sum()
    return eqx.tree_at(lambda b: (b.last_drawn, b.num_draws), buffer, (last_drawn, total))
