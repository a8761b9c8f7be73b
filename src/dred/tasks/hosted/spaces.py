"""What is seen and done in an environment, as plain arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from dred.errors import ConfigError
from dred.tasks.hosted.recipe import need_gymnasium


@dataclass(frozen=True, eq=False)
class Spaces:
    """The two spaces of an environment."""

    observation: Any  # a gymnasium.Space
    action: Any

    @cached_property
    def num_seen(self) -> int:
        """Return how many numbers an observation is, side by side."""
        try:
            return int(need_gymnasium().spaces.flatdim(self.observation))
        except (NotImplementedError, ValueError) as error:
            raise ConfigError(
                f"Observations of {self.observation} have no fixed number of numbers ({error}). "
                "Wrap the environment so that it shows a Box, or a Dict of such."
            ) from None

    @cached_property
    def _is_plain(self) -> bool:
        """Return whether an observation is one array of numbers."""
        return isinstance(self.observation, need_gymnasium().spaces.Box)

    @cached_property
    def is_continuous(self) -> bool:
        """Return whether actions are numbers, and not one of several."""
        return isinstance(self.action, need_gymnasium().spaces.Box)

    @cached_property
    def num_actions(self) -> int:
        """Return how many actions there are, or how many numbers one has."""
        if self.is_continuous:
            return int(np.prod(self.action.shape))
        if not isinstance(self.action, need_gymnasium().spaces.Discrete):
            raise ConfigError(
                f"Actions of {self.action} are neither one of several (Discrete) nor numbers "
                "(Box). Wrap the environment so that they are."
            )
        return int(self.action.n)

    def seen(self, observation: Any) -> Float32[np.ndarray, " number"]:  # noqa: ANN401
        """Return an observation as numbers side by side; of one of several, as zeros and a one."""
        if self._is_plain:
            return np.asarray(observation, np.float32).reshape(-1)
        flat = need_gymnasium().spaces.flatten(self.observation, observation)
        return np.asarray(flat, np.float32)

    def done(self, action: Any) -> Any:  # noqa: ANN401  (a number, or an array of such)
        """Return an action of the agent's as the environment takes it.

        Where numbers have bounds, −1 and 1 stand for them, and what is outside is cut off.
        """
        if not self.is_continuous:
            return int(action) + int(self.action.start)
        low, high = self.action.low, self.action.high
        given = np.asarray(action, np.float64).reshape(self.action.shape)
        share = (np.clip(given, -1.0, 1.0) + 1.0) / 2.0
        has_ends = np.isfinite(low) & np.isfinite(high)
        ends = [np.where(has_ends, side, 0.0) for side in (low, high)]
        inside = np.where(has_ends, ends[0] + share * (ends[1] - ends[0]), given)
        return np.clip(inside, low, high).astype(self.action.dtype)


def stacked(seen: Sequence[NDArray[np.float32]], width: int) -> Float32[np.ndarray, "env number"]:
    """Return what several environments show, as one array."""
    return np.stack(seen) if seen else np.zeros((0, width), np.float32)
