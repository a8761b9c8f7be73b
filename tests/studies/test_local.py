"""Jobs of a study side by side on this machine."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dred.errors import ConfigError
from dred.studies import jobs
from dred.studies.local import most_workers, run_here, shares
from tests.patience import PATIENCE, wait_until

# A job that says that it has begun, waits for the other one, and is done.
MEETS = """
import os, pathlib, sys, time
cores, folder, name, other = sys.argv[1:]
folder = pathlib.Path(folder)
(folder / f"{name}-begun").write_text(cores)
while not (folder / f"{other}-begun").exists():
    time.sleep(0.02)
(folder / f"{name}-done").touch()
"""

# A job that only ends when it is told to, and then saves.
WAITS = """
import pathlib, sys, time
cores, folder, name, other = sys.argv[1:]
folder = pathlib.Path(folder)
try:
    (folder / f"{name}-begun").touch()
    time.sleep(3600)
except KeyboardInterrupt:
    time.sleep(0.2)
    (folder / f"{name}-saved").touch()
    sys.exit(130)
"""

# A study of two such jobs, which is told to stop.
STUDY = """
import sys
from pathlib import Path
from dred.studies import jobs
from dred.studies.local import run_here
from tests.studies.test_local import WAITS, pair
jobs.LAUNCH = WAITS
run_here(pair(Path(sys.argv[1])), lambda job, what: print(job.name, what), workers=2)
"""


@dataclass(frozen=True)
class Folder:
    path: Path


@dataclass(frozen=True)
class Meets(jobs.Job):
    other: str

    def state(self):
        return "finished" if (self.study.path / f"{self.name}-done").exists() else "waiting"

    def commands(self):
        return [[str(self.study.path), self.name, self.other]]


WORDS = ("has begun", "is finished")


def pair(folder):
    return [Meets(Folder(folder), "one", "two"), Meets(Folder(folder), "two", "one")]


def test_two_workers_do_two_jobs_at_once_on_cores_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "LAUNCH", MEETS)
    told = []
    failures = run_here(pair(tmp_path), lambda job, what: told.append((job.name, what)), workers=2)
    assert not failures
    assert sorted(told) == [(name, what) for name in ("one", "two") for what in WORDS]
    cores = [(tmp_path / f"{name}-begun").read_text() for name in ("one", "two")]
    assert sorted(cores) == sorted(",".join(map(str, some)) for some in shares(2))
    assert run_here(pair(tmp_path), lambda job, what: told.append(what), workers=1) == []
    assert told[4:] == ["was finished", "was finished"]


def test_ctrl_c_waits_until_all_jobs_have_saved(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", STUDY, str(tmp_path)], stderr=subprocess.DEVNULL
    )
    for name in ("one", "two"):
        wait_until((tmp_path / f"{name}-begun").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) != 0
    assert (tmp_path / "one-saved").exists()
    assert (tmp_path / "two-saved").exists()


def test_cores_are_shared_out_evenly_and_none_is_left_out():
    cores = sorted(os.sched_getaffinity(0))
    for workers in range(1, len(cores) + 1):
        found = shares(workers)
        assert sorted(core for some in found for core in some) == cores
        assert max(map(len, found)) - min(map(len, found)) <= 1
    assert all(some for some in shares(len(cores) + 3))  # more workers than cores share them
    assert most_workers(1) == len(cores)
    assert most_workers(len(cores)) == most_workers(10 * len(cores)) == 1
    with pytest.raises(ConfigError, match="at least 1"):
        shares(0)
