"""Running a study on a Ray cluster: the same jobs, the same folders.

The study's folder must be one that all nodes see. A job that is lost with its node is begun again
on another one, from its last checkpoint.
"""

from collections.abc import Sequence
from typing import Any

from dred.errors import ConfigError
from dred.studies.jobs import Job, JobError, do
from dred.studies.local import TRIES, Tell


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
        import ray  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise ConfigError(
            "--on ray needs Ray. Install it with: pip install 'dred[ray]'. Then start it on each "
            "node (`ray start --head` on the first), or leave --on ray out to run here."
        ) from None
    return ray
