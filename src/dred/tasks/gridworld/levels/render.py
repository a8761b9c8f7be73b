"""Pictures of levels: one level, or a gallery of many.

Tiles differ in brightness and in shape as well as in colour, so pictures can be read with any
colour vision and in print: grey walls, black floor, pale green moss with dots, orange lava with
waves, a green goal with a ring, and a blue arrow (a disc if any heading) at the start.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool, UInt8
from PIL import Image, ImageDraw, ImageFont

from dred.config import check_seed
from dred.files import replacing
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL, Level, cropped
from dred.tasks.gridworld.levels.sizes import sizes_in_words

PALETTE: dict[int, tuple[int, int, int]] = {
    EMPTY: (16, 16, 20),
    WALL: (122, 124, 130),
    LAVA: (230, 121, 21),
    MOSS: (163, 211, 156),
}
GOAL_COLOUR = (19, 165, 74)
AGENT_COLOUR = (66, 133, 244)
GRID_COLOUR = (44, 45, 50)
INK = (32, 33, 36)
PAPER = (255, 255, 255)
GAP = 10  # pixels between the pictures of a gallery
SCALE = 4  # shapes are drawn this much larger and shrunk, for smooth edges


def draw_level(
    level: Level,
    *,
    cell: int = 16,
    agent: tuple[int, int, int] | None = None,
    seen: Bool[np.ndarray, "outer_height outer_width"] | None = None,
) -> UInt8[np.ndarray, "height width 3"]:
    """A level as an RGB picture, with its surrounding wall, `cell` pixels a tile.

    The agent stands at the start unless it is given as (row, column, heading). Cells that are
    `seen` are drawn lighter.
    """
    level = cropped(level)
    tiles = np.pad(level.tiles, 1, constant_values=WALL)
    atlas = np.stack([_tile(kind, cell) for kind in sorted(PALETTE)])
    picture = atlas[tiles].swapaxes(1, 2).reshape(tiles.shape[0] * cell, tiles.shape[1] * cell, 3)
    row, column, heading = agent or (*(int(part) for part in level.start), int(level.heading))
    for place, stamp in ((level.goal, _goal(cell)), ((row, column), _agent(heading, cell))):
        top, left = (int(place[0]) + 1) * cell, (int(place[1]) + 1) * cell
        picture[top : top + cell, left : left + cell] = stamp
    if seen is not None:
        lit = np.repeat(np.repeat(seen, cell, axis=0), cell, axis=1)
        picture[lit] = (0.75 * picture[lit] + 0.25 * 255).astype(np.uint8)
    return picture


def _shape(cell: int, background: tuple[int, int, int]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (cell * SCALE, cell * SCALE), background)
    return image, ImageDraw.Draw(image)


def _shrink(image: Image.Image, cell: int, *, grid: bool) -> UInt8[np.ndarray, "cell cell 3"]:
    pixels = np.array(image.resize((cell, cell), Image.Resampling.BOX))
    if grid and cell >= 8:
        pixels[0, :] = pixels[:, 0] = GRID_COLOUR
    return pixels


@cache
def _tile(kind: int, cell: int) -> UInt8[np.ndarray, "cell cell 3"]:
    image, pen = _shape(cell, PALETTE[kind])
    side = cell * SCALE
    if kind == MOSS:
        for x, y in ((0.3, 0.3), (0.72, 0.42), (0.4, 0.74)):
            pen.ellipse(_around(x * side, y * side, 0.1 * side), fill=(86, 145, 84))
    if kind == LAVA:
        steps = np.linspace(0.0, side, 24)
        for height in (0.35, 0.68):
            wave = height * side + 0.09 * side * np.sin(steps / side * 4 * np.pi)
            points = [(float(x), float(y)) for x, y in zip(steps, wave, strict=True)]
            pen.line(points, fill=(255, 226, 150), width=max(1, side // 10))
    return _shrink(image, cell, grid=kind != WALL)


@cache
def _goal(cell: int) -> UInt8[np.ndarray, "cell cell 3"]:
    image, pen = _shape(cell, GOAL_COLOUR)
    middle = cell * SCALE / 2
    pen.ellipse(
        _around(middle, middle, middle * 0.62), outline=PAPER, width=max(1, cell * SCALE // 9)
    )
    return _shrink(image, cell, grid=True)


@cache
def _agent(heading: int, cell: int) -> UInt8[np.ndarray, "cell cell 3"]:
    image, pen = _shape(cell, PALETTE[EMPTY])
    middle = cell * SCALE / 2
    if heading < 0:
        pen.ellipse(_around(middle, middle, middle * 0.62), fill=AGENT_COLOUR)
    else:
        angles = np.array([0.0, 0.78 * np.pi, -0.78 * np.pi]) + heading * np.pi / 2
        corners = [
            (float(middle + 0.85 * middle * np.cos(a)), float(middle + 0.85 * middle * np.sin(a)))
            for a in angles
        ]
        pen.polygon(corners, fill=AGENT_COLOUR)
    return _shrink(image, cell, grid=True)


def _around(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius


@cache
def font_of(size: int) -> ImageFont.FreeTypeFont:
    """Return the font of figures, which has signs and letters that Pillow's own lacks."""
    import matplotlib

    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)


def draw_gallery(
    rows: Sequence[tuple[str, Sequence[Level]]], *, cell: int = 8, title: str = ""
) -> Image.Image:
    """Levels in labelled rows, with a legend of the tiles at the foot."""
    pictures = [(label, [draw_level(level, cell=cell) for level in row]) for label, row in rows]
    image = draw_rows(pictures, title=title, foot=34)
    _draw_legend(image, ImageDraw.Draw(image), image.height - 34, GAP)
    return image


def draw_rows(
    rows: Sequence[tuple[str, Sequence[UInt8[np.ndarray, "_ _ 3"]]]],
    *,
    title: str = "",
    foot: int = GAP,
) -> Image.Image:
    """Pictures in labelled rows, with so much room left at the foot."""
    label_height = 22
    width = max(sum(p.shape[1] + GAP for p in row) for _, row in rows) + GAP
    heights = [max(p.shape[0] for p in row) + label_height + GAP for _, row in rows]
    head = 34 if title else GAP
    image = Image.new("RGB", (max(width, 560), head + sum(heights) + foot), PAPER)
    pen = ImageDraw.Draw(image)
    font = font_of(13)
    if title:
        pen.text((GAP, 9), title, fill=INK, font=font_of(15))
    top = head
    for (label, row), height in zip(rows, heights, strict=True):
        pen.text((GAP, top + 2), label, fill=INK, font=font)
        left = GAP
        for picture in row:
            image.paste(Image.fromarray(picture), (left, top + label_height))
            left += picture.shape[1] + GAP
        top += height
    return image


def _draw_legend(image: Image.Image, pen: ImageDraw.ImageDraw, top: int, gap: int) -> None:
    entries = [
        ("wall", _tile(WALL, 16)),
        ("empty", _tile(EMPTY, 16)),
        ("moss", _tile(MOSS, 16)),
        ("lava", _tile(LAVA, 16)),
        ("goal", _goal(16)),
        ("start, any heading", _agent(-1, 16)),
    ]
    font = font_of(12)
    left = gap
    for name, tile in entries:
        image.paste(Image.fromarray(tile), (left, top + 5))
        pen.text((left + 21, top + 4), name, fill=INK, font=font)
        left += 34 + int(pen.textlength(name, font=font))


def gallery_of(
    dataset: LevelDataset, *, per_row: int = 8, max_rows: int = 24, cell: int = 8, seed: int = 0
) -> Image.Image:
    """Random levels of a set: a row per structure, or rows without labels if there is only one."""
    random = np.random.default_rng(check_seed(seed))
    rows: list[tuple[str, list[Level]]] = []
    for name in dataset.structures[:max_rows]:
        members = np.flatnonzero(dataset.structure == name)
        several = per_row * (4 if len(dataset.structures) == 1 else 1)
        chosen = np.sort(random.permutation(members)[:several])
        for first in range(0, len(chosen), per_row):
            levels = [dataset[int(index)] for index in chosen[first : first + per_row]]
            rows.append((f"{name or 'levels'} ({len(members)})" if first == 0 else "", levels))
    hidden = len(dataset.structures) - max_rows
    more = f", {hidden} more structures not shown" if hidden > 0 else ""
    title = f"{len(dataset)} levels of {sizes_in_words(dataset.sizes)}{more}"
    return draw_gallery(rows, cell=cell, title=title)


def save_picture(image: Image.Image, path: Path) -> None:
    """Write a PNG, whole or not at all."""
    with replacing(path) as temporary:
        image.save(temporary, format="PNG", optimize=True)
