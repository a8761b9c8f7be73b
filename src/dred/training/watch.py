"""What the buffer is like: which levels it prefers, and how far they are from the dataset."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from dred.evaluation.shift import shift_from
from dred.replay.buffer import Buffer
from dred.replay.distribution import average_probabilities, effective_number, probabilities
from dred.task import Levels, Task
from dred.training.phases import eta_of
from dred.training.state import Setup, TrainState

QUANTILES = (0.1, 0.5, 0.9)


class Chances(eqx.Module):
    """P_Λ now and as a mean over the last updates, of one seed or of every one."""

    now: Float[Array, "*seed slot"]
    average: Float[Array, "*seed slot"]
    effective: Float[Array, "*seed"]  # number of levels, now
    effective_averaged: Float[Array, "*seed"]
    eta: Float[Array, "*seed"]


@jax.jit
def weigh(states: TrainState, setup: Setup) -> Chances:
    """Return P_Λ of every seed, and what can be said of it without a look at the levels."""

    def one(state: TrainState) -> Chances:
        eta = eta_of(state, setup)
        now = probabilities(state.buffer, setup.config.method, eta)
        average = average_probabilities(state.buffer)
        return Chances(now, average, effective_number(now), effective_number(average), eta)

    return jax.lax.map(one, states)


def describe_buffers(
    states: TrainState,
    chances: Chances,
    setup: Setup,
    dataset: Levels,
    *,
    in_detail: bool,
) -> list[dict[str, Any]]:
    """A row per seed: what can be said at a glance, and in detail what takes a look at levels.

    The former is about P_Λ as it is now, the latter about its mean over the last updates.
    """
    known = jax.device_get(chances)
    rows: list[dict[str, Any]] = []
    for index, weight in enumerate(known.now):
        buffer = buffer_of(states, index)
        row = at_a_glance(buffer, weight)
        row |= {"eta": float(known.eta[index]), "effective_levels": float(known.effective[index])}
        if in_detail:
            row["effective_levels_averaged"] = float(known.effective_averaged[index])
            row |= look_closely(buffer.levels.level, known.average[index], dataset, setup.task)
        rows.append(row)
    return rows


@partial(jax.jit, static_argnames="index")
def buffer_of(states: TrainState, index: int) -> Buffer:
    """The buffer of one of several seeds."""
    return jax.tree.map(lambda leaf: leaf[index], states.buffer)


def at_a_glance(buffer: Buffer, weight: Float[np.ndarray, " slot"]) -> dict[str, Any]:
    """What the scores and flags tell."""
    known = np.asarray(buffer.is_used & buffer.is_scored)
    scores = np.asarray(buffer.primary)[known]
    quantiles = np.quantile(scores, QUANTILES) if len(scores) else [float("nan")] * len(QUANTILES)
    return {
        "buffer_levels": int(np.asarray(buffer.is_used).sum()),
        "dataset_mass": float(weight[np.asarray(buffer.from_dataset)].sum()),
        "generation": float(weight @ np.asarray(buffer.generation)),
        **{
            f"score/q{round(100 * share)}": float(value)
            for share, value in zip(QUANTILES, quantiles, strict=True)
        },
        "admitted": int(buffer.num_admitted),
        "refused": int(buffer.num_refused),
        "evicted": int(buffer.num_evicted),
        "unusable_scores": int(buffer.num_unusable),
    }


def look_closely(
    levels: Levels, weight: Float[np.ndarray, " slot"], dataset: Levels, task: Task
) -> dict[str, Any]:
    """Return what the levels are like that are likely to be drawn, by the task's features."""
    likely = np.flatnonzero(weight > 0)
    some = jax.tree.map(lambda part: np.asarray(part)[likely], levels)
    share = weight[likely] / weight[likely].sum()
    features = {} if task.measure is None else task.measure(some)
    row: dict[str, Any] = {name: weighted_mean(of, share) for name, of in features.items()}
    shift = shift_from(jax.tree.map(np.asarray, dataset), some, share.astype(np.float64), task)
    if shift is not None:
        row |= {"jsd_distance": shift.distance, "jsd_divergence": shift.divergence}
    return row


def weighted_mean(
    values: Float[np.ndarray, " level"], share: Float[np.ndarray, " level"]
) -> float | None:
    """The mean over those levels that have a value; none if no level has."""
    there = np.isfinite(values) & (share > 0)
    return float(np.average(values[there], weights=share[there])) if there.any() else None
