"""The distribution from which levels are drawn.

    P_Λ = (1 − ρ) · ((1 − η) · P_S + η · P_S') + ρ · P_R

P_S and P_S' prefer levels with high scores, P_R those that were not drawn for long. Each lives on
its own support. It is computed once for a rollout; a draw is then a search in its cumulative sum.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from dred.config import MethodConfig, ScheduleConfig, TermConfig
from dred.replay.buffer import Buffer, are_finite

Weights = Float[Array, " slot"]
Support = Bool[Array, " slot"]


def by_rank(score: Weights, support: Support, temperature: float) -> Weights:
    """rank^(−1/T); the best has rank 1. Equal scores share the weights of the ranks they take."""
    key = in_whole_numbers(jnp.where(support, -score, jnp.inf))
    slot = jnp.arange(score.shape[0])
    ordered, order = jax.lax.sort((key, slot), num_keys=1, is_stable=False)
    rank = jnp.arange(1, score.shape[0] + 1, dtype=jnp.float32)
    weight = jnp.where(support[order], rank ** (-1.0 / temperature), 0.0)
    is_new = jnp.concatenate([jnp.zeros(1, jnp.int32), (ordered[1:] != ordered[:-1]).astype(int)])
    group = jnp.cumsum(is_new)
    size = score.shape[0]
    total = jax.ops.segment_sum(weight, group, size, indices_are_sorted=True)
    members = jax.ops.segment_sum(jnp.ones(size), group, size, indices_are_sorted=True)
    shared = (total / jnp.maximum(members, 1.0))[group]
    return jnp.zeros_like(score).at[order].set(jnp.where(support[order], shared, 0.0))


def in_whole_numbers(values: Weights) -> Int[Array, " slot"]:
    """Whole numbers in the same order as these, equal where they are; a third faster to sort."""
    bits = jax.lax.bitcast_convert_type(values + 0.0, jnp.int32)  # + 0 turns −0 into 0
    return jnp.where(bits < 0, jnp.iinfo(jnp.int32).min - bits, bits)


def by_power(score: Weights, support: Support, temperature: float) -> Weights:
    """score^(1/T), where scores are positive; scaled by the largest, so as not to overflow."""
    positive = jnp.where(support, jnp.maximum(score, 0.0), 0.0)
    weights = (positive / jnp.maximum(positive.max(), 1e-30)) ** (1.0 / temperature)
    return jnp.where(positive > 0, weights, 0.0)


def in_proportion(score: Weights, support: Support, temperature: float) -> Weights:
    """The score itself; temperature does not matter."""
    del temperature
    return by_power(score, support, 1.0)


TRANSFORMS: dict[str, Callable[[Weights, Support, float], Weights]] = {
    "rank": by_rank,
    "power": by_power,
    "proportional": in_proportion,
}


def normalise(weights: Weights, support: Support) -> Weights:
    """Weights that sum to 1: alike on the support if none is positive; 0 if there is no support."""
    total = weights.sum()
    alike = jnp.where(support, 1.0, 0.0) / jnp.maximum(support.sum(dtype=jnp.float32), 1.0)
    return jnp.where(total > 0, weights / jnp.where(total > 0, total, 1.0), alike)


def scheduled(config: ScheduleConfig, progress: Float[Array, ""]) -> Float[Array, ""]:
    """The value of a schedule at a share of training."""
    length = max(config.ends - config.begins, 1e-9)
    share = jnp.clip((progress - config.begins) / length, 0.0, 1.0)
    shapes: dict[str, Callable[[Array], Array]] = {
        "linear": lambda share: share,
        "cosine": lambda share: 0.5 - 0.5 * jnp.cos(jnp.pi * share),
        "step": lambda share: jnp.where(share >= 0.5, 1.0, 0.0),
    }
    return config.start + (config.end - config.start) * shapes[config.shape](share)


def probabilities(
    buffer: Buffer, method: MethodConfig, eta: Float[Array, ""]
) -> Float[Array, " slot"]:
    """P_Λ. Only scored levels can be drawn; a term without support leaves its share to others.

    A level whose score is not finite counts as never scored.
    """
    known = buffer.is_used & buffer.is_scored & are_finite(buffer.primary, buffer.secondary)
    supports = {"buffer": known, "dataset": known & buffer.from_dataset}

    def term(config: TermConfig, score: Weights) -> Weights:
        support = supports[config.over]
        safe = jnp.where(support, score, 0.0)
        weights = TRANSFORMS[config.transform](safe, support, config.temperature)
        return normalise(weights, support)

    score_part = term(method.primary, buffer.primary)
    if method.secondary is not None:
        score_part = (1.0 - eta) * score_part + eta * term(method.secondary, buffer.secondary)
    if method.staleness > 0.0:
        support = supports[method.staleness_over]
        age = buffer.staleness.astype(jnp.float32)
        stale_part = normalise(by_power(age, support, method.staleness_temperature), support)
        score_part = (1.0 - method.staleness) * score_part + method.staleness * stale_part
    total = normalise(score_part, known)
    if method.largest_share < 1.0:
        total = capped(total, method.largest_share)
    nobody = ~known.any()
    spread = normalise(jnp.zeros_like(total), buffer.is_used | ~buffer.is_used.any())
    total = jnp.where(nobody, spread, total)
    if method.unseen_first:
        unseen = buffer.from_dataset & ~buffer.is_scored
        total = jnp.where(unseen.any(), normalise(jnp.zeros_like(total), unseen), total)
    return total


def capped(probability: Float[Array, " slot"], most: float) -> Float[Array, " slot"]:
    """Probabilities of at most this; what is above goes to the others, in proportion.

    With few levels, the most is what makes all of them alike.
    """
    largest = jnp.maximum(most, 1.0 / jnp.maximum((probability > 0).sum(dtype=jnp.float32), 1.0))
    ordered = jnp.sort(probability)[::-1]
    num_capped = jnp.arange(ordered.shape[0], dtype=jnp.float32)
    rest = jnp.cumsum(ordered[::-1])[::-1]  # of all but the largest `num_capped`
    scale = (1.0 - num_capped * largest) / jnp.maximum(rest, 1e-30)
    fits = ordered * scale <= largest * (1.0 + 1e-6)
    return normalise(jnp.minimum(probability * scale[fits.argmax()], largest), probability > 0)


def drawn_from(probability: Float[Array, " slot"]) -> Callable[[UInt32[Array, ""]], Int[Array, ""]]:
    """A source of levels: 32 random bits in, a slot out, by a search in the cumulative sum.

    Probabilities are counted in whole 2^−31, so that the sum is exact and never falls, as that of
    floating-point numbers may: a slot of probability 0 is never drawn.
    """
    shares = jnp.round(probability * 2.0**31).astype(jnp.uint32)
    upto = jnp.cumsum(shares)

    def draw(bits: UInt32[Array, ""]) -> Int[Array, ""]:
        point = scaled_down(bits, upto[-1])
        found = jnp.searchsorted(upto, point, side="right", method="scan_unrolled")
        return found.astype(jnp.int32)

    return draw


def scaled_down(bits: UInt32[Array, ""], total: UInt32[Array, ""]) -> UInt32[Array, ""]:
    """⌊bits · total / 2^32⌋, in 32-bit arithmetic: a whole number below the total."""
    high, low = bits >> 16, bits & 0xFFFF
    total_high, total_low = total >> 16, total & 0xFFFF
    crossed, other = high * total_low, low * total_high
    carried = (crossed & 0xFFFF) + (other & 0xFFFF) + ((low * total_low) >> 16)
    return high * total_high + (crossed >> 16) + (other >> 16) + (carried >> 16)


def averaged(
    mean: Float[Array, " slot"], now: Float[Array, " slot"], count: Int[Array, ""], window: int
) -> Float[Array, " slot"]:
    """The running mean after one more value, the `count`th.

        m ← m + (p − m) / min(count, window)

    The plain mean at first; later the weight of old values falls by 1 − 1/window at each step.
    """
    return mean + (now - mean) / jnp.minimum(count, window).astype(jnp.float32)


def note_distribution(
    buffer: Buffer, chances: Float[Array, " slot"], *, count: Int[Array, ""], window: int
) -> Buffer:
    """Take P_Λ as it is now into the running mean of the buffer."""
    average = averaged(buffer.average, chances, count, window)
    return eqx.tree_at(lambda b: b.average, buffer, average)


def average_probabilities(buffer: Buffer) -> Float[Array, " slot"]:
    """P_Λ averaged over the last updates, for the levels that are in the buffer now.

    One P_Λ says little: at T = 0.1 one level holds most of it, and another at the next update.
    """
    return normalise(jnp.where(buffer.is_used, buffer.average, 0.0), buffer.is_used)


def effective_number(probability: Float[Array, " slot"]) -> Float[Array, ""]:
    """How many equally likely levels would be as hard to guess: exp of the entropy."""
    return jnp.exp(-jnp.sum(jnp.where(probability > 0, probability * jnp.log(probability), 0.0)))
