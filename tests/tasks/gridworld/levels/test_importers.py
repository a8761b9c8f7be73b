import json

import numpy as np
import pytest
from hypothesis import given
from PIL import Image

from dred.errors import DatasetError, DredError
from dred.levels import draw_level, from_levels, from_text, is_solvable, to_text
from dred.tasks.gridworld.levels.encodings import from_minigrid
from dred.tasks.gridworld.levels.importers import (
    ImportOptions,
    import_levels,
    read_colours,
)
from tests.strategies import levels

A = "S.,G\n..~#"
B = "S..G\n...."


def write(path, content):
    path.write_text(content, encoding="utf-8")
    return path


def texts(report):
    return [to_text(level) for level in report.dataset]


def encode(level, direction=0):
    """What Minigrid's full encoding of a level looks like: [x, y, 3], border included."""
    objects = {0: 1, 1: 2, 2: 9, 3: 3}
    height, width = level.tiles.shape
    encoding = np.zeros((width + 2, height + 2, 3), np.uint8)
    encoding[:, :, 0] = 2
    for row in range(height):
        for column in range(width):
            encoding[column + 1, row + 1, 0] = objects[int(level.tiles[row, column])]
    encoding[level.goal[1] + 1, level.goal[0] + 1, 0] = 8
    encoding[level.start[1] + 1, level.start[0] + 1] = (10, 0, direction)
    return encoding


def test_drawings_in_a_text_file_are_separated_by_blank_lines_and_named_by_semicolons(tmp_path):
    path = write(tmp_path / "mine.txt", f"\ufeff{A}\n; caves\n{B}\n")
    report = import_levels(path)
    assert texts(report) == [A, B]
    assert report.dataset.structure.tolist() == ["mine", "caves"]
    assert report.dropped == []
    assert dict(report.taken) == {str(path): 2}


def test_what_is_left_out_is_reported_with_place_and_reason(tmp_path):
    drawings = [A, "S.#G\n..#.", "S..G\n...", A, "S.G.\n..G.", "S.G", B]
    path = write(tmp_path / "mine.txt", "\n\n".join(drawings))
    report = import_levels(path)
    assert texts(report) == [A, "S.G", B]
    reasons = dict(report.dropped)
    assert "cannot be reached" in reasons[f"{path}, drawing at line 4"]
    assert "Line 8, column 4: this row has 3 cells" in reasons[f"{path}, drawing at line 7"]
    assert "Line 14, column 3: a second goal" in reasons[f"{path}, drawing at line 13"]
    assert "the same as" in reasons[f"{path}, drawing at line 10"]
    assert len(report.dropped) == 4


@pytest.mark.parametrize(
    ("drawing", "reason"),
    [
        ("S.#G", "the goal cannot be reached"),
        ("SG.\n..", "Line 2, column 3: this row has 2 cells"),
        ("SGG", "Line 1, column 3: a second goal"),
        ("", "it holds no drawing"),
    ],
)
def test_a_file_without_any_good_level_is_an_error_with_the_reason(tmp_path, drawing, reason):
    path = write(tmp_path / "bad.txt", drawing)
    with pytest.raises(DatasetError) as error:
        import_levels(path)
    assert reason in str(error.value)
    assert str(path) in str(error.value)
    assert "nothing was written" in str(error.value)


def test_a_border_drawn_in_text_can_be_stripped(tmp_path):
    path = write(tmp_path / "x.txt", "#####\n#S.G#\n#####\n")
    assert texts(import_levels(path, ImportOptions(strip_border=True))) == ["S.G"]
    path = write(tmp_path / "y.txt", "####.\n#S.G#\n#####\n")
    with pytest.raises(DatasetError, match=r"row 0, column 4 is not"):
        import_levels(path, ImportOptions(strip_border=True))


@given(level=levels(max_side=6))
def test_our_own_pictures_can_be_read_back(level, tmp_path_factory):
    if not is_solvable(level):
        return
    level = level._replace(heading=np.asarray(-1, np.int8))
    path = tmp_path_factory.mktemp("png") / "level.png"
    for cell in (5, 8, 16, 49):
        Image.fromarray(draw_level(level, cell=cell)).save(path)
        report = import_levels(path, ImportOptions(cell=cell, strip_border=True))
        assert report.dataset[0] == level


def test_a_picture_with_colours_of_its_own(tmp_path):
    pixels = np.array([[[255, 255, 255], [0, 0, 0], [9, 9, 250]], [[250, 9, 9]] * 3], np.uint8)
    pixels[1, 0] = pixels[1, 2] = (255, 255, 255)
    pixels[0, 0] = (0, 200, 0)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    colours = write(
        tmp_path / "colours.toml",
        'empty = "#ffffff"\nwall = "#000000"\nmoss = "#fa0909"\n'
        'goal = "#0909fa"\nstart = "#00c800"\n',
    )
    report = import_levels(tmp_path / "a.png", ImportOptions(colours=read_colours(colours)))
    assert texts(report) == ["S#G\n.,."]


@pytest.mark.parametrize(
    ("size", "cell", "reason"),
    [((5, 5), 2, "no multiple of --cell 2"), ((2, 2), 1, "near no colour of the map")],
)
def test_a_picture_that_does_not_fit_is_explained(tmp_path, size, cell, reason):
    Image.new("RGB", size, (255, 0, 255)).save(tmp_path / "a.png")
    with pytest.raises(DatasetError) as error:
        import_levels(tmp_path / "a.png", ImportOptions(cell=cell))
    assert reason in str(error.value)


def test_a_file_that_is_no_picture_is_explained(tmp_path):
    write(tmp_path / "a.png", "hello")
    with pytest.raises(DatasetError, match="cannot"):
        import_levels(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ('wal = "#000000"', "Did you mean 'wall'"),
        ('wall = "black"', "is not a colour"),
        ('wall = "#000000"', "no colour for empty, goal, start"),
        ("wall = ", "cannot be read"),
    ],
)
def test_a_bad_colour_map_is_explained(tmp_path, toml, reason):
    with pytest.raises(DredError, match=reason):
        read_colours(write(tmp_path / "c.toml", toml))


def test_json_levels_are_drawings_or_tables(tmp_path):
    table = {"tiles": [[0, 1, 0], [0, 3, 0]], "goal": [0, 2], "start": [0, 0], "heading": 1}
    items = [{"drawing": "S.G\n..~", "structure": "a"}, {"drawing": ["S#G", ".,."]}, table]
    report = import_levels(write(tmp_path / "x.json", json.dumps(items)))
    assert texts(report) == ["S.G\n..~", "S#G\n.,."]
    assert "the same as" in report.dropped[0][1]  # the table shows what the second drawing shows
    lines = "\n".join(json.dumps(item) for item in [table, items[0]])
    report = import_levels(write(tmp_path / "y.jsonl", lines))
    assert texts(report) == ["v#G\n.,.", "S.G\n..~"]
    assert report.dataset.structure.tolist() == ["y", "a"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"goal": [0, 0]}, "it has no 'tiles'"),
        ({"tiles": [[0, 0], [0]], "goal": [0, 0], "start": [0, 1]}, "read as a level"),
        ({"tiles": [[0.5, 0]], "goal": [0, 0], "start": [0, 1]}, "whole numbers"),
        ({"tiles": [[0, 0]], "goal": [0], "start": [0, 1]}, "must be [row, column]"),
        ({"tiles": [[0, 0]], "goal": [0, 0], "start": [0, 0]}, "the same cell"),
        ({"tiles": [[0, 0]], "goal": [0, 0], "start": [0, 7]}, "outside the grid"),
        ({"tiles": [[0, 9]], "goal": [0, 0], "start": [0, 1]}, "tile number"),
        ({"tiles": [[0, 0]], "goal": [0, 0], "start": [0, 1], "heading": 4}, "heading is 4"),
        ({"tiles": [[0, 0]], "goal": [0, 0], "start": [0, 1], "heading": 2.7}, "heading is 2.7"),
        (7, "it is int"),
    ],
)
def test_a_bad_json_level_is_explained(tmp_path, item, reason):
    with pytest.raises(DatasetError) as error:
        import_levels(write(tmp_path / "x.json", json.dumps([item])))
    assert reason in str(error.value)


def test_a_broken_line_drops_only_itself(tmp_path):
    lines = [json.dumps({"drawing": "S.G"}), "{", json.dumps({"drawing": "S,G", "structure": None})]
    report = import_levels(write(tmp_path / "x.jsonl", "\n".join(lines)))
    assert texts(report) == ["S.G", "S,G"]
    assert "level 1" in report.dropped[0][0]
    assert "not JSON" in report.dropped[0][1]
    assert report.dataset.structure.tolist() == ["x", "x"]


def test_files_that_are_damaged_or_huge_are_explained(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros((9, 9, 3), np.uint8))
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:90])
    nested = write(tmp_path / "deep.json", "[" * 100_000)
    far = {"tiles": [[0, 0]], "goal": [0, 99999999999], "start": [0, 0]}
    far = write(tmp_path / "far.json", json.dumps(far))
    bad_direction = encode(from_text(A), 200)
    np.save(tmp_path / "dir.npy", bad_direction)
    for path in (tmp_path / "x.npz", nested, far, tmp_path / "dir.npy"):
        with pytest.raises(DatasetError, match="No level could be taken"):
            import_levels(path, ImportOptions(keep_heading=True))


def test_a_set_of_ours_is_not_imported_again(tmp_path):
    from_levels([from_text(A)]).save(tmp_path / "x.npz")
    with pytest.raises(DatasetError, match="a set of levels of dred already"):
        import_levels(tmp_path / "x.npz")


def test_broken_json_is_explained(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read"):
        import_levels(write(tmp_path / "x.json", "{"))


@given(level=levels())
def test_a_minigrid_encoding_reads_back_whatever_the_shape(level):
    anywhere = level._replace(heading=np.asarray(-1, np.int8))
    assert from_minigrid(encode(level, 2)) == anywhere
    assert from_minigrid(encode(level, 2), keep_heading=True).heading == 2


def test_minigrid_files_hold_one_or_many_encodings(tmp_path):
    encodings = np.stack([encode(from_text(drawing)) for drawing in (A, B)])
    np.save(tmp_path / "many.npy", encodings)
    np.save(tmp_path / "one.npy", encodings[0])
    np.savez(tmp_path / "named.npz", train=encodings)
    assert texts(import_levels(tmp_path / "many.npy")) == [A, B]
    assert texts(import_levels(tmp_path / "one.npy")) == [A]
    assert texts(import_levels(tmp_path / "named.npz")) == [A, B]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda e: e.__setitem__((0, 1, 0), 1), "the border is not all wall"),
        (lambda e: e.__setitem__((2, 1, 0), 4), "object 4 at x 2, y 1"),
        (lambda e: e.__setitem__((2, 1, 0), 8), "it has 2 goals"),
        (lambda e: e.__setitem__((1, 1, 0), 1), "it has 0 starts"),
    ],
)
def test_an_encoding_that_is_no_level_is_explained(tmp_path, change, reason):
    encoding = encode(from_text(A))
    change(encoding)
    np.save(tmp_path / "x.npy", encoding)
    with pytest.raises(DatasetError) as error:
        import_levels(tmp_path / "x.npy")
    assert reason in str(error.value)


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DatasetError, match="cannot be read"):
        import_levels(tmp_path / "x.npy")


def test_a_real_minigrid_environment_can_be_imported():
    minigrid = pytest.importorskip("minigrid")
    from minigrid.core.constants import OBJECT_TO_IDX
    from minigrid.wrappers import FullyObsWrapper

    env = FullyObsWrapper(minigrid.envs.LavaGapEnv(size=7))
    observation, _ = env.reset(seed=3)
    level = from_minigrid(observation["image"], keep_heading=True)
    assert level.tiles.shape == (5, 5)
    grid = env.unwrapped.grid.encode()[1:-1, 1:-1, 0].T
    np.testing.assert_array_equal(level.tiles == 2, grid == OBJECT_TO_IDX["lava"])
    assert tuple(level.start[::-1] + 1) == tuple(env.unwrapped.agent_pos)
    assert int(level.heading) == env.unwrapped.agent_dir


def test_a_folder_is_read_file_by_file_in_order_of_name(tmp_path):
    write(tmp_path / "b.txt", B)
    write(tmp_path / "a.json", json.dumps({"drawing": A}))
    write(tmp_path / "readme.md", "not a level")
    report = import_levels(tmp_path)
    assert texts(report) == [A, B]
    assert report.dataset.structure.tolist() == ["a", "b"]


def test_sources_that_are_not_there_or_of_no_known_kind_are_errors(tmp_path):
    with pytest.raises(DatasetError, match="There is no file or folder"):
        import_levels(tmp_path / "none.txt")
    with pytest.raises(DatasetError, match="has no file that can be read"):
        import_levels(tmp_path)
    with pytest.raises(DredError, match=r"no kind of file to import called '\.doc'"):
        import_levels(write(tmp_path / "x.doc", "S.G"))
