"""A user's own task, from the file that the documents show: trained, killed, resumed, reported."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import dred
from dred import checkpoint
from dred.cli import main
from dred.errors import ConfigError
from dred.plugins import load_plugins
from dred.registry import find_task
from dred.run_folder import RunFolder
from dred.runs import open_run
from dred.training.begin import Inputs, begin_run
from tests.patience import stopped_after

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_environment.py"
PAGE = Path(__file__).parents[1] / "docs" / "your-own-environment.md"
TASK = f"{EXAMPLE}:corridor"
corridor = find_task(TASK)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corridors")
    from_example = sys.modules[type(corridor.environment).__module__]
    from_example.make_levels(24, seed=0).save(folder / "train.npz")
    from_example.make_levels(24, seed=1).save(folder / "test.npz")
    return folder


def words(files, out):
    levels = ("--levels", files / "train.npz", "--held-out", files / "test.npz")
    return ["train", "plr", "--task", TASK, *levels, "--preset", "smoke", "--out", out]


def test_the_page_is_the_file_that_is_tested():
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text in PAGE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100


@pytest.mark.long
def test_killed_and_resumed_a_run_of_an_own_task_ends_bit_for_bit_the_same(files, tmp_path):
    main(list(map(str, words(files, tmp_path / "whole"))))
    path = tmp_path / "killed"
    stopped_after(
        f"killed/checkpoints/{checkpoint.path_of(path, 6).name}",
        signal.SIGKILL,
        words(files, path),
    )
    main(["resume", str(path)])
    whole, again = (
        checkpoint.read(checkpoint.checkpoints_in(tmp_path / name / "checkpoints")[-1])
        for name in ("whole", "killed")
    )
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


def test_an_own_task_is_trained_evaluated_and_reported_from_python(files, tmp_path):
    runs = [
        dred.train(
            method,
            levels=corridor.level_format.load(files / "train.npz"),  # a set, not a file
            held_out=files / "test.npz",
            task=TASK,
            out=tmp_path / name,
            preset="smoke",
            set={"probe_every": 0, "evaluate_every": 0},
        )
        for name, method in {
            "uniform": "uniform",
            "mine": dred.Method("mine", capacity=60, mutation_generator="stretch", admit="all"),
        }.items()
    ]
    table = dred.evaluate(runs[0], suites={"others": files / "test.npz"})
    assert len(table["others"].solved) == 24
    lines = str(table).splitlines()
    assert lines[0].split() == ["suite", "seed", "levels", "solved", "mean", "return"]
    assert lines[1].split()[:3] == ["others", "0", "24"]
    dred.evaluate(runs[1], suites={"others": files / "test.npz"})
    page = dred.report(runs, out=tmp_path / "report")
    assert "mine" in page.read_text(encoding="utf-8")
    row = open_run(runs[1].path).metrics()[-1]
    assert row["length"] > 0  # the task's own feature, averaged over P_Λ
    assert 0 <= row["jsd_distance"] <= 1
    assert "path" not in row  # a feature of another task
    made = set(open_run(runs[1].path).buffer().levels.structure)
    assert made == {"dataset", "stretch"}


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (dred.Method("mine", primary=dred.config.TermConfig("true_regret")), "which returns are"),
        (dred.Method("mine", primary=dred.config.TermConfig("level_nll")), "classifier"),
        (dred.Method("mine", capacity=60, mutation_generator="edits"), "edits"),
    ],
)
def test_what_a_task_cannot_give_is_refused_before_anything_is_made(
    method, message, files, tmp_path
):
    with pytest.raises(ConfigError, match=message):
        dred.train(method, levels=files / "train.npz", task=TASK, out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_task_that_is_not_there_is_explained():
    with pytest.raises(ConfigError, match="It has corridor"):
        find_task(f"{EXAMPLE}:corridors")
    with pytest.raises(ConfigError, match="no file"):
        find_task("nowhere.py:task")
    with pytest.raises(ConfigError, match="gridworld"):
        find_task("gridwold")


def begun_with_an_own_file(files, folder, name):
    """A run of a task in a file of the user's, which no other process knows."""
    own = folder / f"{name}.py"
    own.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    task_name = f"{own}:corridor"
    config = dred.presets.train_config("plr", "smoke")
    begin_run(
        folder / "x",
        config,
        Inputs(files / "train.npz"),
        task=find_task(task_name),
        task_name=task_name,
        seeds=(0,),
        command=[],
    )
    for module in [module for module in sys.modules if module.startswith(f"dred_user_{name}")]:
        del sys.modules[module]
    return own


def test_a_moved_run_of_an_own_task_keeps_a_copy_of_its_file(files, tmp_path):
    own = begun_with_an_own_file(files, tmp_path, "moved_corridor")
    own.unlink()
    moved = (tmp_path / "x").rename(tmp_path / "y")
    copy = moved / "given" / "plugins" / own.name
    with pytest.raises(ConfigError, match=f"keeps a copy: add --plugin {copy}"):
        _ = RunFolder(moved).task
    load_plugins([copy])
    assert RunFolder(moved).task.name == "corridor"
    assert len(RunFolder(moved).levels("train")) == 24


def test_an_own_task_that_has_changed_is_refused_unless_it_is_named(files, tmp_path):
    own = begun_with_an_own_file(files, tmp_path, "changed_corridor")
    own.write_text(own.read_text(encoding="utf-8").replace("LONGEST = 12", "LONGEST = 14"))
    with pytest.raises(ConfigError, match=r"changed_corridor\.py has changed since"):
        _ = RunFolder(tmp_path / "x").task
    load_plugins([own])
    assert sys.modules[type(RunFolder(tmp_path / "x").task.environment).__module__].LONGEST == 14
