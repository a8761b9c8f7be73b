"""Running a study on this machine, one job after the other."""

from collections.abc import Callable, Sequence

from dred.studies.jobs import Job, JobError, do

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
