"""Running a study on this machine: as many jobs at once as there are cores for.

Small programs do not split well over cores, so two runs on a core each take less time than one
after the other on both.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue

from dred.errors import ConfigError
from dred.studies.jobs import Cores, Job, JobError, do

TRIES = 3  # of a job that dies

Tell = Callable[[Job, str], None]  # a job, and what happened to it


def run_here(jobs: Sequence[Job], tell: Tell, *, workers: int = 1) -> list[JobError]:
    """Do what is missing, in this order; a job that dies is tried again. What failed for good.

    Ctrl-C is passed on to all jobs at work, and waits until they have saved.
    """
    crew = Crew(tell, shares(workers))
    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(crew.do, job) for job in jobs]
            found = [future.result() for future in futures]
        except BaseException:
            crew.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return [failure for failure in found if failure is not None]


class Crew:
    """Jobs at work, each on cores of its own."""

    def __init__(self, tell: Tell, cores: Sequence[Cores]) -> None:
        self.tell = tell
        self.free: SimpleQueue[Cores] = SimpleQueue()
        for some in cores:
            self.free.put(some)
        self.at_work: set[subprocess.Popen[bytes]] = set()
        self.lock = threading.Lock()
        self.is_stopped = False

    def do(self, job: Job) -> JobError | None:
        """Do a job, or say why it failed."""
        cores = self.free.get()
        try:
            return self._try(job, cores)
        finally:
            self.free.put(cores)

    def _try(self, job: Job, cores: Cores) -> JobError | None:
        if job.state() == "finished":
            self.tell(job, "was finished")
            return None
        self.tell(job, "has begun")
        for tries in range(TRIES):
            try:
                do(job, cores=cores, begun=self.note)
            except JobError as failure:
                if self.is_stopped:
                    return failure
                self.tell(job, f"died, time {tries + 1} of {TRIES}")
                if tries == TRIES - 1:
                    return failure
            else:
                self.tell(job, "is finished")
                return None
        raise AssertionError("every job ends or fails")

    def note(self, process: subprocess.Popen[bytes]) -> None:
        """Remember a process that has begun."""
        with self.lock:
            self.at_work = {one for one in self.at_work if one.poll() is None} | {process}
            if self.is_stopped:
                process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Ask all that is at work to save and end."""
        with self.lock:
            self.is_stopped = True
            for process in self.at_work:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)


def shares(workers: int) -> list[Cores]:
    """The cores of each worker, as even as can be; all of them where a system cannot tell."""
    if workers < 1:
        raise ConfigError(f"workers (={workers}) must be at least 1.")
    if not hasattr(os, "sched_getaffinity"):
        return [()] * workers
    cores = sorted(os.sched_getaffinity(0))
    return [tuple(cores[place::workers]) or tuple(cores) for place in range(workers)]


def most_workers(devices: int) -> int:
    """How many jobs this machine has room for, if each has so many devices."""
    cores = len(shares(1)[0]) or os.cpu_count() or 1
    return max(1, cores // devices)
