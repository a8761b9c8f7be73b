"""Runs in Procgen itself: the trainer, commands and folders of any other task."""

import shutil
import signal

import numpy as np
import pytest

from dred.cli import main
from dred.errors import ConfigError, DatasetError
from dred.registry import find_task
from dred.runs import open_run
from dred.studies.jobs import preparations, runs_of
from dred.studies.study import read_study
from dred.tasks.procgen.gather import outcome_of, outcomes_of
from tests.patience import stopped_after
from tests.training.test_train import documented_metrics

pytest.importorskip("procgen")


WORDS = ["train", "value-l1+mi", "--task", "procgen/bigfish", "--levels", "0-7"]
WORDS += ["--preset", "smoke", "--out"]


def arrays_in(path):
    newest = sorted((path / "checkpoints").glob("*.npz"))[-1]
    with np.load(newest, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "whole"
    main([*WORDS, str(path)])
    return path


def test_a_run_is_trained_and_measured(whole):
    run = open_run(whole)
    assert run.record.status == "finished" and run.record.task == "procgen/bigfish"
    rows = run.metrics()
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["transitions"] == 4 * 64
    assert set(rows[-1]) <= documented_metrics()
    for name in ("return/train", "return/test", "gen_gap", "shift_gap", "mutual_information"):
        assert np.isfinite(rows[-1][name])
    assert [name for name in rows[0] if name.startswith("untrained/")] == []
    got, before = rows[-1]["untrained/return/train"], rows[-1]["untrained/return/test"]
    assert rows[-1]["untrained/gen_gap"] == pytest.approx(got - before)
    outcome = outcome_of(run)
    assert outcome.untrained_information == rows[-1]["untrained/mutual_information"] >= 0
    assert (outcome.game, outcome.strategy, outcome.num_levels) == ("bigfish", "value-l1+mi", 8)
    assert np.isfinite([outcome.train, outcome.test, outcome.information]).all()


@pytest.mark.long
def test_a_killed_run_continues_exactly(whole, tmp_path):
    path = tmp_path / "killed"
    stopped_after("update-00000002.npz", signal.SIGKILL, [*WORDS, path])
    main(["resume", str(path)])
    one, other = arrays_in(whole), arrays_in(path)
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
    hidden = {"seconds", "seconds_per_update"}

    def rows(path):
        return [{k: v for k, v in r.items() if k not in hidden} for r in open_run(path).metrics()]

    assert rows(path) == rows(whole)


def test_a_run_is_evaluated_and_reported_like_any_other(whole, tmp_path, capsys):
    path = tmp_path / "evaluated"
    shutil.copytree(whole, path)
    (tmp_path / "few.npz").unlink(missing_ok=True)
    find_task("procgen/bigfish").level_format.load("300-303").save(tmp_path / "test.npz")
    main(["evaluate", str(path), "--suite", str(tmp_path / "test.npz")])
    lines = (path / "evaluation" / "test.csv").read_text().splitlines()
    assert lines[0] == "seed,suite,level,episode,solved,return,steps"
    assert [line.split(",")[2] for line in lines[1:]] == ["0", "1", "2", "3"]
    returned = np.mean([float(line.split(",")[5]) for line in lines[1:]])
    assert outcome_of(open_run(path)).test == pytest.approx(returned)
    main(["report", str(path), "--out", str(tmp_path / "report")])
    assert "I(L; b)" in (tmp_path / "report" / "report.html").read_text()


def test_levels_are_a_file_or_a_range_of_numbers(tmp_path):
    levels = find_task("procgen/bigfish").level_format
    found = levels.load("3-5")
    assert found.levels["level"].tolist() == [3, 4, 5]
    found.save(tmp_path / "some.npz")
    assert levels.load(tmp_path / "some.npz").digest == found.digest
    for wrong in ("5-3", "0-99999999999"):
        with pytest.raises(DatasetError, match="FIRST-LAST"):
            levels.load(wrong)


def test_nobody_trains_on_test_levels():
    task = find_task("procgen/coinrun")
    sets = task.default_levels()
    train, test = (sets[name].levels["level"] for name in ("train", "test"))
    assert train.tolist() == list(range(200))
    assert len(np.unique(test)) == 1000 and test.min() >= 1_000_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--task", "procgen/bigfsh"], "Did you mean 'bigfish'"),
        (["--task", "procgen/bigfish/hrd"], "Did you mean 'hard'"),
        (["--task", "procgen/bigfish", "--preset", "huge"], "laptop"),
        (["--task", "procgen/bigfish", "--levels", "9-1"], "FIRST-LAST"),
        (["--task", "procgen/bigfish", "--set", "agent.memory=gru"], "agent.memory"),
        (["--task", "procgen/bigfish", "--seed", "-1"], "seed"),
        (["--task", "procgen/bigfish", "--seeds", "0", "1"], "one seed at a time"),
    ],
)
def test_bad_input_ends_with_one_paragraph(words, says, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["train", "uniform", *words, "--out", str(tmp_path / "x")])
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_damaged_checkpoints_are_never_thrown_away(whole, tmp_path, capsys):
    path = tmp_path / "damaged"
    shutil.copytree(whole, path)
    open_run(path).note(status="interrupted")
    for file in (path / "checkpoints").glob("*.npz"):
        file.write_bytes(file.read_bytes()[:1000])
    names = sorted(file.name for file in (path / "checkpoints").iterdir())
    with pytest.raises(SystemExit):
        main(["resume", str(path)])
    assert "None of the checkpoints" in capsys.readouterr().err
    assert sorted(file.name for file in (path / "checkpoints").iterdir()) == names
    assert len(open_run(path).metrics()) == 4


def test_easy_and_hard_games_are_not_compared(whole, tmp_path):
    path = tmp_path / "hard"
    shutil.copytree(whole, path)
    open_run(path).note(task="procgen/bigfish/hard")
    with pytest.raises(ConfigError, match="Report them apart"):
        outcomes_of([open_run(whole), open_run(path)])


def test_a_run_that_is_not_finished_says_how_to_go_on(tmp_path, whole):
    path = tmp_path / "unfinished"
    shutil.copytree(whole, path)
    open_run(path).note(status="interrupted")
    with pytest.raises(ConfigError, match="dred resume"):
        outcome_of(open_run(path))


def test_a_study_does_what_is_missing_reports_and_repeats_nothing(tmp_path, capsys):
    file = tmp_path / "tiny.toml"
    file.write_text(
        'tasks = ["procgen/bigfish", "procgen/miner"]\nmethods = ["uniform"]\nlevels = "0-7"\n'
        'preset = "smoke"\nupdates = 1\nsuites = []\n[grid]\n"ppo.discount" = [0.9]\n'
    )
    main(["study", "run", str(file)])
    first = capsys.readouterr().out
    name = "uniform-ppo.discount=0.9-seed-0"
    assert f"bigfish-{name} is finished" in first and f"miner-{name} is finished" in first
    report = tmp_path / "tiny" / "report"
    assert (report / "report.html").exists() and list(report.glob("tables/*.csv"))
    lines = (tmp_path / "tiny" / "summary.csv").read_text().splitlines()
    assert lines[0].startswith("task,method,ppo.discount,seed,")
    assert [line.split(",")[0] for line in lines[1:]] == ["procgen/bigfish", "procgen/miner"]
    main(["study", "run", str(file)])
    assert f"bigfish-{name} was finished" in capsys.readouterr().out
    main(["study", "status", str(file)])
    assert "1 of 1" in capsys.readouterr().out


def test_a_study_may_train_on_several_sets_of_levels(tmp_path):
    file = tmp_path / "sizes.toml"
    file.write_text(
        'task = "procgen/miner"\nmethods = ["uniform"]\nlevel_sets = ["0-3", "0-7"]\n'
        'preset = "smoke"\n'
    )
    study = read_study(file)
    names = [job.name for job in runs_of(study)]
    assert names == ["uniform-0-3-seed-0", "uniform-0-7-seed-0"]
    words = runs_of(study)[1].commands()[0]
    assert words[words.index("--levels") + 1] == "0-7" and preparations(study) == []
