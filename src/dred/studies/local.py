"""Running a study on this machine, one job after the other."""

import fcntl
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from dred.errors import ConfigError
from dred.studies.jobs import Job, JobError, do
from dred.studies.study import Study

TRIES = 3  # of a job that dies

Tell = Callable[[Job, str], None]  # a job, and what happened to it


def run_here(jobs: Sequence[Job], tell: Tell) -> list[JobError]:
    """Do what is missing; a job that dies is tried again. What failed for good."""
    failures: list[JobError] = []
    for job in jobs:
        if job.state() == "finished":
            tell(job, "was finished")
            continue
        for tries in range(TRIES):
            try:
                do(job)
                tell(job, "is finished")
                break
            except JobError as failure:
                tell(job, f"died, time {tries + 1} of {TRIES}")
                if tries == TRIES - 1:
                    failures.append(failure)
    return failures


@contextmanager
def alone(study: Study) -> Generator[None]:
    """Hold the study, so that no second process runs it at the same time."""
    study.path.mkdir(parents=True, exist_ok=True)
    with (study.path / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(
                f"{study.path} is being run by another process. Wait for it, or look with "
                "`dred study status`."
            ) from None
        yield
