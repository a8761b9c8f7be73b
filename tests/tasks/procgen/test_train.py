"""Runs in Procgen itself: they can be stopped anywhere, and their folders say all."""

import json
import shutil
import signal

import numpy as np
import pytest

from dred.cli import main
from dred.errors import ConfigError
from dred.runs import open_run
from dred.tasks.procgen.gather import outcome_of, outcomes_of
from tests.patience import stopped_after
from tests.training.test_train import documented_metrics

pytest.importorskip("procgen")


WORDS = ["procgen", "train", "bigfish", "--strategy", "value-l1+mi", "--preset", "smoke", "--out"]


def arrays_in(path):
    newest = sorted((path / "checkpoints").glob("*.npz"))[-1]
    with np.load(newest, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "whole"
    main([*WORDS, str(path)])
    return path


def test_a_run_is_trained_and_evaluated(whole):
    run = open_run(whole)
    assert run.record.status == "finished"
    rows = run.metrics()
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["transitions"] == 4 * 64
    assert set(rows[-1]) <= documented_metrics() | documented_metrics(part=1)
    assert all(np.isfinite(row.get("mutual_information", 0.0)) for row in rows)
    lines = (whole / "evaluation" / "train.csv").read_text().splitlines()
    assert lines[0] == "seed,suite,level,episode,solved,return,steps"
    assert sorted(int(line.split(",")[2]) for line in lines[1:]) == list(range(8))
    outcome = outcome_of(run)
    assert (outcome.game, outcome.strategy, outcome.num_levels) == ("bigfish", "value-l1+mi", 8)
    assert np.isfinite([outcome.train, outcome.test, outcome.information]).all()


def test_a_killed_run_continues_exactly(whole, tmp_path):
    path = tmp_path / "killed"
    stopped_after("update-00000002.npz", signal.SIGKILL, [*WORDS, path])
    main(["procgen", "resume", str(path)])
    one, other = arrays_in(whole), arrays_in(path)
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
    hidden = {"seconds", "seconds_per_update"}

    def rows(path):
        return [{k: v for k, v in r.items() if k not in hidden} for r in open_run(path).metrics()]

    assert rows(path) == rows(whole)
    scores = [(p / "evaluation" / "scores.json").read_text() for p in (whole, path)]
    assert json.loads(scores[0]) == json.loads(scores[1])


def test_runs_of_both_kinds_are_told_apart(whole, capsys):
    with pytest.raises(SystemExit):
        main(["resume", str(whole)])
    assert "a run of another kind" in capsys.readouterr().err


def test_a_study_does_what_is_missing_reports_and_repeats_nothing(tmp_path, capsys):
    file = tmp_path / "tiny.toml"
    file.write_text(
        'games = ["bigfish"]\nstrategies = ["uniform", "value-l1"]\nnum_levels = [8]\n'
        'preset = "smoke"\nupdates = 2\n'
    )
    main(["procgen", "study", str(file)])
    first = capsys.readouterr().out
    assert "bigfish-uniform-8-seed-0 is finished" in first
    report = tmp_path / "tiny" / "report"
    assert (report / "report.html").exists() and list(report.glob("tables/*.csv"))
    main(["procgen", "study", str(file)])
    assert "bigfish-value-l1-8-seed-0 was finished" in capsys.readouterr().out
    main(["procgen", "study", str(file), "--status"])
    assert "2 of 2" in capsys.readouterr().out
    file.write_text(file.read_text().replace("updates = 2", "updates = 3"))
    with pytest.raises(SystemExit):
        main(["procgen", "study", str(file)])
    assert "other settings" in capsys.readouterr().err


def test_a_study_in_procgen_may_vary_settings(tmp_path, capsys, monkeypatch):
    file = tmp_path / "mixing.toml"
    file.write_text(
        'games = ["bigfish"]\nstrategies = ["value-l1+mi"]\nnum_levels = [8]\npreset = "smoke"\n'
        'updates = 1\n[grid]\n"strategy.eta.end" = [0.25, 1.0]\n'
    )
    main(["procgen", "study", str(file), "--debug"])
    capsys.readouterr()
    runs = [
        tmp_path / "mixing" / "runs" / f"bigfish-value-l1+mi-8-eta.end={end}-seed-0"
        for end in ("0.25", "1.0")
    ]
    assert [open_run(run).record.config["strategy"]["eta"]["end"] for run in runs] == [0.25, 1.0]
    lines = (tmp_path / "mixing" / "summary.csv").read_text().splitlines()
    assert lines[0].startswith("game,strategy,num_levels,strategy.eta.end,seed,train,test,gen_gap")
    assert [line.split(",")[:5] for line in lines[1:]] == [
        ["bigfish", "value-l1+mi", "8", end, "0"] for end in ("0.25", "1.0")
    ]
    table = (tmp_path / "mixing" / "report" / "tables" / "outcomes.csv").read_text()
    assert "value-l1+mi eta.end=0.25" in table and "value-l1+mi eta.end=1.0" in table
    monkeypatch.setenv("COLUMNS", "150")
    main(["procgen", "study", str(file), "--status"])
    shown = capsys.readouterr().out
    assert all(run.name in shown for run in runs)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "bigfsh"], "Did you mean 'bigfish'"),
        (["train", "bigfish", "--strategy", "valuel1"], "Did you mean 'value-l1'"),
        (["train", "bigfish", "--preset", "huge"], "laptop"),
        (["train", "bigfish", "--num-levels", "0"], "num_levels"),
        (["train", "bigfish", "--num-levels", "10000000"], "num_levels"),
        (["train", "bigfish", "--seed", "-1"], "seed"),
    ],
)
def test_bad_input_ends_with_one_paragraph(words, says, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["procgen", *words, "--out", str(tmp_path / "x")])
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_finished_run_is_not_done_again(whole, capsys):
    before = (whole / "evaluation" / "scores.json").stat().st_mtime_ns
    main(["procgen", "resume", str(whole)])
    assert "4 updates" in capsys.readouterr().out
    assert (whole / "evaluation" / "scores.json").stat().st_mtime_ns == before


def test_damaged_checkpoints_are_never_thrown_away(whole, tmp_path, capsys):
    path = tmp_path / "damaged"
    shutil.copytree(whole, path)
    open_run(path).note(status="interrupted")
    for file in (path / "checkpoints").glob("*.npz"):
        file.write_bytes(file.read_bytes()[:1000])
    names = sorted(file.name for file in (path / "checkpoints").iterdir())
    with pytest.raises(SystemExit):
        main(["procgen", "resume", str(path)])
    assert "None of the checkpoints" in capsys.readouterr().err
    assert sorted(file.name for file in (path / "checkpoints").iterdir()) == names
    assert len(open_run(path).metrics()) == 4


def test_an_evaluation_older_than_the_agent_is_not_reported(whole, tmp_path):
    path = tmp_path / "older"
    shutil.copytree(whole, path)
    scores = json.loads((path / "evaluation" / "scores.json").read_text())
    (path / "evaluation" / "scores.json").write_text(json.dumps(scores | {"update": 2}))
    with pytest.raises(ConfigError, match="Evaluate it again"):
        outcome_of(open_run(path))


def test_easy_and_hard_games_are_not_compared(whole, tmp_path):
    path = tmp_path / "hard"
    shutil.copytree(whole, path)
    config = dict(open_run(path).record.config) | {"difficulty": "hard"}
    open_run(path).note(config=config)
    with pytest.raises(ConfigError, match="Report them apart"):
        outcomes_of([open_run(whole), open_run(path)])


def test_a_run_without_an_evaluation_says_how_to_make_one(tmp_path, whole):
    path = tmp_path / "bare"
    shutil.copytree(whole, path, ignore=shutil.ignore_patterns("evaluation"))
    with pytest.raises(ConfigError, match="dred procgen evaluate"):
        outcome_of(open_run(path))
