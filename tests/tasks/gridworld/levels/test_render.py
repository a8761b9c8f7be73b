import numpy as np
from hypothesis import given
from PIL import Image

from dred.levels import LAVA, MOSS, WALL, draw_level, from_text, make
from dred.tasks.gridworld.levels.render import PALETTE, draw_gallery, gallery_of
from tests.strategies import levels


@given(level=levels())
def test_a_picture_has_the_level_and_a_wall_round_it(level):
    cell = 12
    picture = draw_level(level, cell=cell)
    height, width = level.tiles.shape
    assert picture.shape == ((height + 2) * cell, (width + 2) * cell, 3)
    wall = np.array(PALETTE[WALL])
    assert (picture[:cell] == wall).all()
    assert (picture[-cell:] == wall).all()
    assert (picture[:, :cell] == wall).all()
    assert (picture[:, -cell:] == wall).all()


def test_every_tile_looks_different():
    level = from_text("S.#,~G")
    picture = draw_level(level, cell=16)[16:32, 16:-16]
    tiles = {picture[:, 16 * i : 16 * i + 16].tobytes() for i in range(6)}
    assert len(tiles) == 6


def test_headings_look_different():
    pictures = {draw_level(from_text(f"{start}G")).tobytes() for start in "S>v<^"}
    assert len(pictures) == 5


def test_tiles_differ_in_brightness_so_they_can_be_told_without_colour():
    def brightness(colour):
        return np.dot(colour, (0.299, 0.587, 0.114))

    lights = sorted(brightness(colour) for colour in PALETTE.values())
    assert min(np.diff(lights)) > 15
    # Moss and lava, which matter most to tell apart, also as seen without red or green cones.
    assert brightness(PALETTE[MOSS]) - brightness(PALETTE[LAVA]) > 40


def test_a_gallery_has_a_row_for_each_structure():
    dataset = make("cave-escape-train", count=8, size=9)
    image = gallery_of(dataset, per_row=2, cell=4)
    assert isinstance(image, Image.Image)
    assert image.size[1] > 4 * 9 * 4
    one = draw_gallery([("row", [dataset[0]])], cell=4)
    assert one.size[1] < image.size[1]
