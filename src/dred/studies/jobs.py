"""The jobs of a study: what each needs, whether it is done, and the commands that do it."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from dred.config import TrainConfig
from dred.errors import ConfigError, DredError
from dred.evaluation.results import told_in
from dred.reports.scores import read_evaluation
from dred.run_folder import RunFolder
from dred.studies.grid import Variant, as_file_name, as_words, folder_part
from dred.studies.study import Study

# The commands of a job, in one process of their own: to start Python and JAX takes longer than a
# small run. It has cores of its own if it is told which. On Linux it ends when the one that began
# it ends, however that ends: else a job that was lost could go on beside its own second try. (The
# parent is the thread that began it, so that thread must wait for it.) It hears Ctrl-C, which the
# processes of Ray do not, nor what they begin.
THEN = "&&"  # between commands
LAUNCH = """
import ctypes, os, signal, sys
SIGNAL_AT_PARENTS_DEATH = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(SIGNAL_AT_PARENTS_DEATH, signal.SIGKILL)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
cores = sys.argv.pop(1)
if cores:
    os.sched_setaffinity(0, map(int, cores.split(",")))
words = sys.argv[1:]
from dred.cli import main
while words:
    end = [*words, "&&"].index("&&")
    sys.argv, words = ["dred", *words[:end]], words[end + 1 :]
    print("$", *sys.argv, flush=True)
    main()
"""

LOOKS_UP = 0.5  # seconds between two looks for Ctrl-C

State = Literal["waiting", "begun", "finished"]
Cores = tuple[int, ...]  # their numbers; none for all there are


class JobError(DredError):
    """A job that ended with an error."""


@runtime_checkable
class HasFolder(Protocol):
    """Any study."""

    @property
    def path(self) -> Path:
        """The folder that it fills."""
        ...


@dataclass(frozen=True)
class Job:
    """One piece of work. It knows from the disk how far it is."""

    study: HasFolder
    name: str

    @property
    def log(self) -> Path:
        """Where its words go."""
        return self.study.path / "logs" / f"{self.name}.txt"

    def state(self) -> State:
        """How far it is."""
        raise NotImplementedError

    def commands(self) -> list[list[str]]:
        """What is still to do, as `dred` commands."""
        raise NotImplementedError


@dataclass(frozen=True)
class MakeLevels(Job):
    """Make a set of levels."""

    study: Study
    source: str
    target: Path
    count: int  # 0 for the source's own

    def state(self) -> State:
        """Finished once the file is there."""
        return "finished" if self.target.exists() else "waiting"

    def commands(self) -> list[list[str]]:
        """Make the set."""
        count = ["--count", str(self.count)] if self.count else []
        return [["levels", "make", self.source, "--out", str(self.target), *count]]


@dataclass(frozen=True)
class FitGenerator(Job):
    """Fit a generator to the training levels."""

    study: Study
    model: str
    seed: int

    @property
    def out(self) -> Path:
        """Where it is."""
        return self.study.path / self.name

    def state(self) -> State:
        """Finished once the folder has its name."""
        if self.out.exists():
            return "finished"
        partial = self.out.with_name(f"{self.out.name}.partial")
        return "begun" if partial.exists() else "waiting"

    def commands(self) -> list[list[str]]:
        """Fit, or go on."""
        study = self.study
        known = study.task.generators[self.model].fit_presets
        asked = study.config.generator_preset
        fit = ["fit", "--levels", study.levels("train"), "--out", str(self.out)]
        fit += ["--model", self.model, "--task", study.tasks[0], "--seed", str(self.seed)]
        return [[*fit, "--preset", asked] if asked in known else fit]


@dataclass(frozen=True)
class RunJob(Job):
    """One run, trained to the end and evaluated."""

    @property
    def run(self) -> RunFolder:
        """Its folder."""
        return RunFolder(self.study.path / "runs" / self.name)

    @property
    def has_begun(self) -> bool:
        """Whether the folder says what the run is; one that was killed before is none."""
        return (self.run.path / "run.json").exists()

    @property
    def is_trained(self) -> bool:
        """Whether training is done."""
        return self.has_begun and self.run.record.status == "finished"

    def summary(self) -> dict[str, object]:
        """Once it is finished: what it is, which settings were varied, and how its agent does."""
        raise NotImplementedError

    def stop_if_other(self, wanted: object, found: object) -> None:
        """Stop if the run that is there was made with other settings than the study's."""
        if wanted != found:
            raise ConfigError(
                f"{self.run.path} was trained with other settings than {self.study.path.name} asks "
                "for. Give the changed study another name (or another `out`), or remove that run."
            )


@dataclass(frozen=True)
class TrainAndEvaluate(RunJob):
    """A run of a method."""

    study: Study
    task: str
    method: str
    levels: str  # one of the study's sets; empty if there is just one
    variant: Variant
    seed: int

    @property
    def config(self) -> TrainConfig:
        """The settings that the study asks for."""
        return self.study.train_config(self.method, self.variant)

    def state(self) -> State:
        """Finished once all suites are evaluated."""
        if not self.has_begun:
            return "waiting"
        return "finished" if self.is_trained and not self.missing_suites() else "begun"

    def missing_suites(self) -> list[str]:
        """The suites that were not evaluated yet, or on another checkpoint or otherwise."""
        config, wanted = self.study.config, self.config.num_updates
        return [
            suite
            for suite in config.suites
            if not all(
                is_evaluated(self.run.path / "evaluation", name, wanted, config.episodes)
                for name in names_in(suite, self.study)
            )
        ]

    def commands(self) -> list[list[str]]:
        """Train or go on, then evaluate what is missing."""
        study, path = self.study, str(self.run.path)
        todo: list[list[str]] = []
        if not self.has_begun:
            method = study.method_word(self.method)
            train = ["train", method, "--out", path, "--task", self.task]
            for option, levels in (
                ("--levels", study.levels("train", self.levels)),
                ("--held-out", study.levels("test")),
            ):
                train += [option, levels] if levels else []
            train += ["--preset", study.config.preset]
            train += ["--seed", str(self.seed), "--devices", str(study.config.devices)]
            if study.config.updates:
                train += ["--updates", str(study.config.updates)]
            generator = study.generator(self.method, self.seed)
            if generator is not None:
                train += ["--generator", str(generator)]
            if study.plugins:
                train += ["--plugin", *study.plugins]
            todo.append([*train, *as_words(self.variant)])
        elif not self.is_trained:
            todo.append(["resume", path])
        for suite in self.missing_suites():
            levels = suite if suite in study.task.suites else str(study.folder / suite)
            episodes = str(study.config.episodes)
            todo.append(["evaluate", path, "--suite", levels, "--episodes", episodes])
        return todo

    def check(self) -> None:
        """Stop if the run that is there was made with other settings than the study's."""
        if self.has_begun:
            self.stop_if_other(self.config, self.run.config)

    def summary(self) -> dict[str, object]:
        """Once it is finished: what it is, which settings were varied, and what it solves."""
        study, last = self.study, self.run.metrics()[-1]
        scores = read_evaluation(self.run) if study.config.suites else {}
        measured = {name: last[name] for name in MEASURED if name in last}  # by training itself
        if "solved_rate/test" in last:
            measured = {"solved_rate/held_out": last["solved_rate/test"], **measured}
        return {
            **({"task": self.task} if len(study.tasks) > 1 else {}),
            "method": self.method,
            **({"levels": self.levels} if self.levels else {}),
            **dict(self.variant),
            "seed": self.seed,
            **{f"solved_rate/{suite}": f"{one.solved.mean():.6f}" for suite, one in scores.items()},
            **{name: f"{value:.6f}" for name, value in measured.items()},
            "seconds": f"{last['seconds']:.1f}",  # of training
        }


MEASURED = ("return/train", "return/test", "gen_gap", "shift_gap", "mutual_information")


def names_in(suite: str, study: Study) -> tuple[str, ...]:
    """The names of the tables that a suite makes."""
    named = study.task.suites.get(suite)
    return (Path(suite).stem,) if named is None else named.names


def is_evaluated(folder: Path, name: str, update: int, episodes: int) -> bool:
    """Whether a table of a suite is there for this checkpoint."""
    found = [told_in(path) for path in (folder / f"{name}.json", *folder.glob(f"{name}-*.json"))]
    wanted = {"update": update, "episodes": episodes}
    return any(
        {key: told.get(key) for key in wanted} == wanted and told.get("suite", name) == name
        for told in found
    )


def preparations(study: Study) -> list[Job]:
    """What has to be done before the runs, in order."""
    jobs: list[Job] = [
        MakeLevels(study, f"levels-{name}", study.source(name), Path(study.levels(name)), count)
        for name, count in (("train", study.config.num_levels), ("test", 0))
        if is_made(study, name)
    ]
    return [*jobs, *fits_of(study)]


def fits_of(study: Study) -> list[FitGenerator]:
    """The generators to fit, in the order in which runs need them."""
    seeds = study.config.seeds if study.config.fit_each_seed else (0,)
    return [
        FitGenerator(study, study.fit_name(model, seed), model, seed)
        for seed in seeds
        for model in study.fitted
    ]


def is_made(study: Study, name: str) -> bool:
    """Return whether a set of levels is made by the study, rather than given."""
    source = study.source(name)
    is_given = not source or source.endswith(".npz") or not study.makes_levels
    return not is_given and not (name == "train" and study.config.level_sets)


def runs_of(study: Study) -> list[TrainAndEvaluate]:
    """The runs, in order: all methods and changes of settings with the first seed, and so on."""
    return [
        TrainAndEvaluate(study, name_of(study, *which), task, method, levels, variant, seed)
        for which in study.combinations
        for seed, task, levels, method, variant in [which]
    ]


def name_of(study: Study, seed: int, task: str, levels: str, method: str, variant: Variant) -> str:
    """Return what a run is called: its method, seed, and all else of which there are several."""
    parts = [task.removeprefix("procgen/")] if len(study.tasks) > 1 else []
    parts += [method, *([Path(levels).stem] if levels else [])]
    return f"{as_file_name('-'.join(parts))}{folder_part(variant)}-seed-{seed}"


def do(
    job: Job,
    *,
    cores: Cores = (),
    begun: Callable[[subprocess.Popen[bytes]], None] = lambda process: None,
) -> None:
    """Do what is left of a job in a process of its own; its words go to a log.

    `begun` is told of each process.
    """
    job.log.parent.mkdir(parents=True, exist_ok=True)
    done: list[list[str]] = []
    while job.state() != "finished":
        commands = job.commands()
        if commands == done:
            raise JobError(
                f"{job.name} is not finished although `dred {' '.join(commands[0])}` ended well. "
                f"What it said is in {job.log}."
            )
        joined = [word for command in commands for word in (THEN, *command)][1:]
        with job.log.open("a", encoding="utf-8") as log:
            words = [sys.executable, "-c", LAUNCH, ",".join(map(str, cores)), *joined]
            process = subprocess.Popen(
                words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            begun(process)
            code = end_of(process)
        if code:
            raise JobError(
                f"{job.name} stopped with code {code}: {last_words(job.log)} All it said is in "
                f"{job.log}. `dred study run` tries again from where it was."
            )
        done = commands


def end_of(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a process. Ctrl-C is passed on to it, and waits until it has saved.

    It looks up from time to time, as a Ctrl-C that another thread raises, as Ray's do, is not heard
    within a call that waits.
    """
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=LOOKS_UP)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


def last_words(log: Path) -> str:
    """The last line of a log."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def sweep_away_unbegun(job: RunJob) -> None:
    """Remove the folder of a run that was killed before it said what it was."""
    if not job.has_begun:
        shutil.rmtree(job.run.path, ignore_errors=True)
