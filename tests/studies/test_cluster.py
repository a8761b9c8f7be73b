"""Studies on Ray nodes that are lost, that join, and that are told to stop."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from dred.cli import main
from dred.errors import ConfigError
from dred.levels import load
from dred.studies import jobs
from dred.studies.cluster import run_on_ray, search_on_ray
from dred.studies.jobs import MakeLevels, runs_of
from dred.studies.search import stopped_by
from dred.studies.study import read_study
from tests.patience import PATIENCE, wait_until
from tests.studies.test_study import TINY, folder, numbers_in, study_of, whole

ROOT = Path(__file__).parents[2]
ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray forks, and leaves sockets open
assert folder is not None  # fixtures that the tests below ask for by name
assert whole is not None


@pytest.fixture
def head(monkeypatch):
    """A cluster of a head that does no jobs."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_worker_niceness", "0")  # else they starve on a busy machine
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def cluster(head):
    nodes = [head.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=head.address, log_to_driver=False)
    return head, nodes


@pytest.mark.long
def test_a_lost_node_costs_nothing_but_time(cluster, folder, whole):
    cluster, nodes = cluster
    file = study_of(folder, "rayed", TINY)
    study = read_study(file)
    told = []

    def lose_a_node():
        begun = study.path / "runs" / "uniform-seed-0" / "checkpoints"
        wait_until(lambda: any(begun.glob("*.npz")))
        cluster.remove_node(nodes[0], allow_graceful=False)

    losing = threading.Thread(target=lose_a_node)
    losing.start()
    failures = run_on_ray(
        runs_of(study), lambda job, what: told.append((job.name, what)), cpus=1.0, gpus=0.0
    )
    losing.join()
    assert not failures
    assert sorted(told)[-1][1] == "is finished"
    main(["study", "report", str(file)])
    assert numbers_in(study) == numbers_in(whole)


@pytest.mark.long
def test_a_node_that_joins_takes_the_jobs_that_wait(head, folder):
    ray.init(address=head.address, log_to_driver=False)
    study, told = read_study(study_of(folder, "joined", TINY)), []
    waiting = [
        MakeLevels(study, f"levels-{name}", "cave-escape-train", study.path / f"{name}.npz", count)
        for name, count in (("few", 2), ("more", 3))
    ]

    def tell(job, what):
        told.append((job.name, what.split(" with")[0]))
        if len(told) == len(waiting):  # all have been told that there is no room
            head.add_node(num_cpus=1)

    assert not run_on_ray(waiting, tell, cpus=1.0, gpus=0.0)
    assert told[:2] == [(job.name, "waits for a node") for job in waiting]
    assert sorted(told[2:]) == [(job.name, "is finished") for job in waiting]
    assert [len(load(job.target)) for job in waiting] == [2, 3]


# What a job does here, after what every job does first: it waits, and saves when it is interrupted.
SAVES = """
import pathlib, time
folder, name = map(pathlib.Path, words)
try:
    (folder / f"{name}-begun").touch()
    time.sleep(3600)
except KeyboardInterrupt:
    time.sleep(1)
    (folder / f"{name}-saved").touch()
    sys.exit(130)
"""

# A study of three such jobs, for which there is room for two.
STUDY = """
import sys
from pathlib import Path
from dred.studies.cluster import run_on_ray
from tests.studies.test_cluster import Folder, Saves
jobs = [Saves(Folder(Path(sys.argv[1])), name) for name in ("one", "two", "three")]
run_on_ray(jobs, lambda job, what: print(job.name, what), cpus=1.0, gpus=0.0)
"""


@dataclass(frozen=True)
class Folder:
    path: Path


@dataclass(frozen=True)
class Saves(jobs.Job):
    def state(self):
        return "waiting"

    def commands(self):
        if "time.sleep" not in jobs.LAUNCH:  # on the node
            jobs.LAUNCH = jobs.LAUNCH.split("from dred")[0] + SAVES
        return [[str(self.study.path), self.name]]


@pytest.mark.long
def test_ctrl_c_reaches_all_nodes_and_waits_until_their_jobs_have_saved(head, tmp_path):
    for _ in range(2):
        head.add_node(num_cpus=1)
    process = subprocess.Popen(
        [sys.executable, "-c", STUDY, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "RAY_ADDRESS": head.address, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        wait_until(lambda: len(names_of(tmp_path, "begun")) == 2 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and said.strip().endswith("KeyboardInterrupt")
    assert names_of(tmp_path, "saved") == names_of(tmp_path, "begun")


def names_of(folder, what):
    return {path.name.split("-")[0] for path in folder.glob(f"*-{what}")}


def test_without_a_cluster_it_is_said_how_to_start_one(folder, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "init", lambda **options: (_ for _ in ()).throw(ConnectionError()))
    with pytest.raises(ConfigError, match="ray start --head"):
        run_on_ray([], print, cpus=1.0, gpus=0.0)


def test_ray_tune_searches_and_the_runs_it_stops_are_noted(cluster, folder):
    pytest.importorskip("ray.tune")
    text = TINY.replace('["uniform", "plr"]', '["plr"]').replace('["test.npz"]', "[]")
    text += "updates = 6\n[search]\nfirst = 3\n[grid]\n"
    study = read_study(study_of(folder, "tuned", f'{text}"ppo.learning_rate" = [1e-4, 1e-2]\n'))
    told = []
    failures = search_on_ray(
        study, lambda job, what: told.append((job.name, what)), cpus=1.0, gpus=0.0
    )
    assert not failures
    assert len(told) == 2 and all("ended after" in what for _, what in told)
    states = {job.name: job.state() for job in runs_of(study)}
    assert "finished" in states.values()
    assert stopped_by(study) == {name for name, state in states.items() if state != "finished"}
