"""Running a study on a Ray cluster: the same jobs, the same folders.

The study's folder must be one that all nodes see. A job that is lost with its node is begun again
on another one, from its last checkpoint; a node that joins takes jobs that wait.
"""

import json
import os
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

SAVING = 600.0  # seconds that jobs have to save when the study is told to stop
Waiting = dict[Any, Job]  # what Ray calls a job, and the job

UPDATES, SCORE = "updates", "score"  # what Ray Tune is told at each rung


def run_on_ray(jobs: Sequence[Job], tell: Tell, *, cpus: float, gpus: float) -> list[JobError]:
    """Do what is missing, as many jobs at once as there is room for. What failed for good.

    Nodes may come and go. Ctrl-C is passed on to all jobs at work, and waits until they have saved.
    """
    ray = connected()
    remote = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=TRIES)(attempt)
    for job in jobs:
        if job.state() == "finished":
            tell(job, "was finished")
    waiting: Waiting = {remote.remote(job): job for job in jobs if job.state() != "finished"}
    if not has_room(ray, cpus, gpus):
        for job in waiting.values():
            tell(job, f"waits for a node with {cpus:g} processors and {gpus:g} accelerators")
    try:
        return collected(ray, waiting, remote, tell)
    except BaseException:
        stop(ray, waiting)
        raise


def collected(ray: Any, waiting: Waiting, remote: Any, tell: Tell) -> list[JobError]:  # noqa: ANN401
    """Take in jobs as they end; those that die are begun again. What failed for good."""
    tries = dict.fromkeys(waiting.values(), 1)
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


def stop(ray: Any, waiting: Waiting) -> None:  # noqa: ANN401  (Ray has no types here)
    """Ask all jobs to save and end, and wait for that, though not for ever."""
    for reference in waiting:
        ray.cancel(reference)  # raises KeyboardInterrupt in a job at work; others never begin
    ray.wait(list(waiting), num_returns=len(waiting), timeout=SAVING)


def has_room(ray: Any, cpus: float, gpus: float) -> bool:  # noqa: ANN401  (Ray has no types here)
    """Whether any node could do a job, if it had nothing else to do."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return any(one.get("CPU", 0.0) >= cpus and one.get("GPU", 0.0) >= gpus for one in alive)


def search_on_ray(study: Study, tell: Tell, *, cpus: float, gpus: float) -> list[JobError]:
    """Search by successive halving with Ray Tune: a trial for each candidate. What failed for good.

    Its scheduler does not wait until all candidates have reached a rung: one goes on if it is among
    the best of those that did so far, or no worse than these.
    """
    tune = import_tune()
    connected()
    os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")  # it would return as if all had ended
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


def connected() -> Any:  # noqa: ANN401  (a module)
    """Ray, connected to this machine's cluster or that of RAY_ADDRESS, or how to have one."""
    ray = import_ray()
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError as error:
            raise ConfigError(
                "No Ray cluster was found. Start one with `ray start --head`, and join other nodes "
                "with the command that it prints; or name one that is there in RAY_ADDRESS; or "
                "leave --on ray out to run here."
            ) from error
    return ray


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
