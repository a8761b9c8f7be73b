"""`dred study`: methods × seeds, from nothing to the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dred.commands.options import Plugins
from dred.errors import ConfigError, DredError

if TYPE_CHECKING:
    from rich.table import Table

    from dred.studies.jobs import Job, RunJob
    from dred.studies.study import Study

File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")]


@dataclass(frozen=True)
class RunStudy:
    """Do all that is missing of a study: levels, generator, runs, evaluations, report.

    It can be stopped at any moment; the same command goes on. What is finished is not done again.
    With a [search] in the file, all runs train a little, and only the best of them go on.

    For example:
      dred study run laptop
      dred study run laptop --workers 1
      dred study run paper --on ray --cpus 2
    """

    file: File
    """The study: a TOML file, or the name of one that comes with dred, as laptop or smoke."""
    on: Literal["local", "ray"] = "local"
    """Here, or on a Ray cluster that shares the study's folder."""
    workers: int = 0
    """Here: runs at once, each on cores of its own; 0 for as many as there are cores for."""
    cpus: float = 2.0
    """Ray: processors for each job."""
    gpus: float = 0.0
    """Ray: accelerators for each job; a part of one is possible."""
    plugins: Plugins = ()
    """Files that register what the study names, besides those that it names itself."""

    def run(self) -> None:
        """Run it."""
        from dred.studies.jobs import preparations, runs_of
        from dred.studies.local import most_workers
        from dred.studies.study import read_study, write_methods

        study = read_study(self.file, plugins=self.plugins)
        runs = runs_of(study)
        for job in runs:
            job.check()
        write_methods(study)
        first = preparations(study)
        failures = do_runs(
            study,
            first,
            runs,
            on=self.on,
            cpus=self.cpus,
            gpus=self.gpus,
            workers=self.workers or most_workers(study.config.devices),
        )
        if any(job.state() == "finished" for job in runs):
            report_of(study)
        if failures:
            raise DredError(f"{len(failures)} of {len(runs)} runs failed. The first: {failures[0]}")


def do_runs(
    study: "Study",
    first: "Sequence[Job]",
    runs: "Sequence[RunJob]",
    *,
    on: Literal["local", "ray"],
    cpus: float,
    gpus: float,
    workers: int = 1,
) -> "Sequence[DredError]":
    """Do what comes first, which must not fail, and then the runs. What failed of them."""
    from functools import partial

    from dred.files import held
    from dred.studies.jobs import sweep_away_unbegun
    from dred.studies.local import run_here
    from dred.studies.search import halve
    from dred.studies.summary import Line, write_summary

    collected: dict[str, Line] = {}

    def say_and_collect(job: "Job", what: str) -> None:
        say(job, what)
        if what == "is finished":
            write_summary(study.path, runs, collected)

    study.path.mkdir(parents=True, exist_ok=True)
    with held(study.path):
        for job in runs:
            sweep_away_unbegun(job)
        failures = run_here(first, say)
        if failures:
            raise failures[0]
        if on == "ray":
            from dred.studies.cluster import run_on_ray, search_on_ray

            if study.config.search is not None:
                return search_on_ray(study, say, cpus=cpus, gpus=gpus)
            return run_on_ray(runs, say_and_collect, cpus=cpus, gpus=gpus)
        if study.config.search is not None:
            here = partial(run_here, tell=say, workers=workers)
            return halve(study, here, partial(print, flush=True))
        return run_here(runs, say_and_collect, workers=workers)


@dataclass(frozen=True)
class StudyStatus:
    """Show how far a study is.

    For example:
      dred study status laptop
      dred study status laptop --watch
    """

    file: File
    """The study: a TOML file, or the name of one that comes with dred, as laptop or smoke."""
    watch: bool = False
    """Keep showing, until it is finished or you press Ctrl-C."""
    plugins: Plugins = ()
    """Files that register what the study names, besides those that it names itself."""

    def run(self) -> None:
        """Show a table."""
        import time

        from rich.console import Console
        from rich.live import Live

        from dred.studies.study import read_study

        study = read_study(self.file, plugins=self.plugins)
        if not self.watch:
            Console().print(status_table(study))
            return
        with Live(status_table(study), refresh_per_second=1) as live:
            while not is_finished(study):
                time.sleep(2)
                live.update(status_table(study))


@dataclass(frozen=True)
class StudyReport:
    """Make the report of a study from the runs that are finished.

    For example:
      dred study report laptop
    """

    file: File
    """The study: a TOML file, or the name of one that comes with dred, as laptop or smoke."""
    plugins: Plugins = ()
    """Files that register what the study names, besides those that it names itself."""
    seed: int = 0
    """Decides the resamples of intervals."""

    def run(self) -> None:
        """Write it."""
        from dred.studies.study import read_study

        report_of(read_study(self.file, plugins=self.plugins), seed=self.seed)


@dataclass(frozen=True)
class PackStudy:
    """Write the results of a study's finished runs to one small file, without their weights.

    For example:
      dred study pack laptop --out laptop.tar.xz
    """

    file: File
    """The study: a TOML file, or the name of one that comes with dred, as laptop or smoke."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE.tar.xz")]
    """Where to write it."""
    plugins: Plugins = ()
    """Files that register what the study names, besides those that it names itself."""

    def run(self) -> None:
        """Write it."""
        from dred.studies.archive import pack
        from dred.studies.jobs import runs_of
        from dred.studies.study import read_study

        study = read_study(self.file, plugins=self.plugins)
        runs = runs_of(study)
        count = pack(study.path, runs, self.out)
        print(f"{self.out}: {count} of {len(runs)} runs, {self.out.stat().st_size / 1e6:.1f} MB")


@dataclass(frozen=True)
class UnpackStudy:
    """Put runs that `dred study pack` wrote into a study; they then count as finished.

    For example:
      dred study unpack laptop laptop.tar.xz
      dred study report laptop
    """

    file: File
    """The study: a TOML file, or the name of one that comes with dred, as laptop or smoke."""
    archive: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.tar.xz")]
    """What `dred study pack` wrote."""
    plugins: Plugins = ()
    """Files that register what the study names, besides those that it names itself."""

    def run(self) -> None:
        """Unpack it."""
        from dred.files import held
        from dred.studies.archive import unpack
        from dred.studies.study import read_study

        study = read_study(self.file, plugins=self.plugins)
        study.path.mkdir(parents=True, exist_ok=True)
        with held(study.path):
            new = unpack(self.archive, study.path)
        print(f"{study.path}: {len(new)} new runs. `dred study report` shows what came of them.")


def say(job: "Job", what: str) -> None:
    """Tell of a job."""
    print(f"{job.name} {what}", flush=True)


def report_of(study: "Study", *, seed: int = 0) -> None:
    """Write the report from the runs that are finished."""
    from dred.commands.report import Report
    from dred.studies.jobs import runs_of
    from dred.studies.summary import write_summary

    finished = tuple(job.run.path for job in runs_of(study) if job.state() == "finished")
    if not finished:
        raise ConfigError(
            f"No run of {study.path} is finished yet. `dred study run` does what is missing."
        )
    Report(finished, out=study.report, seed=seed).run()
    print(write_summary(study.path, runs_of(study)))


def is_finished(study: "Study") -> bool:
    """Whether nothing is left to do; runs that a search has stopped are done with."""
    from dred.studies.jobs import preparations, runs_of
    from dred.studies.search import stopped_by

    stopped = stopped_by(study)
    going = [job for job in runs_of(study) if job.name not in stopped]
    return all(job.state() == "finished" for job in [*preparations(study), *going])


def status_table(study: "Study") -> "Table":
    """A row per job: how far it is, and how well its agent does; and how long it will take."""
    from rich.markup import escape
    from rich.table import Column, Table

    from dred.studies.jobs import preparations, runs_of
    from dred.studies.search import stopped_by

    name, headline = Column("job", overflow="fold"), study.task.headline
    words, form = {"solved_rate": ("solved", ".1%"), "return": ("return", ".2f")}[headline]
    table = Table(
        name, "state", "updates", f"{words}, train", "held out", title=escape(f"{study.path}")
    )
    for job in preparations(study):
        table.add_row(escape(job.name), job.state(), "", "", "")
    stopped = stopped_by(study)
    for job in runs_of(study):
        total = job.config.num_updates
        row = how_far(job, total, (f"{headline}/train", f"{headline}/test"), form)
        table.add_row(escape(row[0]), "stopped" if job.name in stopped else row[1], *row[2:])
    table.caption = time_left(study, stopped)
    return table


def time_left(study: "Study", stopped: set[str]) -> str:
    """How many runs are finished, and how long the rest will take."""
    from dred.studies.jobs import runs_of
    from dred.studies.remaining import in_words, seconds_left

    runs = [job for job in runs_of(study) if job.name not in stopped]
    finished = sum(job.state() == "finished" for job in runs)
    told = f"{finished} of {len(runs)} runs are finished"
    if stopped:
        told += f", {len(stopped)} were stopped by the search"
    if finished == len(runs):
        return f"{told}."
    left = seconds_left(study)
    when = "not known yet" if left is None else f"about {in_words(left)} of training"
    return f"{told}. Left: {when}."


def how_far(job: "RunJob", total: int, metrics: "Sequence[str]", form: str) -> list[str]:
    """A run's name, state and updates, and what it last measured of some metrics."""
    rows = job.run.metrics() if job.has_begun else []
    done = int(rows[-1]["update"]) if rows else 0
    last = [
        next((format(row[name], form) for row in reversed(rows) if name in row), "")
        for name in metrics
    ]
    return [job.name, job.state(), f"{done} of {total}", *last]


VERBS = {
    "run": RunStudy,
    "status": StudyStatus,
    "report": StudyReport,
    "pack": PackStudy,
    "unpack": UnpackStudy,
}
