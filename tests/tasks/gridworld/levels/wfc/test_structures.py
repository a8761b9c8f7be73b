from collections import Counter

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from dred.errors import ConfigError, DatasetError, UnknownNameError
from dred.tasks.gridworld.levels.wfc.structures import builtin, find_structure, parse_pattern
from dred.tasks.gridworld.presets import EDGE_STRUCTURES, TRAINING_STRUCTURES

# Mean floor and largest-component fractions of the published structure of the same role.
TARGETS = {
    "obstacles_hogs3": (0.73, 0.73),
    "maze_wall": (0.57, 0.57),
    "maze_paths": (0.36, 0.34),
    "rooms_office": (0.67, 0.48),
    "obstacles_blackdots": (0.81, 0.81),
    "obstacles_hogs2": (0.61, 0.46),
    "obstacles_angular": (0.59, 0.54),
    "dungeon_mazescaled": (0.49, 0.30),
    "maze_simple": (0.49, 0.27),
    "rooms_fabric": (0.70, 0.59),
    "dungeon_rooms": (0.42, 0.33),
    "maze_knot": (0.40, 0.27),
    "skew_2": (0.43, 0.39),
    "dungeon_spirals_neg": (0.60, 0.28),
    "maze_spirals": (0.40, 0.28),
    "dungeon_lessrooms": (0.38, 0.31),
    "rooms_magicoffice": (0.76, 0.74),
    "dungeon_large": (0.48, 0.33),
    "maze_like": (0.42, 0.12),
    "skew_cave": (0.45, 0.23),
    "skew_lake": (0.56, 0.42),
    "maze_large": (0.47, 0.27),
}


def write(path, content):
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_there_are_22_structures_in_five_families():
    families = Counter(name.split("_")[0] for name in builtin())
    assert families == {"maze": 7, "dungeon": 5, "rooms": 3, "obstacles": 4, "skew": 3}
    assert set(builtin()) == set(TARGETS)
    assert all(structure.about for structure in builtin().values())


def test_no_two_structures_share_a_drawing():
    drawings = {structure.template.tobytes() for structure in builtin().values()}
    assert len(drawings) == 22


def test_training_and_edge_structures_are_different():
    assert not set(TRAINING_STRUCTURES) & set(EDGE_STRUCTURES)
    assert len(set(EDGE_STRUCTURES)) == 14


@pytest.mark.parametrize("name", TARGETS)
def test_layouts_have_the_floor_and_the_connection_of_their_role(name):
    layouts = builtin()[name].layouts(100, height=13, width=13)
    floor, largest = [], []
    for layout in layouts:
        labels, _ = ndimage.label(layout == 0)
        floor.append((layout == 0).mean())
        largest.append(np.bincount(labels.ravel())[1:].max() / layout.size)
    expected_floor, expected_largest = TARGETS[name]
    assert np.mean(floor) == pytest.approx(expected_floor, abs=0.07)
    assert np.mean(largest) == pytest.approx(expected_largest, abs=0.07)
    assert len({layout.tobytes() for layout in layouts}) >= 95


def test_the_same_seed_gives_the_same_layouts():
    structure = builtin()["maze_paths"]
    first = structure.layouts(3, height=9, width=11, seed=5)
    assert first.shape == (3, 9, 11)
    np.testing.assert_array_equal(first, structure.layouts(3, height=9, width=11, seed=5))
    assert (first != structure.layouts(3, height=9, width=11, seed=6)).any()


def test_a_door_constrains_the_layout_and_becomes_floor():
    structure = parse_pattern("#+#\n...\n#.#\n", name="doors", where="doors")
    assert len(structure.is_wall) == 3
    assert set(np.unique(structure.layouts(5, height=9, width=9))) <= {0, 1}
    plain = parse_pattern("#.#\n...\n#.#\n", name="plain", where="plain")
    assert len(structure.tables.weight) > len(plain.tables.weight)
    assert len(builtin()["rooms_fabric"].is_wall) == 3


def test_a_pattern_of_the_users_own_as_text_or_png(tmp_path):
    text = write(tmp_path / "mine.txt", 'pattern_width = 2\nabout = "dots"\n---\n#..\n...\n...\n')
    pixels = np.full((3, 3, 3), 255, np.uint8)
    pixels[0, 0] = 0
    Image.fromarray(pixels).save(tmp_path / "mine.png")
    drawn = find_structure(text)
    painted = find_structure(str(tmp_path / "mine.png"), changes={"pattern_width": 2})
    assert drawn.about == "dots"
    for structure in (drawn, painted):
        assert structure.name == "mine"
        layouts = structure.layouts(20, height=8, width=8)
        assert 0.7 < (layouts == 0).mean() < 0.95


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("##\n.#\n", "is 2×2, smaller than its pattern_width of 3"),
        ("###\n.#\n...\n", "line 2: this row has 2 symbols, the first row has 3"),
        ("pattern_width = 2\n---\n", "there is no drawing"),
        ("pattern_width = \n---\n...\n", "not valid TOML"),
        ("pattern_with = 2\n---\n...\n", "Did you mean 'pattern_width'?"),
        ("pattern_width = 0\n---\n...\n", "must be at least 1"),
    ],
)
def test_a_bad_pattern_is_an_error_with_file_and_line(tmp_path, content, text):
    with pytest.raises((ConfigError, DatasetError)) as error:
        find_structure(write(tmp_path / "bad.txt", content))
    assert text in str(error.value)
    assert "bad" in str(error.value)


def test_line_numbers_count_the_settings_too(tmp_path):
    path = write(tmp_path / "bad.txt", "pattern_width = 2\n---\n...\n..\n")
    with pytest.raises(DatasetError, match="line 4"):
        find_structure(path)


def test_files_that_are_no_patterns_are_errors(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DatasetError, match="not a text file"):
        find_structure(str(tmp_path / "bad.txt"))
    write(tmp_path / "bad.png", "no picture")
    with pytest.raises(DatasetError, match="cannot be read as a PNG"):
        find_structure(str(tmp_path / "bad.png"))
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "photo.png")
    with pytest.raises(DatasetError, match="is this a photo"):
        find_structure(str(tmp_path / "photo.png"))
    with pytest.raises(DatasetError, match="There is no pattern file"):
        find_structure(str(tmp_path / "none.txt"))
    with pytest.raises(UnknownNameError, match="Did you mean 'maze_wall'"):
        find_structure("maze_wal")


def test_which_symbols_are_walls_is_a_setting():
    drawing = "...\n.+.\n...\n"
    plain = parse_pattern(drawing, name="x", where="x")
    walled = parse_pattern('walls = "+"\n--- \n' + drawing, name="x", where="x")
    assert plain.layouts(1, height=9, width=9).sum() == 0
    assert walled.layouts(1, height=9, width=9).sum() > 0
    turned = find_structure("maze_wall", changes={"walls": "."})
    np.testing.assert_array_equal(turned.is_wall, 1 - builtin()["maze_wall"].is_wall)


def test_an_indented_drawing_and_a_capital_ending_are_fine(tmp_path):
    (tmp_path / "A.TXT").write_text("  #..\n  ...\n  ...\n")
    assert find_structure(str(tmp_path / "A.TXT")).symbols == ("#", ".")


def test_a_size_smaller_than_a_window_is_an_error():
    with pytest.raises(ConfigError, match="cannot fill 2×2"):
        builtin()["maze_paths"].layouts(1, height=2, width=2)
