"""What is left to chance in an evaluation: other draws for every agent, the same ones each time."""

import shutil

import jax
import numpy as np
import pytest

from dred.evaluation import suites
from dred.evaluation.results import EvaluationConfig
from dred.evaluation.suites import evaluate_run, noise_key
from dred.levels import make
from dred.presets import train_config
from dred.run_folder import create_run
from dred.runs import open_run
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.state import new_learner, new_setup

LEVELS = make("cave-escape-test", count=40, size=9)
CONFIG = EvaluationConfig(LEVELS.digest, update=12, episodes=2)


@pytest.fixture(scope="module")
def network():
    """An agent that has learned nothing, so that chance decides all it does."""
    setup = new_setup(train_config("uniform", "smoke", GRIDWORLD.budgets), GRIDWORLD)
    return jax.jit(lambda key: new_learner(setup, key=key).agent)(jax.random.key(0))


def new_run(path, method="uniform", seeds=(0, 1), *, levels="a", digest="a"):
    noted = {"train": {"path": f"/{levels}.npz", "digest": digest}}
    config = train_config(method, "smoke", GRIDWORLD.budgets)
    return create_run(path, task="gridworld", config=config, seeds=seeds, levels=noted, command=[])


def lines_of(run, name="test"):
    """The lines of a table but their first column, by seed."""
    lines = (run.path / "evaluation" / f"{name}.csv").read_text().splitlines()[1:]
    rows = [line.split(",", 1) for line in lines]
    return {seed: [rest for first, rest in rows if first == str(seed)] for seed in run.seeds}


def test_evaluation_noise_differs_between_seeds_and_methods(network, tmp_path):
    # One and the same agent stands for all seeds and methods: only chance can tell them apart.
    played = {}
    for method in ("uniform", "plr"):
        run = new_run(tmp_path / method, method)
        evaluate_run(run, [network, network], LEVELS, "test", CONFIG)
        played |= {(method, seed): lines for seed, lines in lines_of(run).items()}
    for one in played:
        for other in played:
            same = np.mean([a == b for a, b in zip(played[one], played[other], strict=True)])
            assert same == 1.0 if one == other else same < 0.9, (one, other)


def test_evaluation_noise_is_the_same_twice_elsewhere_and_after_an_interruption(
    network, tmp_path, monkeypatch
):
    run = new_run(tmp_path / "x")
    evaluate_run(run, [network, network], LEVELS, "test", CONFIG)
    again = new_run(tmp_path / "again")
    evaluate_run(again, [network, network], LEVELS, "test", CONFIG)
    assert lines_of(again) == lines_of(run)
    shutil.copytree(run.path, tmp_path / "moved" / "there")
    moved = open_run(tmp_path / "moved" / "there")
    shutil.rmtree(moved.path / "evaluation")
    play, calls = suites._play, []

    def stop_after_three(*things):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(things)
        return play(*things)

    monkeypatch.setattr(suites, "_play", stop_after_three)
    with pytest.raises(KeyboardInterrupt):
        evaluate_run(moved, [network, network], LEVELS, "test", CONFIG)
    monkeypatch.setattr(suites, "_play", play)
    evaluate_run(moved, [network, network], LEVELS, "test", CONFIG)
    assert lines_of(moved) == lines_of(run)


def test_evaluation_noise_of_a_seed_is_the_same_alone_and_among_others(network, tmp_path):
    alone, among = new_run(tmp_path / "a", seeds=(7,)), new_run(tmp_path / "b", seeds=(3, 7))
    evaluate_run(alone, [network], LEVELS, "test", CONFIG)
    evaluate_run(among, [network, network], LEVELS, "test", CONFIG)
    assert lines_of(alone)[7] == lines_of(among)[7]


def test_evaluation_noise_depends_on_what_was_trained_not_on_where(tmp_path):
    here = new_run(tmp_path / "here")
    key = jax.random.key_data(noise_key(here, 0))

    def differs(run, run_seed=0, seed=0):
        other = jax.random.key_data(noise_key(run, run_seed, seed=seed))
        return not np.array_equal(key, other)

    assert not differs(here)
    assert not differs(new_run(tmp_path / "there", levels="elsewhere"))
    assert not differs(new_run(tmp_path / "more seeds", seeds=(0, 5, 6)))
    assert differs(here, run_seed=1)
    assert differs(here, run_seed=2**32)  # seeds may be that large
    assert differs(here, seed=1)
    assert differs(new_run(tmp_path / "other levels", digest="b"))
    fitted = {"path": "/vae", "digest": "v"}
    here.note(generator=fitted)
    with_model = jax.random.key_data(noise_key(here, 0))
    assert not np.array_equal(key, with_model)
    here.note(generator={**fitted, "path": "/moved"})
    np.testing.assert_array_equal(with_model, jax.random.key_data(noise_key(here, 0)))


def test_results_with_noise_that_runs_shared_are_not_taken_for_new_ones(network, tmp_path):
    run = new_run(tmp_path / "x")
    evaluate_run(run, [network, network], LEVELS, "test", CONFIG)
    facts, table = (run.path / "evaluation" / f"test.{end}" for end in ("json", "csv"))
    mine = table.read_text()
    table.write_text(mine.splitlines()[0] + "\n0,test,0,0,1,1.000000,1\n")
    told = facts.read_text()
    assert run.fingerprint in told
    facts.write_text(told.replace(f', "run": "{run.fingerprint}"', ""))  # as it was written before
    evaluate_run(run, [network, network], LEVELS, "test", CONFIG)
    assert table.read_text() == mine and facts.read_text() == told
