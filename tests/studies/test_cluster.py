"""A study on two Ray nodes, one of which is lost; run where Ray is installed."""

import threading

import pytest

from dred.cli import main
from dred.studies.cluster import run_on_ray, search_on_ray
from dred.studies.jobs import runs_of
from dred.studies.search import stopped_by
from dred.studies.study import read_study
from tests.patience import wait_until
from tests.studies.test_study import TINY, folder, numbers_in, study_of, whole

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray forks, and leaves sockets open
assert folder is not None  # fixtures that the tests below ask for by name
assert whole is not None


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


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
