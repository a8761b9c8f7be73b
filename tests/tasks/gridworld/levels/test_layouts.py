"""Base layouts: written without tiles, start and goal, and furnished later."""

import json
import tracemalloc

import numpy as np
import pytest

from dred import storage
from dred.cli import main
from dred.errors import DatasetError
from dred.levels import build, growing, level_metrics, load, make
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.growing import folder_of
from dred.tasks.gridworld.levels.layouts import (
    furnish_file,
    load_layouts,
    make_layouts,
    plan_furnishing,
)
from dred.tasks.gridworld.levels.level import is_navigable
from dred.tasks.gridworld.levels.packing import pack, unpack
from dred.tasks.gridworld.levels.paths import largest_component, solvable
from dred.tasks.gridworld.levels.plan import make_plan, plan_of

SMALL = {"count": 40, "structures": ("maze_wall", "obstacles_blackdots", "rooms_office")}


def layouts_of(path, **changes):
    make_layouts(make_plan("cave-escape-train", **{**SMALL, **changes}), path)
    return load_layouts(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("layouts") / "small.npz"
    layouts_of(path)
    return path


def test_base_layouts_are_written_without_tiles_start_and_goal(small):
    with np.load(small, allow_pickle=False) as file:
        assert set(file.files) == {"floor", "structure", "meta"}
        assert file["floor"].dtype == np.uint8
        assert file["floor"].shape == (40, 22)  # 169 bits
        meta = json.loads(str(file["meta"]))
        expected = storage.digest_of({n: file[n] for n in file.files}, ("floor", "structure"))
    assert meta["digest"] == expected
    assert (meta["layouts"], meta["height"], meta["width"]) == (40, 13, 13)
    layouts = load_layouts(small)
    assert {name: part.stop - part.start for name, part in layouts.stretches.items()} == {
        "maze_wall": 14,
        "obstacles_blackdots": 13,
        "rooms_office": 13,
    }
    assert len({layouts.packed[i].tobytes() for i in range(40)}) == 40


def test_base_layouts_are_those_in_which_make_puts_its_levels(small):
    layouts, levels = load_layouts(small), make("cave-escape-train", **SMALL)
    for index, level in enumerate(levels):
        expected = largest_component(layouts.floor(index))
        np.testing.assert_array_equal(is_navigable(level.tiles), expected)
    # They are the whole layouts, of which levels keep only the largest part.
    assert any(
        layouts.floor(index).sum() > is_navigable(levels[index].tiles).sum() for index in range(40)
    )


def test_base_layouts_furnished_later_are_the_levels_that_make_makes(small, tmp_path):
    digest = furnish_file(plan_furnishing(small), tmp_path / "levels.npz")
    levels = load(tmp_path / "levels.npz")
    assert levels.digest == digest == make("cave-escape-train", **SMALL).digest
    assert levels.meta["made"]["layouts"] == load_layouts(small).meta["digest"]
    assert plan_of(levels).recipe["config"]["count"] == 40


@pytest.mark.parametrize("count", [7, 40, 130])
def test_base_layouts_furnished_with_another_seed_and_number_are_proper_levels(
    small, tmp_path, count
):
    out = tmp_path / "levels.npz"
    furnish_file(plan_furnishing(small, count=count, seed=5), out)
    levels, layouts = load(out), load_layouts(small)
    assert len(levels) == count
    assert solvable(levels.levels).all()
    assert not repeated_levels(levels).any()
    shares = [int((levels.structure == name).sum()) for name in levels.structures]
    assert max(shares) - min(shares) <= 1
    for name in levels.structures:
        part = layouts.stretches[name]
        for j, index in enumerate(np.flatnonzero(levels.structure == name)):
            floor = layouts.floor(part.start + j % (part.stop - part.start))
            np.testing.assert_array_equal(
                is_navigable(levels[int(index)].tiles), largest_component(floor)
            )
    metrics = level_metrics(levels.levels)
    assert (metrics.lava_correlation > 0).all()
    assert (metrics.moss_correlation < 0).all()
    assert levels.digest != make("cave-escape-train", **{**SMALL, "count": count}).digest


def test_base_layouts_can_be_furnished_as_another_level_set(small, tmp_path):
    out = tmp_path / "lava.npz"
    furnish_file(plan_furnishing(small, preset="cave-escape-edge-lava"), out)
    lava = load(out)
    mine = level_metrics(lava.levels).lava_density.mean()
    assert mine > 2 * level_metrics(make("cave-escape-train", **SMALL).levels).lava_density.mean()
    assert lava.meta["made"]["config"]["part"] == 3


def test_base_layouts_that_cannot_be_furnished_give_way_to_the_next(tmp_path):
    plan = make_plan("cave-escape-train", count=4, size=7, structures=("obstacles_blackdots",))
    path, out = tmp_path / "layouts.npz", tmp_path / "levels.npz"
    make_layouts(plan, path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(str(arrays.pop("meta")))
    arrays["floor"][1] = 0  # nothing but wall
    columns = {n: storage.Column(a.dtype, a.shape, [a]) for n, a in arrays.items()}
    storage.write_file(path, columns, meta)
    furnish_file(plan_furnishing(path), out)
    levels = load(out)
    assert solvable(levels.levels).all()
    np.testing.assert_array_equal(is_navigable(levels[1].tiles), is_navigable(levels[2].tiles))
    arrays["floor"][:] = 0
    storage.write_file(path, columns, meta)
    with pytest.raises(DatasetError, match="none had 2 connected floor cells"):
        furnish_file(plan_furnishing(path), out)


def test_base_layouts_grow_in_constant_memory_and_in_pieces(tmp_path):
    def peak(count):
        plan = make_plan("cave-escape-train", count=count, structures=("obstacles_blackdots",))
        tracemalloc.start()
        make_layouts(plan, tmp_path / f"{count}.npz")
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(100)  # compiled and imported
    table = 8 * (2**16 - 2**14)  # the fingerprints: 16 to 32 bytes a layout, allocated at once
    # 12 000 layouts more are 260 kB packed, 2 MB as cells, and 900 kB of names.
    assert peak(18_000) - peak(6_000) - table < 100_000


def test_base_layouts_do_not_depend_on_workers_or_interruptions(small, tmp_path, monkeypatch):
    plan = make_plan("cave-escape-train", **SMALL)
    monkeypatch.setattr(build, "CELLS_PER_PIECE", 600)  # three layouts a piece
    make_layouts(plan, tmp_path / "one.npz", workers=1)
    assert (tmp_path / "one.npz").read_bytes() == small.read_bytes()
    append = growing.Growing.append

    def append_or_stop(self, made):
        if self.done >= 9:
            raise KeyboardInterrupt
        append(self, made)

    path = tmp_path / "cut.npz"
    with monkeypatch.context() as patch:
        patch.setattr(growing.Growing, "append", append_or_stop)
        with pytest.raises(KeyboardInterrupt):
            make_layouts(plan, path)
    assert json.loads((folder_of(path) / "done.json").read_text()) == 9
    with pytest.raises(DatasetError, match="other settings"):
        build.make_file(plan, path)  # levels are not mixed with layouts
    make_layouts(plan, path)
    assert path.read_bytes() == small.read_bytes()


def test_base_layouts_are_packed_as_numpy_packs_them():
    random = np.random.default_rng(0)
    for shape in ((2, 3), (13, 13), (5, 8)):
        floor = random.random(shape) < 0.5
        packed = np.empty((floor.size + 7) // 8, np.uint8)
        pack(floor, packed)
        np.testing.assert_array_equal(packed, np.packbits(floor))
        back = np.empty(shape, np.bool_)
        unpack(packed, back)
        np.testing.assert_array_equal(back, floor)


def test_base_layouts_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_it = ["levels", "make", "cave-escape-test", "--count", "12", "--seed", "3"]
    main([*make_it, "--layouts-only", "--out", "layouts.npz"])
    main(["levels", "furnish", "layouts.npz", "--out", "levels.npz"])
    main([*make_it, "--out", "direct.npz"])
    shown = capsys.readouterr().out.splitlines()
    size = "13×13 cells inside (15×15 with the wall around)"
    assert shown[0].startswith(f"layouts.npz: 12 layouts of {size}, from 4 structures, digest")
    assert shown[1].split("levels.npz")[1] == shown[2].split("direct.npz")[1]


def test_base_layouts_are_not_taken_for_levels_nor_levels_for_layouts(small, tmp_path):
    with pytest.raises(DatasetError, match=r"holds layouts .* `dred levels furnish"):
        load(small)
    make("cave-escape-train", count=4).save(tmp_path / "levels.npz")
    with pytest.raises(DatasetError, match="not a set of layouts"):
        load_layouts(tmp_path / "levels.npz")
    with np.load(small) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["floor"][0] ^= 1
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(DatasetError, match="do not match the digest"):
        load_layouts(tmp_path / "changed.npz")
