"""Successive halving: all candidates train a little, the best of them go on.

A candidate is a method with its changes of settings, and all seeds of it. After `first` updates one
in `factor` goes on, to `factor` times as many updates, and so on; the last ones are trained to the
end and evaluated. Each stops where it could have been interrupted, so those that go on are the runs
that they would have been without a search. Which go on follows from the metrics on disk, so a
search that was stopped goes on like any study.

Here it is done in step, in the few lines of `halve`: all candidates reach a rung before any goes
on, and nothing but this package is needed. On Ray, `cluster` leaves it to Ray Tune.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dred.metrics import Metric
from dred.studies.config import SearchConfig
from dred.studies.jobs import Job, JobError, State, TrainAndEvaluate, runs_of
from dred.studies.rungs import metric_of, rungs_of
from dred.studies.study import Study

Do = Callable[[Sequence[Job]], Sequence[JobError]]  # do jobs, and return what failed
Say = Callable[[str], None]


@dataclass(frozen=True)
class TrainUntil(Job):
    """A run, trained until a rung."""

    whole: TrainAndEvaluate
    until: int

    @property
    def log(self) -> Path:
        """Where its words go: to those of the whole run."""
        return self.whole.log

    def state(self) -> State:
        """Finished once so many updates are done."""
        done = updates_done(self.whole)
        return "finished" if done >= self.until else "begun" if done else "waiting"

    def commands(self) -> list[list[str]]:
        """Train, or go on, until then."""
        return [[*self.whole.commands()[0], "--until", str(self.until)]]


@dataclass(frozen=True)
class Candidate:
    """A method with its settings, in a task and with a set of levels: a run for each seed."""

    runs: tuple[TrainAndEvaluate, ...]

    @property
    def name(self) -> str:
        """Return the name of its runs without the seed."""
        return self.runs[0].name.removesuffix(f"-seed-{self.runs[0].seed}")

    @property
    def rivals(self) -> tuple[str, str]:
        """Return what it is compared within: a task and a set of levels."""
        return self.runs[0].task, self.runs[0].levels

    def until(self, rung: int) -> list[Job]:
        """Return the jobs that train it until a rung."""
        return [TrainUntil(r.study, f"{r.name}, {rung} updates,", r, rung) for r in self.runs]

    def score(self, rung: int, metric: Metric) -> float:
        """Return the mean of a metric over seeds at a rung, higher for better; −∞ if not known."""
        found = [value_at(run, rung, metric.name) for run in self.runs]
        sign = -1.0 if metric.better == "lower" else 1.0
        return -math.inf if any(map(math.isnan, found)) else sign * sum(found) / len(found)


def updates_done(run: TrainAndEvaluate) -> int:
    """Return how many updates of a run are on disk."""
    rows = run.run.metrics() if run.has_begun else []
    return int(rows[-1]["update"]) if rows else 0


def value_at(run: TrainAndEvaluate, rung: int, metric: str) -> float:
    """Return a metric where a run first reached a rung; NaN if it did not."""
    rows = run.run.metrics() if run.has_begun else []
    reached = (row for row in rows if row["update"] >= rung and metric in row)
    return float(next(reached, {}).get(metric, math.nan))


def candidates_of(study: Study) -> list[Candidate]:
    """Return what a study compares."""
    groups: dict[tuple[object, ...], list[TrainAndEvaluate]] = {}
    for run in runs_of(study):
        groups.setdefault((run.task, run.levels, run.method, run.variant), []).append(run)
    return [Candidate(tuple(runs)) for runs in groups.values()]


def going_on(study: Study, rung: int, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that go on from a rung: one in `factor` of each task and set."""
    metric, kept = metric_of(searched(study), study.task), list[Candidate]()
    for rivals in dict.fromkeys(one.rivals for one in candidates):
        mine = [one for one in candidates if one.rivals == rivals]
        best = sorted(mine, key=lambda one: -one.score(rung, metric))
        kept += best[: math.ceil(len(mine) / searched(study).factor)]
    return [one for one in candidates if one in kept]


def halve(study: Study, do: Do, say: Say = print) -> list[JobError]:
    """Train all candidates, and go on with those that do best; return what failed."""
    going, failures, metric = (
        candidates_of(study),
        list[JobError](),
        metric_of(searched(study), study.task),
    )
    for rung in rungs_of(searched(study), total_of(study)):
        failures += do([job for one in going for job in one.until(rung)])
        kept = going_on(study, rung, going)
        for one in going:
            verdict = "goes on" if one in kept else "stops"
            found = abs(one.score(rung, metric))
            say(f"{one.name} {verdict} after {rung} updates: {metric.name} {found:.4g}")
        going = kept
    return [*failures, *do([run for one in going for run in one.runs])]


def stopped_by(study: Study) -> set[str]:
    """Return the names of the runs that do not go on, by what is on disk."""
    if study.config.search is None:
        return set()
    if note_of(study).exists():
        return set(json.loads(note_of(study).read_text(encoding="utf-8")))
    going, stopped = candidates_of(study), set[str]()
    for rung in rungs_of(study.config.search, total_of(study)):
        if any(updates_done(run) < rung for one in going for run in one.runs):
            break
        kept = going_on(study, rung, going)
        stopped |= {run.name for one in going if one not in kept for run in one.runs}
        going = kept
    return stopped


def note_of(study: Study) -> Path:
    """Return the file that names the runs that another scheduler has stopped."""
    return study.path / "stopped.json"


def updates_left(study: Study) -> int:
    """Return how many updates are still to do in all runs; of a search, as planned."""
    stopped = stopped_by(study)
    runs = [run for run in runs_of(study) if run.name not in stopped]
    if study.config.search is None:
        return sum(run.config.num_updates - updates_done(run) for run in runs)
    ends = [*rungs_of(study.config.search, total_of(study)), total_of(study)]
    left, count, before = 0, len(runs), 0
    for end in ends:
        if before:  # a rung that is still to come: how many go on is known, but not which
            count = math.ceil(count / study.config.search.factor)
            left += count * (end - before)
        elif any(updates_done(run) < end for run in runs):
            left += sum(max(0, end - updates_done(run)) for run in runs)
        else:
            continue
        before = end
    return left


def searched(study: Study) -> SearchConfig:
    """Return the settings of a study's search."""
    assert study.config.search is not None
    return study.config.search


def total_of(study: Study) -> int:
    """Return the updates of a whole run."""
    return runs_of(study)[0].config.num_updates
