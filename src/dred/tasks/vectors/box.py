"""A box of named numbers, in which levels that are vectors lie."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Parameter:
    """One number of a level."""

    name: str
    """What its column is called."""
    low: float
    """The smallest value: the lower side of the box 𝕏."""
    high: float
    """The largest value."""
    label: str
    """What it is, in words, with its unit."""

    @property
    def span(self) -> float:
        """Return the length of the box along this parameter."""
        return self.high - self.low


@runtime_checkable
class Box(Protocol):
    """What levels that are vectors have in common."""

    @property
    def title(self) -> str:
        """Return what the task is called."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the numbers of a level."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Return what their columns are called."""
        ...
