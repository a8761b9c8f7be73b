"""The colours of tiles, and how they look to people with other colour vision.

Colour blindness is simulated by the matrices of Machado, Oliveira & Fernandes (2009, "A
Physiologically-based Model for Simulation of Color Vision Deficiency"), at full severity, on linear
RGB. Colours are compared in CIELAB (ΔE*ab, CIE 1976), in which about 2 is just noticeable.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw

from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL
from dred.tasks.gridworld.levels.render import (
    AGENT_COLOUR,
    GAP,
    GOAL_COLOUR,
    INK,
    PALETTE,
    PAPER,
    draw_level,
    font_of,
)
from dred.tasks.gridworld.levels.text import from_text

Colour = tuple[int, int, int]

# In the order of the paper's figure.
COLOURS: Mapping[str, Colour] = {
    "goal": GOAL_COLOUR,
    "moss": PALETTE[MOSS],
    "agent": AGENT_COLOUR,
    "empty": PALETTE[EMPTY],
    "wall": PALETTE[WALL],
    "lava": PALETTE[LAVA],
}
VISIONS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
SAMPLE = from_text("S..#~~\n#.##~#\n#.,,.#\n..#,,.\n~~#.,G")

_XYZ_OF_RGB = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)


def linear_of(colours: UInt8[np.ndarray, "*any 3"]) -> Float[np.ndarray, "*any 3"]:
    """Colours in sRGB as amounts of light, from 0 to 1."""
    share = colours / 255.0
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def seen_with(vision: str, colours: UInt8[np.ndarray, "*any 3"]) -> UInt8[np.ndarray, "*any 3"]:
    """Colours, or a picture, as they look to someone with this colour vision."""
    light = np.clip(linear_of(colours) @ np.array(VISIONS[vision]).T, 0.0, 1.0)
    share = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255.0 * share).astype(np.uint8)


def lab_of(colours: UInt8[np.ndarray, "*any 3"]) -> Float[np.ndarray, "*any 3"]:
    """Colours in CIELAB, relative to white."""
    matrix = np.array(_XYZ_OF_RGB)
    share = linear_of(colours) @ matrix.T / matrix.sum(axis=1)
    root = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def differences(vision: str = "normal") -> dict[tuple[str, str], float]:
    """ΔE*ab of each pair of tiles as someone with this colour vision sees them."""
    colours = seen_with(vision, np.array(list(COLOURS.values()), np.uint8))
    places = dict(zip(COLOURS, lab_of(colours), strict=True))
    return {
        (one, other): float(np.linalg.norm(places[one] - places[other]))
        for one, other in combinations(COLOURS, 2)
    }


def draw_palette(*, cell: int = 12) -> Image.Image:
    """The palette and a small level, each as seen with normal vision and the three others."""
    sample = draw_level(SAMPLE, cell=cell)
    step, swatch, left = sample.shape[1] + GAP, 30, 64
    top, below = 32, 32 + len(COLOURS) * swatch + GAP
    size = (left + len(VISIONS) * step, below + sample.shape[0] + GAP)
    image = Image.new("RGB", size, PAPER)
    pen, font = ImageDraw.Draw(image), font_of(13)
    for row, name in enumerate(COLOURS):
        pen.text((GAP, top + row * swatch + 5), name, fill=INK, font=font)
    for column, vision in enumerate(VISIONS):
        at = left + column * step
        pen.text((at, 8), vision, fill=INK, font=font)
        for row, colour in enumerate(COLOURS.values()):
            seen = seen_with(vision, np.array(colour, np.uint8))
            block = np.broadcast_to(seen, (swatch - 2, sample.shape[1], 3))
            image.paste(Image.fromarray(np.ascontiguousarray(block)), (at, top + row * swatch))
        image.paste(Image.fromarray(seen_with(vision, sample)), (at, below))
    return image
