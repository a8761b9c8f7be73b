"""Successive halving: who goes on, what is left to do, and how long it will take."""

import pytest

from dred.cli import main
from dred.commands.study import is_finished, status_table, time_left
from dred.errors import ConfigError, UnknownNameError
from dred.levels import make
from dred.run_folder import create_run
from dred.runs import Run
from dred.studies.jobs import runs_of
from dred.studies.local import most_workers
from dred.studies.remaining import in_words, seconds_left
from dred.studies.rungs import rungs_of
from dred.studies.search import candidates_of, halve, stopped_by, updates_left
from dred.studies.study import read_study

SEARCH = """
methods = ["plr"]
seeds = [0, 1]
preset = "smoke"
levels = "train.npz"
held_out = "test.npz"
suites = []
updates = 27

[search]
first = 3
factor = 3

[grid]
"ppo.learning_rate" = [1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("search")
    make("cave-escape-train", count=12, size=9).save(path / "train.npz")
    make("cave-escape-test", count=8, size=9).save(path / "test.npz")
    return path


def study_in(folder, text=SEARCH, name="search"):
    (folder / f"{name}.toml").write_text(text)
    return read_study(folder / f"{name}.toml")


def pretend(jobs):
    """Train without training: an agent solves as much as its learning rate says."""
    for job in jobs:
        run, until = getattr(job, "whole", job), getattr(job, "until", job)
        config, total = run.config, run.config.num_updates
        until = until if isinstance(until, int) else total
        folder = Run(run.run.path)
        if not run.has_begun:
            levels = {}
            seeds = (run.seed,)
            folder = create_run(
                run.run.path, task=run.task, config=config, seeds=seeds, levels=levels, command=[]
            )
        done = max((row["update"] for row in folder.metrics()), default=0)
        for update in range(done + 3, until + 3, 3):
            solved = config.ppo.learning_rate * 1000 + 0.01 * run.seed
            row = {"seed": run.seed, "update": update, "seconds": 2.0 * update}
            folder.append_metrics([{**row, "solved_rate/test": solved}])
        folder.note(status="finished" if until >= total else "interrupted")
    return []


def test_one_in_three_goes_on_at_each_rung_and_the_last_are_trained_to_the_end(tmp_path, folder):
    study = study_in(folder)
    assert rungs_of(study.config.search, 27) == [3, 9]
    said, batches = [], []

    def do(jobs):
        batches.append([job.name for job in jobs])
        return pretend(jobs)

    assert halve(study, do, said.append) == []
    assert [len(names) for names in batches] == [12, 4, 2]  # runs: two seeds of each candidate
    assert all("0.0006" in name for name in batches[2])
    assert sum("stops after 3 updates" in line for line in said) == 4
    assert sum("goes on after 9 updates" in line for line in said) == 1
    stopped = stopped_by(study)
    assert len(stopped) == 10
    assert is_finished(study)
    assert time_left(study, stopped).startswith("2 of 2 runs are finished, 10 were stopped")
    states = list(status_table(study).columns[1].cells)
    assert states.count("stopped") == 10 and states.count("finished") == 2
    batches.clear()
    halve(study, do, said.append)
    assert updates_left(study) == 0


def test_a_search_that_was_stopped_says_what_is_left(folder):
    study = study_in(folder, name="half")
    everything = 12 * 3 + 4 * 6 + 2 * 18
    assert updates_left(study) == everything
    assert seconds_left(study) is None
    first, *_ = candidates_of(study)
    pretend(first.until(3))
    assert updates_left(study) == everything - 6
    at_once = min(12, most_workers(1))
    assert seconds_left(study) == pytest.approx(2.0 * (everything - 6) / at_once)
    assert "of training" in time_left(study, set())
    assert not is_finished(study)


def test_the_jobs_of_a_rung_are_commands_that_stop_there(folder):
    study = study_in(folder, name="words")
    (job, _), *_ = [one.until(9) for one in candidates_of(study)]
    assert job.state() == "waiting"
    assert job.commands()[0][:1] == ["train"] and job.commands()[0][-2:] == ["--until", "9"]
    pretend(candidates_of(study)[0].until(3))
    assert job.state() == "begun"
    assert job.commands() == [["resume", str(job.whole.run.path), "--until", "9"]]
    assert job.log == job.whole.log


def test_time_left_of_a_plain_study_follows_from_its_runs(folder):
    text = SEARCH.replace("[search]\nfirst = 3\nfactor = 3\n", "")
    study = study_in(folder, text, "plain")
    assert updates_left(study) == 12 * 27
    one = runs_of(study)[0]
    pretend([one])
    assert updates_left(study) == 11 * 27
    assert 0 < seconds_left(study) <= 11 * 27 * 2.0
    assert "1 of 12 runs are finished. Left: about" in time_left(study, set())
    assert [in_words(s) for s in (40.0, 600.0, 9000.0)] == ["40 s", "10 min", "2.5 h"]


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("first = 3", "first = 27", ConfigError, r"first \(=27\) must be less than"),
        ("first = 3", "first = 0", ConfigError, r"first \(=0\) must be at least 1"),
        ("factor = 3", "factor = 1", ConfigError, r"factor \(=1\) at least 2"),
        ("factor = 3", "halves = 3", ConfigError, "no setting 'halves'"),
        ("factor = 3", 'metric = "solved_rate/tests"', UnknownNameError, "solved_rate/test"),
        ('"ppo.learning_rate" = [1e-4', '"num_updates" = [9, 1', ConfigError, "cannot be varied"),
    ],
)
def test_a_search_that_cannot_work_is_said_before_anything_is_made(
    old, new, error, message, folder
):
    text = SEARCH.replace(old, new)
    if "num_updates" in new:
        text = text.split("[grid]")[0] + "[grid]\nnum_updates = [9, 27]\n"
    with pytest.raises(error, match=message):
        study_in(folder, text, "broken")
    assert not (folder / "broken").exists()


def test_a_search_trains_and_reports_the_one_that_is_left(folder, capsys):
    text = SEARCH.replace("seeds = [0, 1]", "seeds = [0]").replace(
        "suites = []", 'suites = ["test.npz"]'
    )
    text = text.replace("updates = 27", "updates = 6").replace(
        "2e-4, 3e-4, 4e-4, 5e-4, 6e-4", "2e-4"
    )
    file = folder / "real.toml"
    file.write_text(text)
    main(["study", "run", str(file), "--debug"])
    said = capsys.readouterr().out
    assert said.count("goes on after 3 updates") == said.count("stops after 3 updates") == 1
    states = sorted(Run(job.run.path).record.status for job in runs_of(read_study(file)))
    assert states == ["finished", "interrupted"]
    main(["study", "status", str(file)])
    assert "1 were stopped by the search" in " ".join(capsys.readouterr().out.split())
    assert (folder / "real" / "report" / "report.html").exists()
