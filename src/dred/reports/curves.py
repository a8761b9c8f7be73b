"""Metrics over training, as means over seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.reports.kit.chart import Curve
from dred.reports.material import Material, Method, Training


class Found(NamedTuple):
    """What one seed's lines hold of a metric."""

    values: dict[int, float]  # by update
    broken: int  # values that are not numbers


def read(training: Training, metric: str) -> Found:
    """Return a metric of one seed, without what is not a number."""
    values: dict[int, float] = {}
    broken = 0
    for row in training.metrics:
        if metric not in row:
            continue
        value = row[metric]
        if isinstance(value, int | float) and math.isfinite(value):
            values[int(row["update"])] = float(value)
        else:
            broken += 1
    return Found(values, broken)


def curve(method: Method, metric: str) -> Curve | None:
    """Return the mean over seeds, at updates where all have the metric; None if there are none."""
    return mean_over_seeds([read(training, metric).values for training in method.trainings])


def mean_over_seeds(seeds: Sequence[Mapping[int, float]]) -> Curve | None:
    """Return the mean of values at the updates that all seeds have; None if there are none."""
    common = sorted(set[int].intersection(*(set(seed) for seed in seeds)))
    if not common:
        return None
    values = np.array([[seed[update] for update in common] for seed in seeds])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(seeds)) if len(seeds) > 1 else None
    return Curve(np.array(common), values.mean(axis=0), error)


def at_the_end(method: Method, metric: str) -> Float[np.ndarray, " run"]:
    """Return the last value of each seed that has one."""
    seeds = [read(training, metric).values for training in method.trainings]
    return np.array([seed[max(seed)] for seed in seeds if seed], np.float64)


def complaints(material: Material, metrics: Iterable[str]) -> list[str]:
    """Return which of these metrics are missing or not numbers, and in which methods."""
    notes: list[str] = []
    missing: dict[str, list[str]] = {}  # metrics by the methods that lack them
    for metric in metrics:
        lacking: list[str] = []
        for method in material.methods:
            seeds = [read(training, metric) for training in method.trainings]
            broken = sum(seed.broken for seed in seeds)
            if broken:
                notes.append(
                    f"{broken} values of {metric} in {method.name} are not numbers and were left "
                    "out."
                )
            if not all(seed.values for seed in seeds):
                lacking.append(method.name)
        if lacking:
            missing.setdefault(", ".join(lacking), []).append(metric)
    return notes + [
        f"Not measured in all seeds of {methods}: {', '.join(names)}."
        for methods, names in missing.items()
    ]
