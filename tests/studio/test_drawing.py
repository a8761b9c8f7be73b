"""Galleries and drawing."""

import io

import numpy as np
import pytest
from PIL import Image

from dred.levels import draw_level, from_text, load, to_text
from dred.registry import find_task
from tests.studio.conftest import DRAWINGS, Page


def test_a_gallery_is_filtered_and_in_order_of_a_feature(page):
    told = page.post("gallery", set="here/few.npz", sort="path", descending=True).json()
    assert told["total"] == 4 and told["structures"] == {"cut": 1, "open": 3}
    assert told["order"][-1] == 1 and told["values"] == [4, 4, 4, None]  # no way: it comes last
    assert told["features"]["path"]["label"] == "steps from start to goal"
    told = page.post("gallery", set="here/few.npz", sort="structure").json()
    assert told["order"] == [1, 0, 2, 3] and told["values"] is None
    told = page.post("gallery", set="here/few.npz", ranges={"path": [1, None]}).json()
    assert told["order"] == [0, 2, 3]
    told = page.post("gallery", set="here/few.npz", structure="cut").json()
    assert told["order"] == [1]


def test_pictures_are_those_of_the_task_and_kept_by_the_browser(page):
    told = page.get("picture", set="here/few.npz", level=2, size=100, digest="x")
    assert (
        told.headers["content-type"] == "image/png" and "immutable" in told.headers["cache-control"]
    )
    with Image.open(io.BytesIO(told.content)) as picture:
        assert np.array_equal(np.asarray(picture), draw_level(from_text(DRAWINGS[2]), cell=20))
    assert page.get("picture", set="here/few.npz", level=4).status_code == 400
    assert page.get("picture", set="here/few.npz", level=0, size=100_000).status_code == 400


def test_sets_of_other_tasks_have_galleries_but_no_drawings(folder):
    make_levels = find_task("control/pendulum").make_levels
    make_levels("train", 3, 0).save(folder / "swing.npz")
    page = Page(folder)
    assert page.post("gallery", set="here/swing.npz").json()["order"] == [0, 1, 2]
    assert page.get("level", set="here/swing.npz", level=0).json()["text"] is None
    assert page.get("picture", set="here/swing.npz", level=0).status_code == 200


def test_a_drawing_is_inspected_by_the_rules_of_levels(page):
    told = page.post("inspect", text=DRAWINGS[0]).json()
    assert told["solvable"] and told["distances"] == [[4, 3, 2], [3, -1, 1], [2, 1, 0]]
    assert told["path"][0] == [0, 0] and len(told["path"]) == 5
    assert told["seen"] == [0, 1, 2, 3, 4, 5, 6, 7, 8]  # five wide, five ahead
    cut = page.post("inspect", text=DRAWINGS[1]).json()
    assert not cut["solvable"] and cut["path"] == []


def test_drawings_are_saved_to_a_new_set_and_added_to_one_that_is_there(page):
    told = page.post("save", set="here/mine.npz", levels=["S.G"]).json()
    assert told["levels"] == 1
    assert page.post("save", set="here/mine.npz", levels=["G.S", "S#G"]).json()["levels"] == 3
    assert [to_text(level) for level in load(page.folder / "mine.npz")] == ["S.G", "G.S", "S#G"]
    again = page.post("save", set="here/mine.npz", levels=["S.G"])
    assert again.status_code == 400 and "more than once" in again.json()["error"]
    other = page.post("save", set="here/mine.npz", levels=["S..G"])
    assert other.json()["levels"] == 4
    sizes = [size for size, _ in load(page.folder / "mine.npz").sizes]
    assert sizes == [(1, 3), (1, 4)]


@pytest.mark.parametrize("cell", [1, 16])
@pytest.mark.parametrize("ring", [True, False])
def test_levels_are_opened_from_pictures_whatever_the_size_of_their_tiles(page, cell, ring):
    level = from_text("S..#~~\n#.##~#\n#.,,.#\n..#,,.\n~~#.,G")
    small = draw_level(level, cell=16)[8::16, 8::16] if cell == 1 else draw_level(level, cell=cell)
    if cell == 1:  # the middle of the goal's ring has the goal's colour, that of others is plain
        small = small.copy()
    pixels = small if ring else small[cell:-cell, cell:-cell]
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    path = f"/{page.token}/api/open?name=a.png"
    told = page.client.post(path, content=stream.getvalue())
    assert told.json()["levels"] == [to_text(level)]


def test_levels_are_opened_from_text_and_what_is_none_is_told_by_the_file_s_name(page):
    path = f"/{page.token}/api/open"
    text = f"{DRAWINGS[0]}\n\n{DRAWINGS[2]}\n"
    told = page.client.post(f"{path}?name=two.txt", content=text.encode())
    assert told.json() == {"levels": [DRAWINGS[0], DRAWINGS[2]], "total": 2}
    told = page.client.post(f"{path}?name=bad.png", content=b"no picture")
    assert told.status_code == 400 and "bad.png" in told.json()["error"]
    assert page.client.post(f"{path}?name=x.exe", content=b"x").status_code == 400
    huge = io.BytesIO()
    Image.new("1", (6000, 6000)).save(huge, format="PNG")  # a few kilobytes
    told = page.client.post(f"{path}?name=huge.png", content=huge.getvalue())
    assert told.status_code == 400 and "pixels" in told.json()["error"]


def test_the_strip_of_tiles_is_made_of_dred_s_own_pictures(page):
    told = page.get("tiles", cell=16)
    with Image.open(io.BytesIO(told.content)) as strip:
        pixels = np.asarray(strip)
    assert pixels.shape == (16, 160, 3)
    wall = draw_level(from_text("S.G"), cell=16)[:16, :16]
    assert np.array_equal(pixels[:, :16], wall)
    assert len({pixels[:, 16 * i : 16 * i + 16].tobytes() for i in range(10)}) == 10
