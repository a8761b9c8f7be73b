"""The palette and its three colour-blind versions, from the colours that the code uses."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dred.cli import main
from dred.levels import from_text
from dred.tasks.gridworld.levels.palette import (
    COLOURS,
    SAMPLE,
    VISIONS,
    differences,
    draw_palette,
    lab_of,
    seen_with,
)
from dred.tasks.gridworld.levels.render import AGENT_COLOUR, GOAL_COLOUR, PALETTE, draw_level

PICTURE = Path(__file__).parents[4] / "docs" / "images" / "palette.png"
LEAST = 15.0  # ΔE*ab; about 2 is just noticeable


def test_palette_is_that_of_the_pictures():
    assert set(COLOURS.values()) == {*PALETTE.values(), GOAL_COLOUR, AGENT_COLOUR}
    assert list(VISIONS) == ["normal", "protanopia", "deuteranopia", "tritanopia"]


@pytest.mark.parametrize("vision", VISIONS)
def test_palette_tiles_stay_distinguishable(vision):
    assert min(differences(vision).values()) > LEAST
    assert len(differences(vision)) == 15
    # What helps and what kills are farther apart still, and shapes differ as well as colours.
    assert differences(vision)["moss", "lava"] > 2 * LEAST
    tiles = [
        seen_with(vision, draw_level(from_text(f"{tile}.SG"), cell=16)[16:32, 16:32]).astype(float)
        for tile in ".#,~"
    ]
    for one, other in combinations(tiles, 2):
        assert np.abs(one - other).mean() > 20


def test_palette_simulation_by_hand():
    # Grey is grey to all (rows sum to 1); blind to red, pure red is seen as a dark yellow:
    # linear (0.152286, 0.114503, −0.003882 → 0), in sRGB 1.055·x^(1/2.4) − 0.055.
    grey = np.array([122, 122, 122], np.uint8)
    for vision in VISIONS:
        np.testing.assert_array_equal(seen_with(vision, grey), grey)
    red = seen_with("protanopia", np.array([255, 0, 0], np.uint8))
    expected = [255 * (1.055 * x ** (1 / 2.4) - 0.055) for x in (0.152286, 0.114503)]
    np.testing.assert_allclose(red, [*expected, 0], atol=0.5)
    colours = np.array(list(COLOURS.values()), np.uint8)
    np.testing.assert_array_equal(seen_with("normal", colours), colours)


def test_palette_differences_by_known_values():
    # White and black are L* 100 and 0; sRGB red is L*a*b* (53.24, 80.09, 67.20).
    colours = np.array([[255, 255, 255], [0, 0, 0], [255, 0, 0]], np.uint8)
    expected = [[100, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20]]
    np.testing.assert_allclose(lab_of(colours), expected, atol=0.02)


def test_palette_picture_in_the_docs_is_the_one_that_the_code_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["levels", "show", "palette", "--out", "palette.png"])
    assert "most alike: goal and lava" in capsys.readouterr().out
    drawn, shown = np.array(draw_palette()), np.array(Image.open(PICTURE))
    np.testing.assert_array_equal(np.array(Image.open("palette.png")), drawn)
    # Without the lettering, which depends on the version of Pillow.
    np.testing.assert_array_equal(shown[30:, 64:], drawn[30:, 64:])
    sample = seen_with("tritanopia", draw_level(SAMPLE, cell=12))
    height, width = sample.shape[:2]
    corner = drawn[-10 - height : -10, -10 - width : -10]
    np.testing.assert_array_equal(corner, sample)
    for column, vision in enumerate(VISIONS):
        for row, colour in enumerate(COLOURS.values()):
            at = drawn[32 + 30 * row + 5, 64 + (width + 10) * column + 5]
            np.testing.assert_array_equal(at, seen_with(vision, np.array(colour, np.uint8)))
