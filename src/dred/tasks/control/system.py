"""A physical system whose parameters are the level: what the control tasks have in common."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from dred.tasks.vectors.box import Parameter

DELAY = "delay"  # the parameter that every system has: how late the sensors are, in steps
MAX_DELAY = 3


@dataclass(frozen=True)
class Region:
    """A part of the manifold of contexts: ranges of its two coordinates, size and quality."""

    size: tuple[float, float] = (0.0, 1.0)
    """From the smallest devices to the largest that are trained on; above 1 lies beyond them."""
    quality: tuple[float, float] = (0.0, 1.0)
    """From the poorest to the best motors, bearings and sensors."""
    concentration: float = 1.0
    """Of the Beta distribution of both: 1 for uniform, more to have few in the corners."""


Physics = dict[str, Array]  # the parameters of one level, by name


@dataclass(frozen=True, eq=False)
class System:
    """A kind of device: how it moves, what is seen of it, and which of its kind exist."""

    name: str
    """What it is called: `control/NAME`."""
    parameters: tuple[Parameter, ...]
    """What a level is, delay last."""
    rest: tuple[float, ...]
    """The state in which an episode begins, but for a little noise."""
    acceleration: Callable[[Float[Array, " state"], Float[Array, ""], Physics], Array]
    """Return how fast the velocities change: the last half of a state's numbers."""
    bound: Callable[[Float[Array, " state"]], Float[Array, " state"]]
    """Return the state as walls and wrapping angles leave it."""
    observe: Callable[[Float[Array, " state"]], Float[Array, " sensor"]]
    """Return what perfect sensors would show, as numbers of about 1."""
    upright: Callable[[Float[Array, " state"]], Float[Array, ""]]
    """Return how well the device is where it should be, 0 to 1."""
    strength: str
    """The parameter that says how strong the motor is."""
    draw: Callable[
        [NDArray[np.float64], NDArray[np.float64], np.random.Generator],
        dict[str, NDArray[np.float64]],
    ]
    """Return devices of these sizes and qualities: the process that makes the dataset."""
    outline: Callable[[NDArray[np.float64], dict[str, float]], list[NDArray[np.float64]]]
    """Return lines, each [point, (x, y)], that draw a device in a state, in metres."""

    @property
    def title(self) -> str:
        """Return what its task is called."""
        return f"control/{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)
