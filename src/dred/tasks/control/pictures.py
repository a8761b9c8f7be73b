"""Devices as pictures: how one looks at rest, and while an agent plays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from dred.tasks.control.environment import State
from dred.tasks.control.system import DELAY, System

PAPER, INK, MOTOR = (250, 249, 246), (40, 60, 90), (200, 90, 40)
FRAME = 2.6  # metres from the middle to the edge of a picture


class ControlPictures:
    """How devices are drawn."""

    def __init__(self, system: System) -> None:
        self.system = system

    def draw_level(self, level: Mapping[str, Any], *, size: int) -> UInt8[np.ndarray, "h w 3"]:
        """Return a device at rest, and its parameters as bars over the box."""
        return self._draw(level, np.array(self.system.rest), 0.0, size)

    def draw_state(
        self, level: Mapping[str, Any], state: State, *, size: int
    ) -> UInt8[np.ndarray, "h w 3"]:
        """Return a device in a state, and how the motor pushes."""
        return self._draw(level, np.asarray(state.body, np.float64), float(state.push), size)

    def legend(self) -> dict[str, UInt8[np.ndarray, "h w 3"]]:
        """Return nothing: what the bars are, a caption says."""
        return {}

    def _draw(
        self, level: Mapping[str, Any], body: np.ndarray, push: float, size: int
    ) -> UInt8[np.ndarray, "h w 3"]:
        physics = {name: float(level[name]) for name in self.system.names}
        image = Image.new("RGB", (size, size), PAPER)
        pen = ImageDraw.Draw(image)
        middle = size / 2

        def place(point: np.ndarray) -> tuple[float, float]:
            return middle + point[0] / FRAME * middle, middle - point[1] / FRAME * middle

        width = max(1, size // 40)
        for line in self.system.outline(body, physics):
            pen.line([place(point) for point in line], fill=INK, width=width, joint="curve")
        pen.line([(middle, size * 0.94), (middle * (1 + push), size * 0.94)], MOTOR, width)
        for row, one in enumerate(p for p in self.system.parameters if p.name != DELAY):
            share = (physics[one.name] - one.low) / one.span
            y = size * (0.03 + 0.035 * row)
            pen.line([(size * 0.03, y), (size * (0.03 + 0.25 * share), y)], INK, max(1, width // 2))
        return np.asarray(image)
