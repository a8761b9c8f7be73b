"""What a new user stumbled over, each line once."""

import dataclasses
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import dred
from dred import checkpoint, extras, plugins
from dred.cli import main
from dred.errors import ConfigError
from dred.levels import load, make
from dred.presets import METHODS
from dred.replay.scores import SCORES
from dred.runs import open_run
from dred.tasks.gridworld.generators.quality import assess, drift_words, in_words
from dred.tasks.gridworld.generators.vae.words import history_words
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.training import shown
from dred.training.train import Progress, Trainer

EXAMPLE = Path(__file__).parent.parent / "examples" / "own_score.py"


def said(*words):
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    for name in ("train", "test"):
        make(f"cave-escape-{name}", count=8, size=9).save(folder / f"{name}.npz")
    return folder


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    """A run with a score and a method of one's own."""
    out = tmp_path_factory.mktemp("runs") / "x"
    words = ("train", "longing", "--plugin", EXAMPLE, "--levels", files / "train.npz")
    main(said(*words, "--out", out, "--preset", "smoke", "--updates", 3))
    return open_run(out)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main(said(*words))
    assert stop.value.code == 1
    return capsys.readouterr().err


# 8: advice in context


def test_advice_fits_what_was_asked_for(files, run, tmp_path, capsys):
    error = refused(capsys, "evaluate", run.path, "--suite", "papr")
    assert "Did you mean 'paper'?" in error and "levels make" not in error
    (tmp_path / "mine.txt").write_text("S.G\n")
    train = ("train", "uniform", "--out", tmp_path / "x", "--levels")
    error = refused(capsys, *train, tmp_path / "mine.txt")
    assert f"dred levels import {tmp_path}/mine.txt --out {tmp_path}/mine.npz" in error
    error = refused(capsys, *train, files / "train.npz", "--updates", -5)
    assert "--updates (=-5) must be at least 1" in error
    error = refused(capsys, "study", "status", run.path)
    assert "is a run, and not a study" in error
    assert not (tmp_path / "x").exists()


def test_a_suite_and_a_file_can_be_evaluated_together(files, run):
    from dred.commands.evaluate import sets_named
    from dred.task import Suite

    paper = Suite(("train", "edge"), lambda train: {"train": train, "edge": train[np.arange(2)]})
    task = dataclasses.replace(run.task, suites={"paper": paper})
    other = open_run(run.path)
    other.__dict__["task"] = task
    found = sets_named([files / "test.npz", Path("paper")], other)
    assert list(found) == ["test", "train", "edge"]
    make("cave-escape-test", count=2, size=9).save(files / "edge.npz")
    with pytest.raises(ConfigError, match="the same name, edge"):
        sets_named([files / "edge.npz", Path("paper")], other)


def test_extras_are_installed_from_where_dred_came_from(monkeypatch):
    url = '{"url": "file:///home/me/my%20dred", "dir_info": {"editable": true}}'
    pretend = type("Pretend", (), {"read_text": lambda self, name: url})()
    monkeypatch.setattr(extras, "distribution", lambda name: pretend)
    wanted = "pip install --editable '/home/me/my dred[track]'"
    assert extras.how_to_install("track") == wanted
    url = ""
    assert extras.how_to_install("ray") == "pip install '.[ray]', in a checkout of dred"


# 10: without a terminal


def test_without_a_terminal_there_is_a_line_a_chunk_at_most_every_ten_seconds(
    run, monkeypatch, capsys
):
    clock = iter((100.0, 100.0, 104.0, 111.0, 111.0, 112.0, 113.0, 113.0))
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(clock))
    with ExitStack() as stack:
        told = shown.Shown(run, stack, print)
        told.total, told.has_bar = 9, False
        told.begin(0, 9)
        assert "compiling" in capsys.readouterr().out
        for update in (1, 2, 3, 4):
            told.tell(Progress(update, 0.25, 1000.0, None))
        told.tell(Progress(9, 0.25, 1000.0, 0.5))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["update 1 of 9", "update 3 of 9", "update 9"]
    assert lines[-1].endswith(
        "25.0% solved in replayed levels, 50.0% solved held out, 1,000 steps/s"
    )


def test_a_chunk_that_was_compiled_first_has_no_rate_and_no_time_left(run, capsys):
    with ExitStack() as stack:
        told = shown.Shown(run, stack, print)
        told.total, told.has_bar = 9, False
        told.tell(Progress(3, 0.25, None, None))
    assert capsys.readouterr().out == "update 3 of 9: 25.0% solved in replayed levels\n"
    said = []
    fresh = SimpleNamespace(seconds_per_update=None, is_compiled=False, say=said.append)
    Trainer._say_what_remains(fresh)
    fresh.is_compiled = True
    Trainer._say_what_remains(fresh)
    assert [words.partition(";")[0] for words in said] == [
        "finishing this chunk (which is compiled first)",
        "finishing this chunk",
    ]


# 11: labels


def test_sizes_are_said_the_same_way_everywhere(tmp_path, capsys):
    drawing = "\n".join(["S" + "." * 10, *["." * 11] * 9, "." * 10 + "G"])
    (tmp_path / "mine.txt").write_text(drawing)
    words = "11×11 cells inside (13×13 with the wall around)"
    main(said("levels", "import", tmp_path / "mine.txt", "--out", tmp_path / "mine.npz"))
    assert f"1 level of {words}" in capsys.readouterr().out
    main(said("levels", "info", tmp_path / "mine.npz"))
    assert f"1 of {words}" in capsys.readouterr().out
    levels = make("cave-escape-train", count=1, size=13)
    assert words in repr(levels)
    assert words in dred.tasks.gridworld.task.GRIDWORLD.describe_size(levels)


def test_a_fit_explains_its_numbers_and_says_when_it_was_too_short():
    parts = ("loss", "layout", "goal", "start", "divergence", "elbo")
    rows = [
        {f"{part}/{where}": 10.0 - epoch for part in parts for where in ("train", "held_back")}
        | {"epoch": float(epoch)}
        for epoch in (1, 2, 3, 4)
    ]
    falling = history_words(rows)
    assert "layout, goal, start: the log-probability" in falling
    assert "epoch 4 of 4" in falling and "still falling" in falling and "--epochs 8" in falling
    assert "still falling" not in history_words([*rows, {**rows[0], "epoch": 5.0}])


def test_a_generator_is_told_by_its_dataset(files):
    dataset = load(files / "train.npz")
    quality = assess(dataset.levels, dataset)
    assert drift_words(quality, quality) == ""
    words = drift_words(quality._replace(moss_density=2 * quality.moss_density), quality)
    assert "moss" in words and "8 levels only" in words and "lava" not in words
    none = quality._replace(moss_density=0.0)
    assert "where the dataset has 0.0%" in drift_words(quality, none)
    assert drift_words(none._replace(lava_density=np.nan), none) == ""
    poor = quality._replace(solvable=0.2)
    assert "only 20.0% of them can be solved" in drift_words(poor, quality)
    sure = quality._replace(moss_right=0.9, lava_right=0.5)
    table = in_words({"the dataset": sure})
    assert "moss near goal" in table and "lava far" not in table
    assert "Jensen–Shannon distance to the dataset" in table


# 12: order of doing


def test_nothing_is_created_before_all_is_checked(files, tmp_path, monkeypatch, capsys):
    words = ("train", "uniform", "--levels", files / "train.npz", "--preset", "smoke")
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    error = refused(capsys, *words, "--out", tmp_path / "x", "--track", "tensorboard")
    assert "TensorBoard is not installed" in error
    (tmp_path / "full").mkdir()

    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LevelDataset, "save", full)
    error = refused(capsys, *words, "--out", tmp_path / "x")
    assert f"{tmp_path}/x cannot be written: no space left on device" in error
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_a_full_disk_is_told_with_what_was_saved_and_how_to_go_on(
    files, tmp_path, monkeypatch, capsys
):
    save = checkpoint.np.savez

    def full_later(stream, **arrays):
        if "update-00000006" in stream.name:
            raise OSError(28, "No space left on device")
        save(stream, **arrays)

    monkeypatch.setattr(checkpoint.np, "savez", full_later)
    words = ("train", "uniform", "--levels", files / "train.npz", "--preset", "smoke")
    error = refused(capsys, *words, "--out", tmp_path / "x")
    assert "no space left on device" in error
    assert f"Saved: 3 of 12 updates. Continue with: dred resume {tmp_path}/x" in error
    assert open_run(tmp_path / "x").record.status == "interrupted"


def test_a_set_of_levels_is_printed_in_a_line(files):
    shown = str(load(files / "train.npz"))
    assert shown.startswith("8 levels of 7×7 cells inside") and "\n" not in shown
    table = str(dred.LevelTable({"length": np.ones(3)}))
    assert table.startswith("3 levels of length, digest ")


def test_all_presets_are_in_the_help(capsys):
    from dred.tasks.gridworld.presets import GRIDWORLD_BUDGETS, LEVEL_SETS, VAES

    for words, names in (
        (("train",), GRIDWORLD_BUDGETS),
        (("config",), GRIDWORLD_BUDGETS),
        (("fit",), VAES),
        (("levels", "make"), LEVEL_SETS),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        shown = capsys.readouterr().out
        assert not [name for name in names if name not in shown], words


# 13: own scores and methods


def forget():
    """Forget what the plug-in has registered, as another process would not know it."""
    plugins._LOADED.clear()
    SCORES.pop("longing", None)
    METHODS.pop("longing", None)
    for name in [name for name in sys.modules if name.startswith("dred_user_own_score")]:
        del sys.modules[name]


def test_own_scores_and_methods_resume_and_report(files, run, tmp_path, capsys):
    config = dataclasses.asdict(run.config) | {"num_updates": 6}
    run.note(config=config, status="interrupted")
    forget()
    main(said("resume", run.path))
    forget()
    main(said("evaluate", run.path, "--suite", files / "test.npz"))
    forget()
    main(said("report", run.path, "--out", tmp_path / "report"))
    assert "longing" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_a_policy_takes_what_the_gymnasium_environments_show(files, run):
    import gymnasium

    levels = load(files / "train.npz")
    policy, key = run.policy(), jax.random.key(0)
    env = gymnasium.make("dred/CaveEscape-v0", levels=levels)
    observation, _ = env.reset(seed=0, options={"level": 1, "heading": 2})
    _, action = policy.act(policy.initial_memory(), observation, key=key)
    env.step(int(action))
    many = gymnasium.make_vec("dred/CaveEscape-v0", num_envs=3, levels=levels)
    seen, _ = many.reset(seed=0, options={"level": 1, "heading": 2})
    _, actions = policy.act(policy.initial_memory(3), seen)
    assert action.shape == () and actions.shape == (3,)
