"""Measuring how long calls take."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds until a call's results are there."""
    begun = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - begun


def medians(
    calls: dict[str, Callable[[], Any]],
    repeats: int,
    after_each: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """Median seconds of each call; they take turns, after one of each that may compile."""
    for call in calls.values():
        seconds_of(call)
    times: list[dict[str, float]] = []
    for _ in range(repeats):
        times.append({name: seconds_of(call) for name, call in calls.items()})
        after_each()
    return {name: statistics.median(each[name] for each in times) for name in calls}
