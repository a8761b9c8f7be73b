"""How long generators take, one beside the other, so that a busy machine slows all alike."""

import statistics
import time
from collections.abc import Mapping

import jax

from dred.tasks.gridworld.leaderboard.sources import BATCH, Make

ROUNDS = 7
REPEATS = 3  # of a generator in a round, of which the quickest counts


def time_makers(makers: Mapping[str, Make]) -> dict[str, tuple[float, float]]:
    """Return of each generator the milliseconds for a level, and how often the first one's it is.

    Compiling does not count. Both are medians over rounds in which each has its turn.
    """
    key = jax.random.key(0)
    for make in makers.values():
        jax.block_until_ready(make(key))
    rounds = [{name: quickest(make) for name, make in makers.items()} for _ in range(ROUNDS)]
    first = next(iter(makers), "")
    return {
        name: (
            1e3 * statistics.median(one[name] for one in rounds) / BATCH,
            statistics.median(one[name] / one[first] for one in rounds),
        )
        for name in makers
    }


def quickest(make: Make) -> float:
    """Return the seconds for a batch."""
    seconds: list[float] = []
    for number in range(REPEATS):
        key = jax.random.key(number)
        begun = time.perf_counter()
        jax.block_until_ready(make(key))
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
