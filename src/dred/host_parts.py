"""Slots in equal parts, each of which a thread of its own plays: one for each device of a run.

While one part waits for its simulator, another asks its agent, so that both cores of a laptop are
at work. What comes out does not depend on who is faster: each part has its own slots and its own
share of the random numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

from dred.host import HostEnvironment, Levels, Moment, NextLevels, Slots

ResultT = TypeVar("ResultT")


class SplitSlots:
    """Several sets of equally many slots, one after the other, as one."""

    def __init__(self, parts: Sequence[Slots]) -> None:
        self.parts = tuple(parts)
        self._pool = ThreadPoolExecutor(len(self.parts))

    @property
    def num_envs(self) -> int:
        """Return how many there are in all."""
        return sum(part.num_envs for part in self.parts)

    @property
    def shares(self) -> tuple[slice, ...]:
        """Return the slots of each part."""
        ends = np.cumsum([part.num_envs for part in self.parts]).tolist()
        return tuple(slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True))

    def observe(self) -> Moment:
        """Return what all of them show."""
        return _joined(self.in_threads(lambda place: self.parts[place].observe()))

    def reset_to(self, levels: Levels) -> Moment:
        """Begin these levels, one in each slot."""
        some = [_share(levels, share) for share in self.shares]
        return _joined(self.in_threads(lambda place: self.parts[place].reset_to(some[place])))

    def step(self, actions: Any, next_levels: NextLevels) -> Moment:  # noqa: ANN401  (numbers)
        """Act once in each slot; where that ends an episode, begin the level that comes next.

        Parts take turns, as whoever tells the next levels may count.
        """
        moments: list[Moment] = []
        for part, share in zip(self.parts, self.shares, strict=True):

            def next_here(slots: NDArray[np.intp], first: int = share.start) -> Levels:
                return next_levels(slots + first)

            moments.append(part.step(actions[share], next_here))
        return _joined(moments)

    def save(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to continue exactly."""
        return {
            part_name(name, place): array
            for place, part in enumerate(self.parts)
            for name, array in part.save().items()
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> Moment:
        """Continue from what was saved."""
        moments: list[Moment] = []
        for place, part in enumerate(self.parts):
            end = part_name("", place)
            mine = {name.removesuffix(end): saved[name] for name in saved if name.endswith(end)}
            moments.append(part.restore(mine))
        return _joined(moments)

    def in_threads(self, function: Callable[[int], ResultT]) -> list[ResultT]:
        """Return what a function gives for the number of each part, all at once."""
        return list(self._pool.map(function, range(len(self.parts))))


def part_name(name: str, place: int) -> str:
    """Return what an array is called that a part saves."""
    return f"{name}-of-part-{place}"


def names_saved(environment: HostEnvironment, slots: Slots) -> list[str]:
    """Return the names of the arrays that these slots save."""
    if not isinstance(slots, SplitSlots):
        return list(environment.saved)
    places = range(len(slots.parts))
    return [part_name(name, place) for place in places for name in environment.saved]


def open_parts(environment: HostEnvironment, num_envs: int, num_parts: int, *, seed: int) -> Slots:
    """Return so many slots, in parts if they can be shared out to as many equally."""
    if num_parts < 2 or num_envs % num_parts:
        return environment.open(num_envs, seed=seed)
    seeds: Int[np.ndarray, " part"] = np.random.SeedSequence(seed).generate_state(num_parts)
    return SplitSlots([environment.open(num_envs // num_parts, seed=one) for one in seeds.tolist()])


def _share(tree: Any, share: slice) -> Any:  # noqa: ANN401  (any pytree)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[share], tree)


def _joined(moments: Sequence[Moment]) -> Moment:
    """Return what all parts show, as one."""

    def together(*leaves: Any) -> Any:  # noqa: ANN401  (arrays)
        return np.concatenate(leaves)

    last = None
    if any(one.last is not None for one in moments):
        shown = [one.observation if one.last is None else one.last for one in moments]
        last = jax.tree.map(together, *shown)
    return Moment(
        jax.tree.map(together, *(one.observation for one in moments)),
        together(*(one.reward for one in moments)),
        together(*(one.terminated for one in moments)),
        together(*(one.truncated for one in moments)),
        last,
    )
