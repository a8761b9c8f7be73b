import json
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dred
from dred.errors import DatasetError
from dred.levels import LevelDataset, concatenate, from_levels, from_text, load, save
from dred.tasks.gridworld.levels.dataset import repeated_levels


def numbered(count, structure=""):
    """Levels that each carry their own number: the goal is in column `number` + 1."""
    return from_levels(
        [from_text("S" + "." * n + "G" + "." * (count - n)) for n in range(count)],
        structure=structure,
    )


def numbers(dataset):
    return (dataset.goal[:, 1] - 1).tolist()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "set.npz"
    numbered(5).save(path)
    return path


def rewrite(path, **changes):
    """The file with some of its arrays replaced (or dropped: None), digest and all."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_a_saved_set_loads_as_it_was(tmp_path):
    before = numbered(7, structure="line")
    save(before, tmp_path / "x.npz")
    after = load(tmp_path / "x.npz")
    assert after.digest == before.digest
    assert [after[i] for i in range(7)] == [before[i] for i in range(7)]
    assert after.structure.tolist() == ["line"] * 7


def test_the_file_has_the_promised_arrays_and_any_numpy_can_read_it(file):
    with np.load(file, allow_pickle=False) as archive:
        assert sorted(archive.files) == ["goal", "heading", "meta", "start", "structure", "tiles"]
        assert archive["tiles"].dtype == np.uint8
        assert archive["tiles"].shape == (5, 1, 7)
        assert archive["goal"].dtype == archive["start"].dtype == np.int32
        assert archive["heading"].dtype == np.int8
        assert archive["structure"].dtype.kind == "U"
        meta = json.loads(str(archive["meta"]))
    assert meta["digest"] == load(file).digest
    assert meta["versions"]["dred"] == dred.__version__
    assert meta["solvable"] == 5


def test_the_same_levels_give_the_same_bytes(tmp_path):
    numbered(3).save(tmp_path / "a.npz")
    numbered(3).save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_an_integer_picks_a_level_and_everything_else_a_smaller_set():
    dataset = numbered(6)
    assert dataset[2] == dataset[-4] == list(dataset)[2]
    assert numbers(dataset[1:4]) == [1, 2, 3]
    assert numbers(dataset[[5, 0]]) == [5, 0]
    assert numbers(dataset[np.array([True, False] * 3)]) == [0, 2, 4]
    assert len(dataset) == 6
    with pytest.raises(IndexError, match="no level 6 in a set of 6"):
        dataset[6]


@given(count=st.integers(2, 40), share=st.floats(0.05, 0.95), seed=st.integers(0, 99))
def test_a_split_loses_nothing_and_repeats_nothing(count, share, seed):
    dataset = numbered(count)
    if not 0 < round(share * count) < count:
        return
    first, second = dataset.split(share, seed=seed)
    assert len(first) == round(share * count)
    assert sorted(numbers(first) + numbers(second)) == list(range(count))


def test_both_halves_of_a_split_have_the_mix_of_the_whole():
    dataset = numbered(40)
    mixed = LevelDataset(
        **{**dataset.arrays, "structure": np.array(["a"] * 30 + ["b"] * 10)}, meta={}
    )
    first, second = mixed.split(0.5, seed=3)
    assert (first.structure == "a").sum() == (second.structure == "a").sum() == 15
    assert numbers(mixed.split(0.5, seed=4)[0]) != numbers(first)


@pytest.mark.parametrize("first", [0, 5, 1.0, -1, float("nan")])
def test_a_split_into_nothing_and_all_is_an_error(first):
    with pytest.raises(DatasetError, match="at least one"):
        numbered(5).split(first)


def test_filter_takes_a_function_or_a_mask():
    dataset = numbered(6)
    assert numbers(dataset.filter(lambda level: int(level.goal[1]) > 4)) == [4, 5]
    assert numbers(dataset.filter(dataset.goal[:, 1] == 1)) == [0]


def test_concatenate_keeps_order_and_refuses_repetition():
    dataset = numbered(6)
    assert numbers(concatenate([dataset[3:], dataset[:3]])) == [3, 4, 5, 0, 1, 2]
    with pytest.raises(DatasetError, match="more than once"):
        concatenate([dataset, dataset[:1]])
    with pytest.raises(DatasetError, match="nothing to concatenate"):
        concatenate([])


def test_repeated_levels_are_those_equal_to_an_earlier_one():
    dataset = numbered(3)
    assert repeated_levels(dataset[[0, 1, 0, 2, 1]]).tolist() == [False, False, True, False, True]


def test_every_change_of_a_level_changes_the_digest():
    base = from_levels([from_text("S..G")])
    others = [from_text("S.G."), from_text(".S.G"), from_text(">..G"), from_text("S,.G")]
    digests = {from_levels([level]).digest for level in others}
    digests.add(from_levels([from_text("S..G")], structure="x").digest)
    assert base.digest not in digests
    assert len(digests) == 5


def test_a_set_needs_a_level():
    with pytest.raises(DatasetError, match="at least one level"):
        from_levels([])


def check_refused(path, text):
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(DatasetError) as error:
        load(path)
    assert text in str(error.value)
    assert str(path) in str(error.value)
    assert "\n\n" not in str(error.value)
    assert before is None or path.read_bytes() == before


def test_a_missing_file_is_an_error(tmp_path):
    check_refused(tmp_path / "none.npz", "There is no file")
    check_refused(tmp_path, "is not a file")


@pytest.mark.parametrize("keep", [0, 1, 10, 100, 700])
def test_a_truncated_file_is_an_error(file, keep):
    file.write_bytes(file.read_bytes()[:keep])
    check_refused(file, "cannot be read as a set of levels")


def test_a_changed_level_does_not_match_the_digest(file):
    with np.load(file) as archive:
        tiles = archive["tiles"].copy()
    tiles[0, 0, -1] = 3
    rewrite(file, tiles=tiles)
    check_refused(file, "do not match the digest")


def test_a_pickle_inside_is_never_opened(file):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    rewrite(file, tiles=np.array([Trap()], object))
    check_refused(file, "'tiles' is a pickle")


def test_a_pickle_among_extra_arrays_is_refused_too(file):
    rewrite(file, extra=np.array([{}], object))
    check_refused(file, "'extra' is a pickle")


def test_a_pickled_file_is_refused(tmp_path):
    path = tmp_path / "set.npz"
    path.write_bytes(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94.")
    check_refused(path, "cannot be read as a set of levels")


@pytest.mark.parametrize("name", ["tiles", "meta", "structure"])
def test_a_missing_array_is_an_error(file, name):
    rewrite(file, **{name: None})
    check_refused(file, f"has no {name}")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("tiles", np.zeros((5, 7), np.uint8)),
        ("tiles", np.zeros((5, 1, 7), np.int64)),
        ("goal", np.zeros((4, 2), np.int32)),
        ("goal", np.zeros((5, 2), np.float32)),
        ("heading", np.zeros((5, 1), np.int8)),
        ("structure", np.zeros(5)),
    ],
)
def test_arrays_of_the_wrong_type_or_shape_are_an_error(file, name, array):
    rewrite(file, **{name: array})
    check_refused(file, "Expected tiles uint8 [n, height, width]")


def test_meta_that_is_no_json_or_of_another_format_is_an_error(file):
    rewrite(file, meta=np.array("{"))
    check_refused(file, "not JSON")
    rewrite(file, meta=np.array('{"format": 99}'))
    check_refused(file, "has format 99")


def test_a_single_array_is_not_a_set(tmp_path):
    path = tmp_path / "one.npz"
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    check_refused(path, "not a zip file")


def test_an_improper_level_in_a_file_is_named(tmp_path):
    dataset = numbered(3)
    goal = dataset.goal.copy()
    goal[1] = dataset.start[1]
    improper = LevelDataset(**{**dataset.arrays, "goal": goal}, meta={})
    with pytest.raises(DatasetError, match="level 1: the start and the goal are the same cell"):
        improper.save(tmp_path / "x.npz")
    assert not (tmp_path / "x.npz").exists()
    numbered(3).save(tmp_path / "x.npz")
    meta = json.dumps({"format": 1, "digest": improper.digest})
    rewrite(tmp_path / "x.npz", goal=goal, meta=np.array(meta))
    check_refused(tmp_path / "x.npz", "level 1: the start and the goal are the same cell")


def test_random_damage_is_always_told_in_one_paragraph(file):
    whole = file.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(whole))] = random.integers(256)
        file.write_bytes(bytes(damaged))
        try:
            assert load(file).digest == numbered(5).digest  # the damage was where nothing is read
        except DatasetError as error:
            assert "\n\n" not in str(error)


def test_equal_sets_have_equal_digests_however_they_were_made():
    both = from_levels([from_text("S.G"), from_text("S,G")], structure=["a", "longer"])
    assert both[:1].digest == from_levels([from_text("S.G")], structure="a").digest


def test_a_set_cannot_be_changed_in_place():
    dataset = numbered(3)
    with pytest.raises(ValueError, match="read-only"):
        dataset.tiles[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        dataset[0].tiles[0, 0] = 1


def test_a_set_without_levels_is_not_written(tmp_path):
    with pytest.raises(DatasetError, match="without levels"):
        numbered(3)[:0].save(tmp_path / "x.npz")


def test_indices_that_make_no_sense_are_errors():
    dataset = numbered(3)
    for index in (True, np.array([True])):
        with pytest.raises(DatasetError):
            dataset[index]
    assert len(dataset[[]]) == 0
    assert dataset[np.int64(1)] == dataset[1]


def test_a_failed_save_leaves_the_old_file_and_no_other(file, monkeypatch):
    before = file.read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "open", fail)
    with pytest.raises(dred.errors.DredError, match="no space left on device"):
        numbered(6).save(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_unequal_arrays_are_an_error():
    # Called on a stand-in, since the shape checks that are on in tests would stop it earlier.
    arrays = {**numbered(3).arrays, "goal": np.zeros((2, 2), np.int32)}
    with pytest.raises(DatasetError, match="equally long; they are: tiles 3, goal 2"):
        LevelDataset.__post_init__(SimpleNamespace(arrays=arrays))
