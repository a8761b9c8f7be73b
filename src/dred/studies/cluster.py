"""Running a study on a Ray cluster: the same jobs, the same folders.

The study's folder must be one that all nodes see. A job that is lost with its node is begun again
on another one, from its last checkpoint.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dred.errors import ConfigError
from dred.extras import how_to_install
from dred.files import write_text
from dred.studies.jobs import Job, JobError, do
from dred.studies.local import TRIES, Tell
from dred.studies.rungs import metric_of, rungs_of
from dred.studies.search import Candidate, candidates_of, note_of, searched, total_of
from dred.studies.study import Study

UPDATES, SCORE = "updates", "score"  # what Ray Tune is told at each rung


def run_on_ray(jobs: Sequence[Job], tell: Tell, *, cpus: float, gpus: float) -> list[JobError]:
    """Do what is missing, as many jobs at once as there is room for. What failed for good."""
    ray = import_ray()
    if not ray.is_initialized():
        ray.init(address="auto", log_to_driver=False)

    remote = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=TRIES)(attempt)
    for job in jobs:
        if job.state() == "finished":
            tell(job, "was finished")
    waiting = {remote.remote(job): job for job in jobs if job.state() != "finished"}
    tries = dict.fromkeys(jobs, 1)
    failures: list[JobError] = []
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        job = waiting.pop(done)
        problem = outcome(ray, done)
        if problem is None:
            tell(job, "is finished")
            continue
        tell(job, f"died, time {tries[job]} of {TRIES}")
        if tries[job] == TRIES:
            failures.append(JobError(problem))
        else:
            tries[job] += 1
            waiting[remote.remote(job)] = job
    return failures


def search_on_ray(study: Study, tell: Tell, *, cpus: float, gpus: float) -> list[JobError]:
    """Search by successive halving with Ray Tune: a trial for each candidate. What failed for good.

    Its scheduler does not wait until all candidates have reached a rung: one goes on if it is among
    the best of those that did so far, or no worse than these.
    """
    ray, tune = import_ray(), import_tune()
    if not ray.is_initialized():
        ray.init(address="auto", log_to_driver=False)
    search, candidates = searched(study), {one.name: one for one in candidates_of(study)}
    scheduler = tune.schedulers.ASHAScheduler(
        time_attr=UPDATES,
        max_t=total_of(study),
        grace_period=search.first,
        reduction_factor=search.factor,
    )
    trial = tune.with_parameters(climb, candidates=candidates)
    tuner = tune.Tuner(
        tune.with_resources(trial, {"cpu": cpus, "gpu": gpus}),
        param_space={"name": tune.grid_search(list(candidates))},
        tune_config=tune.TuneConfig(metric=SCORE, mode="max", scheduler=scheduler),
        run_config=tune.RunConfig(
            name="search",
            storage_path=str((study.path / "ray").resolve()),
            failure_config=tune.FailureConfig(max_failures=TRIES - 1),
            verbose=0,
        ),
    )
    failures: list[JobError] = []
    for result in tuner.fit():
        candidate = candidates[result.config["name"]]
        done = "failed" if result.error else f"ended after {result.metrics[UPDATES]} updates"
        tell(candidate.runs[0], done)
        failures += [JobError(str(result.error))] if result.error else []
    runs = [run for one in candidates.values() for run in one.runs]
    stopped = [run.name for run in runs if run.state() != "finished"]
    write_text(note_of(study), json.dumps(stopped))
    return failures


def climb(config: dict[str, str], candidates: dict[str, Candidate]) -> None:
    """On a node: train a candidate from rung to rung, telling Ray Tune, which may end it there."""
    tune, candidate = import_tune(), candidates[config["name"]]
    study = candidate.runs[0].study
    metric, total = metric_of(searched(study), study.task), total_of(study)
    for rung in rungs_of(searched(study), total):
        for job in candidate.until(rung):
            do(job)
        tune.report({UPDATES: rung, SCORE: candidate.score(rung, metric)})
    for run in candidate.runs:
        do(run)
    tune.report({UPDATES: total, SCORE: candidate.score(total, metric)})


def attempt(job: Job) -> str | None:
    """On a node: the job, and what went wrong."""
    try:
        do(job)
    except JobError as failure:
        return str(failure)
    return None


def outcome(ray: Any, reference: Any) -> str | None:  # noqa: ANN401  (Ray has no types here)
    """What went wrong in a job, also if it was lost with its node once too often."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return f"a job was lost: {type(error).__name__}."


def import_ray() -> Any:  # noqa: ANN401  (a module)
    """Ray, or what to do to have it."""
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise ConfigError(
            f"--on ray needs Ray. Install it with: {how_to_install('ray')}. Then start it on each "
            "node (`ray start --head` on the first), or leave --on ray out to run here."
        ) from None


def import_tune() -> Any:  # noqa: ANN401  (a module)
    """Ray Tune, or what to do to have it."""
    try:
        return import_module("ray.tune")
    except ImportError as error:
        raise ConfigError(
            f"A search on Ray needs Ray Tune, which cannot be imported: {error}. Install it with: "
            f"{how_to_install('ray')}"
        ) from None
