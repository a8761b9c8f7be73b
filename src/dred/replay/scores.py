"""What makes a level worth replaying: scores of episodes, as pure functions.

A score is a function of a `Trace` that gives a number for each step. The score of an episode is the
mean over its steps, the score of a level the mean over the episodes that ended in a rollout. To add
one, write the function and give it a name in `SCORES`.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from dred.agents.rollout import Rollout
from dred.replay.buffer import Buffer, rescore

Steps = Float[Array, "time env"]


class Trace(eqx.Module):
    """What scores may use: a number for each step of a rollout."""

    advantage: Steps  # generalised, not normalised
    surprise: Steps  # one-step error of the critic, r + γ V' − V
    value: Steps  # V, what the critic expected
    entropy: Steps  # of the policy
    returned: Steps  # undiscounted, by the step's whole episode
    best: Steps  # highest return ever in the step's level
    optimal: Steps  # highest return possible in the step's level
    success: Steps  # share of the level's episodes in this rollout that were solved
    level_nll: Steps  # −ln p(level) by a classifier that guesses the level; 0 if there is none
    length: Steps  # steps of the step's whole episode


Score = Callable[[Trace], Steps]

SCORES: dict[str, Score] = {
    "uniform": lambda trace: jnp.ones_like(trace.value),
    "value_l1": lambda trace: jnp.abs(trace.advantage),
    "positive_value_loss": lambda trace: jnp.maximum(trace.advantage, 0.0),
    "signed_value_loss": lambda trace: trace.advantage,
    "one_step_td_error": lambda trace: jnp.abs(trace.surprise),
    "maxmc": lambda trace: jnp.maximum(trace.best - trace.value, 0.0),
    "grounded_value_l1": lambda trace: jnp.where(trace.best > 0, jnp.abs(trace.advantage), 0.0),
    "policy_entropy": lambda trace: trace.entropy,
    "true_regret": lambda trace: trace.optimal - trace.returned,
    "learnability": lambda trace: trace.success * (1.0 - trace.success),
    "level_nll": lambda trace: trace.level_nll * trace.length,  # summed over the episode
}


class LevelScores(eqx.Module):
    """How a rollout went in each level. Levels that were not played have no episodes."""

    episodes: Int[Array, " level"]  # that are counted
    completed: Int[Array, " level"]  # those that ended: all that are counted, or none
    primary: Float[Array, " level"]  # score
    secondary: Float[Array, " level"]  # score
    best: Float[Array, " level"]  # highest return in this rollout; −∞ if not played
    mean_return: Float[Array, " level"]
    value_loss: Float[Array, " level"]  # mean |advantage|
    solved: Bool[Array, " level"]  # at least once


def score_levels(
    rollout: Rollout[Any],
    advantage: Steps,
    *,
    best: Float[Array, " level"],
    optimal: Float[Array, " level"],
    scores: tuple[str, str],
    discount: float,
    is_solved: Callable[[Array], Array],
    level_nll: Steps | None = None,
) -> LevelScores:
    """Score every level of a rollout's world.

    Episodes that the end of the rollout cuts short do not count, except in levels where no other
    ended: a level is never left without a score because its episodes are long. Such a result may be
    a level's first, but does not replace another (see `record`): what a cut episode would still
    have got is unknown, and counting it as nothing makes a mastered level look badly judged.
    """
    sums = Sums.of(rollout, best.shape[0])
    ones = jnp.ones_like(advantage)
    completed = sums.per_level(ones, rollout.ended)
    is_last = jnp.arange(ones.shape[0])[:, None] == ones.shape[0] - 1
    counts = rollout.ended | (is_last & (completed[rollout.level] == 0))
    episodes = sums.per_level(ones, counts)
    shown = jnp.maximum(episodes, 1.0)
    returned = sums.per_episode(rollout.reward)
    success = sums.per_level(jnp.where(is_solved(returned), 1.0, 0.0), counts) / shown
    ends = jnp.where(counts, returned, -jnp.inf)
    best_now = jnp.full(best.shape, -jnp.inf).at[rollout.level].max(ends)
    trace = trace_of(
        rollout,
        advantage,
        discount=discount,
        returned=returned,
        best=jnp.maximum(best, best_now),
        optimal=optimal,
        success=success,
        level_nll=level_nll,
        length=sums.length,
    )

    def of_levels(value: Steps) -> Float[Array, " level"]:
        return sums.per_level(sums.per_episode(value) / sums.length, counts) / shown

    primary, secondary = (of_levels(SCORES[name](trace)) for name in scores)
    return LevelScores(
        episodes=episodes.astype(jnp.int32),
        completed=completed.astype(jnp.int32),
        primary=primary,
        secondary=secondary,
        best=best_now,
        mean_return=sums.per_level(returned, counts) / shown,
        value_loss=of_levels(jnp.abs(advantage)),
        solved=success > 0,
    )


class Sums(eqx.Module):
    """Sums over the episodes of a rollout, and over its levels."""

    level: Int[Array, "time env"]
    episode: Int[Array, "time env"]  # a number for each, in which a step is
    length: Steps  # of the episode that each step is in
    num_levels: int = eqx.field(static=True)

    @staticmethod
    def of(rollout: Rollout[Any], num_levels: int) -> "Sums":
        """Find where episodes begin and end; the rollout's end cuts them off."""
        level = rollout.level
        num_steps, num_envs = level.shape
        step = jnp.arange(num_steps)[:, None]
        first = cumulative_max(jnp.where(rollout.begins, step, 0))
        is_end = rollout.ended | (step == num_steps - 1)
        last = cumulative_min(jnp.where(is_end, step, num_steps - 1))
        episode = first * num_envs + jnp.arange(num_envs)[None]
        return Sums(level, episode, (last - first + 1).astype(jnp.float32), num_levels)

    def per_level(self, value: Array, where: Bool[Array, "time env"]) -> Float[Array, " level"]:
        """Return sums over the marked steps, by level."""
        return jnp.zeros(self.num_levels).at[self.level].add(jnp.where(where, value, 0.0))

    def per_episode(self, value: Steps) -> Steps:
        """Return sums over the episode of each step; those of zeros are exactly zero."""
        return jnp.zeros(self.level.size).at[self.episode].add(value)[self.episode]


def trace_of(
    rollout: Rollout[Any],
    advantage: Steps,
    *,
    discount: float,
    returned: Steps,
    best: Float[Array, " level"],
    optimal: Float[Array, " level"],
    success: Float[Array, " level"],
    level_nll: Steps | None,
    length: Steps,
) -> Trace:
    """Return what scores may use of a rollout."""
    value, level = rollout.value[:-1], rollout.level
    discounted = jnp.where(rollout.ended, 0.0, discount * rollout.value[1:])
    return Trace(
        advantage=advantage,
        surprise=rollout.reward + discounted - value,
        value=value,
        entropy=rollout.entropy,
        returned=returned,
        best=best[level],
        optimal=optimal[level],
        success=success[level],
        level_nll=jnp.zeros_like(advantage) if level_nll is None else level_nll,
        length=length,
    )


def is_final(results: LevelScores, cuts: str) -> Bool[Array, " level"]:
    """Where a result may replace a score.

    [fidelity 65] One of cut episodes alone may be a level's first score; it replaces none, unless
    cuts may be any.
    """
    return (results.episodes if cuts == "any" else results.completed) > 0


def record(
    buffer: Buffer, results: LevelScores, *, smoothing: float = 0.0, cuts: str = "first"
) -> Buffer:
    """New scores for the slots that were played, of which old ones keep a share."""
    counts = is_final(results, cuts) | ((results.episodes > 0) & ~buffer.is_scored)
    slots = jnp.where(counts, jnp.arange(buffer.capacity), buffer.capacity)
    return rescore(
        buffer,
        slots,
        primary=results.primary,
        secondary=results.secondary,
        best=results.best,
        smoothing=smoothing,
    )


def cumulative_max(index: Int[Array, "time env"]) -> Int[Array, "time env"]:
    """The largest so far, going forwards in time."""
    return jnp.maximum.accumulate(index, axis=0)


def cumulative_min(index: Int[Array, "time env"]) -> Int[Array, "time env"]:
    """The smallest so far, going backwards in time."""
    return jnp.minimum.accumulate(index[::-1], axis=0)[::-1]
