"""The decorator for code that numba compiles, and the random numbers such code draws.

Compiled functions release Python's lock, so threads run them on all cores, and are cached on
disk, so only the first use on a machine waits for the compiler.

Random numbers come from SplitMix64 (Steele, Lea & Flood 2014), started from a number derived
from the user's seed and the place of the thing being made. The same level therefore comes out
whatever the number of workers, the order of work or the version of NumPy.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from dred.config import check_seed

Function = TypeVar("Function", bound=Callable[..., object])
RandomState = NDArray[np.uint64]  # one number that advances with each draw

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A = np.uint64(0xBF58476D1CE4E5B9)
MIX_B = np.uint64(0x94D049BB133111EB)
SHIFT_11, SHIFT_27, SHIFT_30, SHIFT_31 = (np.uint64(shift) for shift in (11, 27, 30, 31))


def compiled(function: Function) -> Function:
    """Compile on first use, cache on disk, release Python's lock while running."""
    decorate = cast(
        Callable[[Function], Function],
        numba.njit(cache=True, nogil=True, error_model="numpy"),
    )
    return decorate(function)


@compiled
def mix(number: np.uint64) -> np.uint64:
    """Scatter the bits of a number (SplitMix64's finaliser)."""
    number = (number ^ (number >> SHIFT_30)) * MIX_A
    number = (number ^ (number >> SHIFT_27)) * MIX_B
    return number ^ (number >> SHIFT_31)


@compiled
def derive(seed: np.uint64, number: int) -> np.uint64:
    """A seed for the `number`-th part of what `seed` makes."""
    return mix(mix(seed + GOLDEN) ^ (np.uint64(number) * MIX_B + GOLDEN))


@compiled
def draw(state: RandomState) -> float:
    """A number in [0, 1)."""
    state[0] += GOLDEN
    return float(mix(state[0]) >> SHIFT_11) * 2.0**-53


@compiled
def draw_below(state: RandomState, limit: int) -> int:
    """A whole number in 0 … limit − 1."""
    return int(draw(state) * limit)


def seed_from(text: str, seed: int) -> np.uint64:
    """The seed for everything made under the name `text` with the user's `seed`.

    FNV-1a over the name, so that sets with different names differ for the same seed.
    """
    name = 0xCBF29CE484222325
    for byte in text.encode():
        name = ((name ^ byte) * 0x100000001B3) % 2**64
    return sub_seed(np.uint64(name), check_seed(seed))


def sub_seed(seed: np.uint64, number: int) -> np.uint64:
    """`derive` for callers in plain Python, where numba would hand back an `int`."""
    return np.uint64(derive(seed, number))


@compiled
def mark_new(
    table: NDArray[np.uint64], numbers: NDArray[np.uint64], new: NDArray[np.bool_]
) -> None:
    """Add numbers to a hash table (a power of two long, 0 is free) and mark the new ones."""
    last = len(table) - 1
    for index in range(len(numbers)):
        number = numbers[index] | np.uint64(1)  # never 0
        place = np.int64(mix(number) & np.uint64(last))
        while table[place] != 0 and table[place] != number:
            place = (place + 1) & last
        new[index] = table[place] == 0
        table[place] = number
