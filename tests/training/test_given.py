"""A run contains what it needs, and its evaluations keep out of each other's way."""

import json
import re
import shutil

import numpy as np
import pytest

import dred
from dred import checkpoint
from dred.cli import main
from dred.errors import ConfigError, DatasetError
from dred.levels import load, make
from dred.runs import open_run
from dred.training import given
from dred.training.given import now_at
from tests.patience import stopped_after

NAMES = ("train", "test")


def said(*words):
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    for name in NAMES:
        make(f"cave-escape-{name}", count=8, size=9).save(folder / f"{name}.npz")
    levels = folder / "train.npz"
    main(said("fit", "--levels", levels, "--out", folder / "vae", "--epochs", 1))
    return folder


def train(files, out, *more):
    inputs = ("--levels", files / "train.npz", "--generator", files / "vae")
    return said("train", "vae-dred", *inputs, "--out", out, "--preset", "smoke", *more)


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "x"
    main(train(files, out, "--updates", 6, "--held-out", files / "test.npz"))
    return open_run(out)


def arrays_of(path):
    return checkpoint.read(checkpoint.checkpoints_in(path / "checkpoints")[-1])


def test_a_run_contains_what_it_needs_and_a_moved_one_resumes_bit_for_bit(
    files, run, tmp_path, capsys
):
    mine = tmp_path / "levels"
    shutil.copytree(files, mine)
    began = tmp_path / "began"
    words = train(mine, began, "--updates", 6, "--held-out", mine / "test.npz")
    import signal

    stopped_after(checkpoint.path_of(began / "checkpoints", 3).name, signal.SIGKILL, words)
    moved = tmp_path / "elsewhere" / "moved"
    shutil.copytree(began, moved)
    shutil.rmtree(began)
    shutil.rmtree(mine)
    main(said("resume", moved))
    whole, resumed = arrays_of(run.path), arrays_of(moved)
    assert whole.keys() == resumed.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, resumed[name], err_msg=name)
    assert [open_run(moved).levels(name).digest for name in NAMES] == [
        run.record.levels[name].digest for name in NAMES
    ]
    assert "all done already" not in capsys.readouterr().out
    main(said("resume", moved))
    assert "6 updates, all done already" in capsys.readouterr().out


def test_what_is_very_large_stays_where_it_is_and_can_be_found_again(
    files, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(given, "MOST_BYTES", 10)
    mine = tmp_path / "levels"
    shutil.copytree(files, mine)
    main(train(mine, tmp_path / "x", "--updates", 3))
    assert not (tmp_path / "x" / "given").exists()
    mine.rename(tmp_path / "now")
    run = open_run(tmp_path / "x")
    with pytest.raises(DatasetError, match=r"not there any more.*--levels FILE"):
        run.levels("train")
    with pytest.raises(DatasetError, match=r"is not what .* was given"):
        now_at(run, levels=tmp_path / "now/test.npz")
    with pytest.raises(ConfigError, match="Leave out --held-out"):
        now_at(run, held_out=tmp_path / "now/test.npz")
    suite = ("--suite", tmp_path / "now/test.npz")
    now = ("--levels", tmp_path / "now/train.npz", "--generator", tmp_path / "now/vae")
    main(said("evaluate", run.path, *suite, *now))
    again = open_run(run.path)
    assert again.levels("train").digest == run.record.levels["train"].digest
    assert again.record.generator.path == str(tmp_path / "now/vae")


def test_a_plug_in_that_is_gone_is_kept_but_not_run_unasked(files, tmp_path):
    plugin = tmp_path / "mine.py"
    text = "import dred\n@dred.register_score('mine')\ndef mine(trace):\n    return trace.value\n"
    plugin.write_text(text)
    base = ("--levels", files / "train.npz", "--preset", "smoke", "--updates", 3)
    score = ("--set", "method.primary.score=mine", "--plugin", plugin)
    main(said("train", "plr", *base, "--out", tmp_path / "x", *score))
    copy = tmp_path / "x/given/plugins/mine.py"
    assert copy.read_text() == text
    plugin.unlink()
    dred.plugins._LOADED.clear()
    with pytest.raises(ConfigError, match=re.escape(f"add --plugin {copy}, if you trust it")):
        _ = open_run(tmp_path / "x").task


def test_evaluations_never_overwrite_one_another_and_are_listed_in_an_index(
    files, run, tmp_path, capsys
):
    other = tmp_path / "test.npz"
    make("cave-escape-test", count=4, size=9, seed=1).save(other)
    words = ("evaluate", run.path, "--suite")
    for more in ((), ("--episodes", 2), ("--greedy",), ("--seed", 1)):
        main(said(*words, files / "test.npz", *more))
    main(said(*words, other))
    own = f"test-{load(other).digest[:8]}"
    names = ["test", "test-2-episodes", "test-greedy", "test-seed-1", own]
    folder = run.path / "evaluation"
    assert {path.stem for path in folder.glob("*.csv")} == set(names)
    lines = {name: (folder / f"{name}.csv").read_text().splitlines() for name in names}
    assert [len(lines[name]) for name in names] == [9, 17, 9, 9, 5]
    assert {line.split(",")[1] for name in names[:4] for line in lines[name][1:]} == {"test"}
    assert lines[own][1].split(",")[1] == own
    index = (folder / "index.md").read_text()
    assert all(f"| {name}.csv |" in index for name in names)
    assert f"{folder / 'test-greedy.csv'}" in capsys.readouterr().out
    before = (folder / "test.csv").stat().st_mtime_ns
    main(said(*words, files / "test.npz"))
    assert (folder / "test.csv").stat().st_mtime_ns == before  # nothing is done twice


def test_results_of_an_earlier_checkpoint_are_put_aside_and_reports_take_the_best(run):
    from dred.evaluation.results import preference, put_aside, told_in

    folder = run.path / "evaluation"
    put_aside(folder, "test-seed-1", 6)
    assert (folder / "test-seed-1.csv").exists()  # it is of that checkpoint
    put_aside(folder, "test-seed-1", 9)
    assert not (folder / "test-seed-1.csv").exists()
    assert told_in(folder / "test-seed-1-after-6-updates.json")["update"] == 6
    kinds = [
        {"update": 6, "greedy": True, "episodes": 9},
        {"update": 6, "greedy": False, "episodes": 1},
        {"update": 6, "greedy": False, "episodes": 3},
        {"update": 9, "greedy": True, "episodes": 1},
    ]
    assert sorted(kinds, key=preference) == kinds
    assert json.loads((folder / "test.json").read_text())["suite"] == "test"
