"""Wave function collapse fitted to a dataset: its windows, its habits, its folder."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred.cli import main
from dred.errors import CheckpointError, ConfigError, DatasetError
from dred.levels import from_text, make
from dred.task import FitRequest, GeneratorInput, NoSettings
from dred.tasks.gridworld.generators.quality import assess
from dred.tasks.gridworld.generators.wfc.calibrate import calibrated, correction, counts_of
from dred.tasks.gridworld.generators.wfc.fitted import FILE, KIND, fit_generator, load
from dred.tasks.gridworld.generators.wfc.furnish import BINS, mark_cells, offset_for, ranks_of
from dred.tasks.gridworld.generators.wfc.generator import WFC
from dred.tasks.gridworld.generators.wfc.model import Collapse, fit_windows
from dred.tasks.gridworld.generators.wfc.windows import (
    FEWEST,
    WindowsConfig,
    catalogues_of,
    numbers_of,
    windows_of,
)
from dred.tasks.gridworld.levels.dataset import from_levels
from dred.tasks.gridworld.levels.level import LAVA, MOSS, Level, faults, is_navigable

QUICK = WindowsConfig(rounds=1, levels_per_round=8)


@pytest.fixture(scope="module")
def dataset():
    return make("cave-escape-train", count=64, size=11)


@pytest.fixture(scope="module")
def folder(dataset, tmp_path_factory):
    out = tmp_path_factory.mktemp("wfc") / "wfc"
    changes = {"rounds": 1, "levels_per_round": 8}
    fit_generator(dataset, out, FitRequest(changes=changes))
    return out


def from_drawings(*drawings):
    return from_levels([from_text(one) for one in drawings])


def test_the_windows_of_a_tiny_drawing_are_counted_by_hand():
    # walls 1, floor 0; windows of 2×2, row by row:
    # 0 0 1     00  01     01  10
    # 0 1 0  →  01  10  /  11  01
    # 1 1 1
    walls = np.array([[[0, 0, 1], [0, 1, 0], [1, 1, 1]]], np.uint8)
    windows, weight = windows_of(walls, 2)
    found = {tuple(one.ravel().tolist()): count for one, count in zip(windows, weight, strict=True)}
    assert found == {(0, 0, 0, 1): 1, (0, 1, 1, 0): 1, (0, 1, 1, 1): 1, (1, 0, 1, 1): 1}
    # all eight copies of it: each window in all its turns, of which there may be fewer than eight
    windows, weight = windows_of(walls, 2, symmetric=True)
    assert weight.sum() == 32
    assert {int(one.sum()): 0 for one in windows} == {1: 0, 2: 0, 3: 0}


def test_each_structure_has_a_catalogue_if_it_has_enough_levels(dataset):
    names = [one.name for one in catalogues_of(dataset, QUICK)]
    assert names == dataset.structures
    few = dataset[: 16 + FEWEST - 1]  # of the second structure there is one too few
    assert [one.name for one in catalogues_of(few, QUICK)] == [""]
    assert len(catalogues_of(dataset, replace(QUICK, per_structure=False))) == 1


def test_all_windows_that_are_made_are_windows_of_the_dataset(dataset):
    """Without keeping the largest part, which fills cells in."""
    config = replace(QUICK, per_structure=False)
    collapse = Collapse(fit_windows(dataset, config), config, connected=False)
    known = np.unique(numbers_of((~is_navigable(dataset.tiles)).astype(np.uint8), 3))
    for shape in ((9, 9), (7, 12), (21, 21)):
        made = collapse(np.uint64(1), 4, shape)
        drawn = numbers_of((~is_navigable(made.tiles)).astype(np.uint8), 3)
        assert np.isin(drawn, known).all()


def test_levels_are_proper_solvable_and_follow_their_key(folder, dataset):
    model = dred.generators.load(folder)
    assert (model.kind, model.path) == (KIND, folder)
    made = model.sample(40, key=jax.random.key(3))
    assert not np.any(list(faults(made).values()))
    quality = assess(made, dataset)
    assert quality.solvable == 1.0
    assert quality.novel > 0.9
    assert min(quality.moss_right, quality.lava_right) > 0.9
    again, other = (model.sample(40, key=jax.random.key(seed)) for seed in (3, 4))
    assert made == again
    assert made != other
    first = model.sample(5, key=jax.random.key(3))
    assert first == Level(*(part[:5] for part in made))
    assert model.sample(2, key=jax.random.key(0), shape=(19, 12)).tiles.shape == (2, 19, 12)


def test_moss_and_lava_are_as_dense_as_in_the_dataset(folder, dataset):
    made = dred.generators.load(folder).sample(200, key=jax.random.key(0))
    ours, theirs = assess(made, dataset), assess(dataset.levels, dataset)
    assert ours.moss_density == pytest.approx(theirs.moss_density, rel=0.15)
    assert ours.lava_density == pytest.approx(theirs.lava_density, rel=0.15)


def test_a_dataset_without_lava_gives_levels_without_lava():
    levels = from_drawings(">.G\n..#\n##.", "G..\n#.#\n..>")
    config = replace(QUICK, window=2)
    made = Collapse(fit_windows(levels, config), config, connected=True)(np.uint64(0), 20, (3, 3))
    assert not np.isin(made.tiles, (MOSS, LAVA)).any()


def test_ranks_halve_what_is_equally_distant():
    np.testing.assert_allclose(ranks_of(np.array([3, 1, 3, 9], np.int32)), [0.5, 0.125, 0.5, 0.875])


def test_probabilities_are_shifted_to_the_share_that_is_asked_for():
    odds = np.random.default_rng(0).normal(size=30)
    for share in (0.02, 0.5, 0.9):
        chance = 1 / (1 + np.exp(-(odds + offset_for(odds, share))))
        assert chance.mean() == pytest.approx(share, abs=1e-6)


def test_of_several_placements_that_nearest_to_the_wanted_correlation_stays():
    distance = np.arange(40, dtype=np.int32)

    def miss(placements):
        found = []
        for seed in range(40):
            random = np.array([seed], np.uint64)
            marked = mark_cells(np.zeros(BINS), distance, 0.3, -0.5, placements, random)
            found.append(abs(np.corrcoef(marked, distance)[0, 1] + 0.5))
        return np.mean(found)

    assert miss(16) < miss(1) / 2


def test_what_comes_out_too_often_is_made_rarer():
    assert counts_of(
        np.array([3, 5, 9], np.uint64), np.array([5, 5, 3, 1], np.uint64)
    ).tolist() == [
        1,
        2,
        0,
    ]
    factors = correction(np.array([1.0, 1.0]), np.array([95.0, 5.0]))
    np.testing.assert_allclose(factors, [(55 / 100) ** 0.7, (55 / 10) ** 0.7])


def test_correction_makes_windows_as_frequent_as_in_the_dataset(dataset):
    config = replace(QUICK, per_structure=False, rounds=3, levels_per_round=48)
    before = fit_windows(dataset, config)
    after = calibrated(before, dataset.shape, config, connected=True, seed=0)

    def distance(windows):
        made = Collapse(windows, config, connected=True)(np.uint64(5), 96, dataset.shape)
        drawn = numbers_of((~is_navigable(made.tiles)).astype(np.uint8), 3).ravel()
        ours, wanted = counts_of(before.numbers, drawn), before.weight
        return 0.5 * np.abs(ours / ours.sum() - wanted / wanted.sum()).sum()

    assert distance(after) < 0.85 * distance(before)


def test_the_generator_gives_training_levels_by_key(folder, dataset):
    levels = jax.tree.map(jnp.asarray, dataset.levels)
    parents = jax.tree.map(lambda part: part[:6], levels)
    given = GeneratorInput(levels, parents, WFC.load(folder, dataset))
    propose = jax.jit(lambda key: WFC.propose(given, NoSettings(), key))
    made, again = (propose(jax.random.key(1)) for _ in range(2))
    assert Level(*map(np.asarray, made)) == Level(*map(np.asarray, again))
    assert made.tiles.shape == (6, 9, 9)
    assert not np.any(list(faults(Level(*map(np.asarray, made))).values()))


def test_the_same_fit_gives_the_same_folder_and_another_seed_another(dataset, folder, tmp_path):
    changes = {"rounds": 1, "levels_per_round": 8}
    fit_generator(dataset, tmp_path / "again", FitRequest(changes=changes))
    fit_generator(dataset, tmp_path / "other", FitRequest(changes=changes, seed=1))
    assert WFC.digest(tmp_path / "again") == WFC.digest(folder)
    assert WFC.digest(tmp_path / "other") != WFC.digest(folder)
    fit_generator(dataset, folder, FitRequest(changes=changes))  # is there already
    with pytest.raises(ConfigError, match="exists already"):
        fit_generator(dataset, folder, FitRequest(changes=changes, seed=1))


def test_levels_smaller_than_a_window_are_refused(folder, dataset):
    with pytest.raises(DatasetError, match="smaller than a window of 3×3"):
        dred.generators.load(folder).sample(1, key=jax.random.key(0), shape=(2, 9))
    with pytest.raises(DatasetError, match="fewer than a window of 4×4"):
        fit_windows(from_drawings(">.G\n..#\n##."), replace(QUICK, window=4))


def test_windows_that_do_not_fit_together_are_refused_in_a_paragraph():
    """Of one 3×3 window without any that could stand beside it, no larger level can be made."""
    config = replace(QUICK, per_structure=False)
    windows = fit_windows(from_drawings(">.#\n..G\n##."), config)
    with pytest.raises(DatasetError, match="do not fit together to levels of 5×5") as caught:
        Collapse(windows, config, connected=False)(np.uint64(0), 1, (5, 5))
    assert "\n" not in str(caught.value)


def test_damaged_folders_are_refused(folder, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    whole = (copy / FILE).read_bytes()
    (copy / FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="cannot be read as a catalogue of windows"):
        load(copy)
    (copy / FILE).unlink()
    with pytest.raises(CheckpointError, match="is missing"):
        load(copy)
    other = dict(np.load(folder / FILE, allow_pickle=False))
    other["catalogue"] = other["catalogue"] + np.int32(9)
    np.savez(copy / FILE, **other)
    with pytest.raises(DatasetError, match="do not fit together"):
        load(copy)


@pytest.mark.parametrize(
    "changes", [{"window": 1}, {"smoothing": 0.0}, {"rounds": -1}, {"placements": 0}]
)
def test_settings_out_of_range_are_refused(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        WindowsConfig(**changes)


def test_dred_fit_fits_windows_and_generate_draws_from_them(dataset, folder, tmp_path, capsys):
    del folder
    levels, out = tmp_path / "levels.npz", tmp_path / "wfc"
    dataset.save(levels)
    dred.fit(levels, out=out, model="wfc", set={"rounds": 0})
    main(["generate", str(out), "--count", "20", "--size", "13", "--out", str(tmp_path / "n.npz")])
    assert "100.0%" in capsys.readouterr().out
    assert dred.levels.load(tmp_path / "n.npz").shape == (11, 11)
    assert json.loads((out / "generator.json").read_text())["kind"] == "wfc"
