"""Studies as people have them: stopped anywhere, run again, finished once."""

import io
import lzma
import signal
import subprocess
import sys
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dred import registry
from dred.cli import main
from dred.errors import ConfigError, DatasetError, DredError, UnknownNameError
from dred.files import BusyError, held, replacing
from dred.generation import fitted_generator, needs_fitted
from dred.levels import make
from dred.presets import METHODS
from dred.registry import find_task
from dred.runs import Run, open_run
from dred.studies.archive import pack, unpack, write_archive
from dred.studies.jobs import FitGenerator, Job, JobError, RunJob, do, preparations, runs_of
from dred.studies.local import run_here
from dred.studies.study import read_study
from dred.studies.summary import write_summary
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.presets import VAES
from tests.patience import PATIENCE, study_killed_after, wait_until

STUDIES_OF_THE_PAPER = ("paper", "paper-better-generator")
TINY = """
methods = ["uniform", "plr"]
preset = "smoke"
levels = "train.npz"
held_out = "test.npz"
suites = ["test.npz"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    make("cave-escape-train", count=12, size=9).save(path / "train.npz")
    make("cave-escape-test", count=8, size=9).save(path / "test.npz")
    return path


def study_of(folder, name, text=TINY):
    (folder / f"{name}.toml").write_text(text)
    return folder / f"{name}.toml"


def numbers_in(study):
    """What the runs of a study came to, without times."""
    evaluated = {
        job.name: (job.run.path / "evaluation" / "test.csv").read_text() for job in runs_of(study)
    }
    tables = {path.name: path.read_text() for path in (study.report / "tables").glob("*.csv")}
    assert tables
    with_paths = {"runs.csv", "settings.csv"}
    return evaluated, {name: text for name, text in tables.items() if name not in with_paths}


@pytest.fixture(scope="module")
def whole(folder):
    file = study_of(folder, "whole")
    main(["study", "run", str(file), "--debug"])
    return read_study(file)


def commands_in(study):
    """The commands that were given, by job."""
    return {
        job.name: [line for line in job.log.read_text().splitlines() if line.startswith("$ dred")]
        for job in runs_of(study)
    }


def test_a_study_trains_evaluates_and_reports(whole, capsys):
    assert all(job.state() == "finished" for job in runs_of(whole))
    assert (whole.report / "report.html").exists()
    before = commands_in(whole)
    main(["study", "run", str(whole.path.with_suffix(".toml"))])
    assert commands_in(whole) == before  # nothing was done again
    assert "uniform-seed-0 was finished" in capsys.readouterr().out
    main(["study", "status", str(whole.path.with_suffix(".toml"))])
    assert "12 of 12" in capsys.readouterr().out


def test_a_run_is_read_once_for_the_summary_and_lines_are_in_the_order_of_runs(tmp_path):
    class Once(RunJob):
        finished, read = set(), []

        def state(self):
            return "finished" if self.name in self.finished else "begun"

        def summary(self):
            self.read.append(self.name)
            return {"run": self.name}

    runs, known = [Once(Folder(tmp_path), name) for name in "abc"], {}
    for name, lines in (("b", "run\nb\n"), ("a", "run\na\nb\n")):
        Once.finished.add(name)
        assert write_summary(tmp_path, runs, known).read_text() == lines
    assert Once.read == ["b", "a"]


def is_free(folder):
    """Whether no process works there."""
    try:
        with held(folder):
            return True
    except BusyError:
        return False


@pytest.mark.long
def test_a_study_that_is_killed_ends_with_the_same_numbers_and_repeats_nothing(folder, whole):
    file = study_of(folder, "killed")
    study = read_study(file)
    second = study.path / "runs" / "plr-seed-0"
    one_by_one = ["study", "run", file, "--workers", "1"]  # so that one is finished by then
    study_killed_after("plr-seed-0/checkpoints/update-00000003.npz", one_by_one)
    wait_until(lambda: is_free(second))  # what it was running ends with it
    assert Run(study.path / "runs" / "uniform-seed-0").record.status == "finished"
    assert Run(second).record.status == "running"
    main(["study", "run", str(file), "--debug"])
    assert numbers_in(study) == numbers_in(whole)
    done = commands_in(study)
    assert [line.split()[2] for line in done["uniform-seed-0"]] == ["train", "evaluate"]
    assert [line.split()[2] for line in done["plr-seed-0"]] == ["train", "resume", "evaluate"]


def test_a_job_that_dies_is_tried_again_and_others_go_on(folder):
    class Flaky(Job):
        tries = 0
        dies = 1

        def state(self):
            return "finished" if type(self).tries > type(self).dies else "waiting"

        def commands(self):
            type(self).tries += 1
            return [["--version"] if type(self).tries > type(self).dies else ["no-such-verb"]]

    class Hopeless(Flaky):
        tries = 0
        dies = 99

    study = read_study(study_of(folder, "flaky"))
    told = []
    jobs = [Hopeless(study, "hopeless"), Flaky(study, "flaky")]
    failures = run_here(jobs, lambda job, what: told.append((job.name, what)))
    assert [type(failure) for failure in failures] == [JobError]
    assert "hopeless stopped with code" in str(failures[0])
    assert told[-1] == ("flaky", "is finished")
    assert [what for name, what in told if name == "hopeless"] == [
        "has begun",
        *(f"died, time {n} of 3" for n in (1, 2, 3)),
    ]


def test_generators_are_fitted_only_if_a_method_needs_one(folder):
    text = TINY.replace('"plr"', '"vae-dred"').replace('"train.npz"', '"cave-escape-train"')
    study = read_study(study_of(folder, "fitted", text))
    assert [job.name for job in preparations(study)] == ["levels-train", "vae"]
    assert preparations(read_study(study_of(folder, "plain"))) == []
    (run,) = [job for job in runs_of(study) if job.method == "vae-dred"]
    assert run.commands()[0][-2:] == ["--generator", str(study.path / "vae")]


def test_generators_are_fitted_for_each_seed_if_a_study_asks_for_it(folder):
    text = TINY.replace('"plr"', '"vae-dred"') + "seeds = [3, 5]\nfit_each_seed = true\n"
    study = read_study(study_of(folder, "fits", text))
    fits = [job for job in preparations(study) if isinstance(job, FitGenerator)]
    assert [(job.name, options(job)["--seed"]) for job in fits] == [
        ("vae-seed-3", "3"),
        ("vae-seed-5", "5"),
    ]
    given = {(job.method, job.seed): options(job).get("--generator") for job in runs_of(study)}
    assert given == {
        ("uniform", 3): None,
        ("vae-dred", 3): str(fits[0].out),
        ("uniform", 5): None,
        ("vae-dred", 5): str(fits[1].out),
    }


def test_each_kind_of_model_that_the_methods_of_a_study_need_is_fitted_once(folder, monkeypatch):
    task = find_task("gridworld")
    two = replace(task, generators={**task.generators, "other": task.generators["vae"]})
    monkeypatch.setitem(registry._TASKS, "gridworld", two)
    other = replace(METHODS["vae-dred"], name="other-dred", mutation_generator="other")
    twice = replace(other, name="twice", new_level_generator="other")
    text = TINY.replace('["uniform", "plr"]', '["uniform", "vae-dred", "other-dred", "twice"]')
    monkeypatch.setitem(METHODS, "other-dred", other)
    monkeypatch.setitem(METHODS, "twice", twice)
    study = read_study(study_of(folder, "kinds", text))
    fits = [job for job in preparations(study) if isinstance(job, FitGenerator)]
    assert [job.name for job in fits] == ["vae", "other"]
    assert [options(job)["--model"] for job in fits] == ["vae", "other"]
    given = {job.method: options(job).get("--generator") for job in runs_of(study)}
    assert given == {
        "uniform": None,
        "vae-dred": str(study.path / "vae"),
        "other-dred": str(study.path / "other"),
        "twice": str(study.path / "other"),
    }
    both = replace(other, new_level_generator="vae")
    with pytest.raises(ConfigError, match="two fitted generators"):
        fitted_generator(both, two)


def options(job):
    """The options of a job's first command, by name."""
    words = job.commands()[0]
    return {word: words[place + 1] for place, word in enumerate(words) if word.startswith("--")}


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (TINY.replace("plr", "prl"), UnknownNameError, "method.*prl"),
        (TINY.replace("smoke", "smok"), UnknownNameError, "smok"),
        (TINY.replace('"plr"', '"uniform"'), ConfigError, "twice"),
        ("methods = []", ConfigError, "at least one method"),
        ("methods = 3 = 4", ConfigError, "not valid TOML"),
        (TINY + "colour = 1", ConfigError, "no setting 'colour'"),
    ],
)
def test_a_study_that_cannot_work_is_said(folder, text, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        read_study(study_of(folder, "broken", text))
    with pytest.raises(ConfigError, match="no file"):
        read_study(folder / "missing.toml")


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ('"method.generator_settings.edits.num_edit" = [1]', "Did you mean 'num_edits'"),
        ('"method.generator_settings.edit.num_edits" = [1]', "Did you mean 'edits'"),
        ('"method.generator_settings.edits.num_edits" = ["few"]', "expected a whole number"),
        ('"agent.encoder" = ["tile"]', "Did you mean 'tiles'"),
        ('"method.primary.score" = ["value_l2"]', "Did you mean 'value_l1'"),
    ],
)
def test_a_typo_that_only_the_task_can_see_stops_a_study_when_it_is_read(folder, grid, message):
    with pytest.raises(ConfigError, match=message):
        read_study(study_of(folder, "typo", f"{TINY}\n[grid]\n{grid}\n"))


def test_a_task_in_a_file_is_looked_for_beside_the_study(folder, monkeypatch, tmp_path):
    example = Path(__file__).parents[2] / "examples" / "own_environment.py"
    (folder / "mine.py").write_text(example.read_text())
    file = study_of(folder, "own", TINY + 'task = "mine.py:corridor"\n')
    monkeypatch.chdir(tmp_path)
    study = read_study(file)
    assert study.task.name == "corridor"
    command = runs_of(study)[0].commands()[0]
    assert command[command.index("--task") + 1] == f"{folder / 'mine.py'}:corridor"


def test_runs_made_with_other_settings_are_not_taken_for_the_studys(whole, folder):
    longer = replace(whole, config=replace(whole.config, updates=24))
    with pytest.raises(ConfigError, match="other settings"):
        runs_of(longer)[0].check()


def test_only_one_process_runs_a_study(whole):
    with held(whole.path), pytest.raises(BusyError, match="another process"):
        main(["study", "run", str(whole.path.with_suffix(".toml")), "--debug"])
    run = open_run(whole.path / "runs" / "plr-seed-0")
    run.note(status="interrupted")  # a finished one has nothing to do
    try:
        with held(run.path), pytest.raises(BusyError, match="another process"):
            main(["resume", str(run.path), "--debug"])
    finally:
        run.note(status="finished")


def test_a_report_of_nothing_is_refused(folder):
    with pytest.raises(DredError, match="No run of"):
        main(["study", "report", str(study_of(folder, "none")), "--debug"])


def test_without_ray_it_is_said_how_to_get_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install .*\[ray\]"):
        main(["study", "run", str(study_of(folder, "rays")), "--on", "ray", "--debug"])


# A job that saves when it is interrupted, but only once it may; and what waits for it, which says
# when it waits, and lets the job save when it waits after it has passed Ctrl-C on.
SAVES = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
try:
    (folder / "begun").touch()
    time.sleep(900)
except KeyboardInterrupt:
    while not (folder / "waits-again").exists():
        time.sleep(0.01)
    (folder / "saved").touch()
"""
WAITS = """
import pathlib, subprocess, sys
from dred.studies.jobs import end_of

class Told(subprocess.Popen):
    name = "waits"

    def send_signal(self, number):
        self.name = "waits-again"
        super().send_signal(number)

    def wait(self, timeout=None):
        pathlib.Path(sys.argv[2], self.name).touch()
        return super().wait(timeout)

end_of(Told([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True))
"""


def test_ctrl_c_waits_until_a_job_has_saved(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, SAVES, str(tmp_path)], stderr=subprocess.DEVNULL
    )
    for name in ("begun", "waits"):
        wait_until((tmp_path / name).exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) != 0
    assert (tmp_path / "saved").exists()


def test_a_job_that_ends_well_without_getting_anywhere_is_not_repeated_for_ever(tmp_path):
    @dataclass(frozen=True)
    class Futile(Job):
        def state(self):
            return "begun"

        def commands(self):
            return [["--version"]]

    with pytest.raises(JobError, match="not finished although"):
        do(Futile(Folder(tmp_path), "futile"))
    assert (tmp_path / "logs" / "futile.txt").read_text().count("$ dred --version") == 1


def packed(whole, tmp_path):
    main(
        ["study", "pack", str(whole.path.with_suffix(".toml")), "--out", str(tmp_path / "w.tar.xz")]
    )
    return tmp_path / "w.tar.xz"


def test_an_unpacked_study_is_finished_and_has_the_same_report(whole, folder, tmp_path, capsys):
    archive = packed(whole, tmp_path)
    assert "2 of 2 runs" in capsys.readouterr().out
    assert packed(whole, tmp_path).read_bytes() == archive.read_bytes()
    file = study_of(folder, "elsewhere")
    main(["study", "unpack", str(file), str(archive)])
    assert "2 new runs" in capsys.readouterr().out
    other = read_study(file)
    assert all(job.state() == "finished" for job in runs_of(other))
    assert not list(other.path.rglob("checkpoints")) and not list(other.path.rglob("policies"))
    main(["study", "report", str(file)])
    (evaluated, tables), (evaluated_then, tables_then) = numbers_in(other), numbers_in(whole)
    assert evaluated == evaluated_then
    for name in tables.keys() - {"buffers.csv"}:  # the levels of buffers are not packed
        assert tables[name] == tables_then[name], name
    main(["study", "unpack", str(file), str(archive)])
    assert "0 new runs" in capsys.readouterr().out


def test_neither_weights_nor_the_model_of_a_run_are_packed(tmp_path):
    files = ("run.json", "given/train/t.npz", "given/generator/best.npz", "checkpoints/last.npz")
    for name in files:
        path = tmp_path / "runs" / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    write_archive(tmp_path, [tmp_path / "runs" / "a"], tmp_path / "a.tar.xz")
    with tarfile.open(tmp_path / "a.tar.xz") as archive:
        assert sorted(archive.getnames()) == ["runs/a/given/train/t.npz", "runs/a/run.json"]


def test_an_unpacking_that_was_interrupted_is_done_again(whole, folder, tmp_path, monkeypatch):
    archive, other = packed(whole, tmp_path), read_study(study_of(folder, "cut"))
    written = []

    def stop_after(path):
        if len(written) == 5:
            raise KeyboardInterrupt
        written.append(path)
        return replacing(path)

    monkeypatch.setattr("dred.studies.archive.replacing", stop_after)
    with pytest.raises(KeyboardInterrupt):
        unpack(archive, other.path)
    assert [job.state() for job in runs_of(other)] == ["waiting", "waiting"]
    monkeypatch.undo()
    assert unpack(archive, other.path) == ["plr-seed-0", "uniform-seed-0"]
    assert [job.state() for job in runs_of(other)] == ["finished", "finished"]


def test_nothing_is_packed_before_a_run_is_finished(folder, tmp_path):
    study = read_study(study_of(folder, "new"))
    with pytest.raises(DatasetError, match="nothing to pack"):
        pack(study.path, runs_of(study), tmp_path / "new.tar.xz")
    assert not (tmp_path / "new.tar.xz").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/tmp/outside",
        "runs/x/evaluation/../../../../outside",
        "runs/x/checkpoints/a.npz",
        "runs/run.json",
    ],
)
def test_an_archive_writes_nothing_but_parts_of_runs(name, tmp_path):
    content = b"x"
    with tarfile.open(tmp_path / "odd.tar.xz", "w:xz") as archive:
        for one in ("runs/a/run.json", name):
            member = tarfile.TarInfo(one)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    with pytest.raises(DatasetError, match="not a part of a run"):
        unpack(tmp_path / "odd.tar.xz", tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_links_and_huge_archives_are_refused(tmp_path):
    link = tarfile.TarInfo("runs/a/run.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    huge = tarfile.TarInfo("runs/a/metrics.jsonl")
    huge.size = 1 << 40
    for member, words in ((link, "not a part of a run"), (huge, "2 gigabytes")):
        with lzma.open(tmp_path / "odd.tar.xz", "w") as file:
            file.write(member.tobuf() + bytes(1024))
        with pytest.raises(DatasetError, match=words):
            unpack(tmp_path / "odd.tar.xz", tmp_path / "study")
    (tmp_path / "words.tar.xz").write_text("no archive")
    with pytest.raises(DatasetError, match="cannot be read as the archive of a study"):
        unpack(tmp_path / "words.tar.xz", tmp_path / "study")


@dataclass(frozen=True)
class Folder:
    path: Path


def test_the_study_of_the_paper_uses_its_generator_and_a_second_one_the_better():
    paper, better = (read_study(Path(name)) for name in STUDIES_OF_THE_PAPER)
    for study, preset in ((paper, "paper"), (better, "default")):
        assert study.fitted == ("vae",)
        (fit,) = (job for job in preparations(study) if isinstance(job, FitGenerator))
        ((verb, *options),) = fit.commands()
        assert verb == "fit"
        assert options[options.index("--preset") + 1] == preset
    assert VAES["paper"] == VAEConfig()  # the settings of the released code
    assert VAES["default"] != VAES["paper"]
    same = replace(better.config, methods=paper.config.methods, generator_preset="paper")
    assert same == paper.config  # they differ in nothing else
    unneeded = [name for name in paper.config.methods if name not in better.config.methods]
    assert not any(needs_fitted(METHODS[name], paper.task) for name in unneeded)


@pytest.mark.parametrize("said", ["smoke", "studies/smoke.toml"])
def test_a_study_that_comes_with_dred_is_found_by_its_name_and_fills_a_folder_here(
    said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    study = read_study(Path(said))
    assert study.path == Path("studies/smoke")
    assert study.config.preset == "smoke"
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match=r"(?s)'smok'.*Did you mean 'smoke'.*laptop"):
        read_study(Path("smok"))


def test_a_file_of_ones_own_comes_before_a_study_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "smoke.toml").write_text('methods = ["plr"]')
    assert list(read_study(Path("studies/smoke.toml")).methods) == ["plr"]
    assert len(read_study(Path("smoke")).methods) > 1


def test_levels_of_a_study_are_made_from_a_file_beside_it_and_as_many_as_it_asks_for(tmp_path):
    (tmp_path / "mine.toml").write_text('structures = ["maze_wall"]')
    file = tmp_path / "study.toml"
    file.write_text('methods = ["uniform"]\nlevels = "mine.toml"\nnum_levels = 40')
    train, test = (job.commands()[0] for job in preparations(read_study(file)))
    assert train[2] == str(tmp_path / "mine.toml")
    assert train[-2:] == ["--count", "40"]
    assert test[2] == "cave-escape-test"
    assert "--count" not in test
    file.write_text('methods = ["uniform"]\nlevels = "mine.npz"\nnum_levels = 40')
    with pytest.raises(ConfigError, match="there already"):
        read_study(file)
