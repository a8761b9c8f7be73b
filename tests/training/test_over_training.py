"""Policies that a run keeps while it trains, and any suite played by them afterwards."""

import math
import shutil
from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from dred import checkpoint
from dred.cli import main
from dred.errors import CheckpointError
from dred.evaluation import suites
from dred.evaluation.results import EvaluationConfig
from dred.evaluation.suites import HEADER, evaluate_run, over_training_in
from dred.levels import make
from dred.presets import train_config
from dred.reports.scores import read_evaluation
from dred.run_folder import create_run
from dred.runs import open_run
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.milestones import milestones
from dred.training.saved import kept_updates, policies_of
from dred.training.state import new_setup
from dred.training.train import Trainer

LEVELS = make("cave-escape-train", count=12, size=9)
TEST = make("cave-escape-test", count=8, size=9)
CONFIG = replace(
    train_config("uniform", "smoke", GRIDWORLD.budgets), checkpoint_every=6
)  # 12 updates in chunks of 3


SETUP = new_setup(CONFIG, GRIDWORLD)  # one for all, so that programs are compiled once


@pytest.fixture(scope="module", autouse=True)
def measuring_nothing():
    """Runs that only learn: what they measure meanwhile takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_evaluate", lambda *_: None)
        patch.setattr(Trainer, "_probe", lambda *_: None)
        yield


def trainer(path):
    """A new run of two seeds."""
    run = create_run(path, task="gridworld", config=CONFIG, seeds=(0, 1), levels={}, command=[])
    one = Trainer(run, LEVELS, None, say=lambda _: None)
    one.setup = SETUP
    return one


@pytest.fixture(scope="module")
def whole(measuring_nothing, tmp_path_factory):
    """A run of two seeds, and what its networks were after each chunk."""
    one = trainer(tmp_path_factory.mktemp("runs") / "whole")
    seen = {}
    one.train(tell=lambda told: seen.update({told.num_updates: networks_of(one)}))
    return one.run, seen


def networks_of(one):
    return jax.device_get(one.states.learner.agent)


def assert_same(one, other):
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_checkpoints_are_thinned_to_powers_of_two_and_tenths_of_training():
    # Chunks end at 7, 14, …, 98 and 100. Powers: 1, 2, 4 and 8 → 7, 16 → 14, 32 → 35, 64 → 63.
    # Tenths: 10 → 7, 20 → 21, 30 → 28, 40 → 42, 50 → 49, 60 → 63, 70, 80 → 77, 90 → 91, 100.
    assert sorted(milestones(100, 7)) == [7, 14, 21, 28, 35, 42, 49, 63, 70, 77, 91, 100]
    assert sorted(milestones(12, 3)) == [3, 6, 9, 12]
    assert milestones(1, 10) == {1}
    paper = milestones(27_000, 10)
    assert len(paper) == 22 and {10, 1020, 2050, 2700, 8190, 16380, 24_300, 27_000} <= paper


@pytest.mark.parametrize("chunk", [1, 3, 10, 64])
def test_the_checkpoints_kept_are_few_and_the_nearest_there_are(chunk):
    for num_updates in (*range(1, 70), 300, 2500):
        kept = milestones(num_updates, chunk)
        assert num_updates in kept and len(kept) <= math.floor(math.log2(num_updates)) + 11
        ends = {*range(chunk, num_updates, chunk), num_updates}
        assert kept <= ends
        for wanted in (1, 2, 4, 8, 16, 32, 64, num_updates / 10, num_updates * 0.7):
            if wanted <= num_updates:
                nearest = min(abs(end - wanted) for end in ends)
                assert min(abs(end - wanted) for end in kept) == nearest


def test_what_is_kept_over_training_is_the_policy_of_that_update(whole):
    run, seen = whole
    assert kept_updates(run) == [3, 6, 9, 12]
    files = checkpoint.checkpoints_in(run.policies)
    assert [checkpoint.update_of(path) for path in files] == [3, 6, 9, 12]
    assert len(checkpoint.checkpoints_in(run.checkpoints)) == 2  # as before: full ones are few
    for update, networks in seen.items():
        for place, policy in enumerate(policies_of(run, update)):
            assert_same(policy, jax.tree.map(lambda leaf, place=place: leaf[place], networks))
    assert_same(policies_of(run), policies_of(run, 12))
    assert_same(open_run(run.path).policy(1, update=6).agent, policies_of(run, 6)[1])
    arrays = checkpoint.read(files[0])
    assert len(arrays) == len(jax.tree.leaves(eqx.filter(policies_of(run)[0], eqx.is_array)))
    with pytest.raises(CheckpointError, match=r"no policies after 5 updates.*after 3, 6, 9, 12"):
        open_run(run.path).policy(update=5)


def test_an_interrupted_run_keeps_the_same_policies_over_training(whole, tmp_path):
    run, _ = whole
    killed = trainer(tmp_path / "killed")
    for _ in range(3):  # nine updates: a policy is there, but the checkpoint is that of the sixth
        killed._one_chunk(lambda _: None)
    assert kept_updates(killed.run) == [3, 6, 9]
    killed.restore()
    assert killed.num_updates == 6
    killed.train()
    assert kept_updates(killed.run) == [3, 6, 9, 12]
    for update in (3, 6, 9, 12):
        assert_same(policies_of(killed.run, update), policies_of(run, update))


def test_the_newest_checkpoint_of_a_run_without_kept_policies_is_its_curve(whole, tmp_path):
    old = copied(whole, tmp_path, "policies")  # as runs of former versions are
    assert kept_updates(old) == [12]
    assert_same(policies_of(old, 12), policies_of(old))
    young = copied(whole, tmp_path, "checkpoints")  # before its first checkpoint
    assert kept_updates(young) == [3, 6, 9, 12]
    shutil.rmtree(young.policies)
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        kept_updates(young)


def copied(whole, folder, left_out):
    run, _ = whole
    path = folder / f"without {left_out}"
    shutil.copytree(run.path, path, ignore=shutil.ignore_patterns(left_out))
    return open_run(path)


def test_any_suite_can_be_evaluated_over_training(whole, tmp_path, capsys, monkeypatch):
    run, _ = whole
    TEST.save(tmp_path / "test.npz")
    suite = ("--suite", str(tmp_path / "test.npz"))
    played, play = [], suites._play

    def stop_after_five(*things):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(things)
        return play(*things)

    monkeypatch.setattr(suites, "_play", stop_after_five)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        main(["evaluate", str(run.path), *suite, "--over-training"])
    monkeypatch.setattr(suites, "_play", lambda *things: played.append(things) or play(*things))
    main(["evaluate", str(run.path), *suite, "--over-training"])
    assert len(played) == 4 * 2  # four policies of two seeds, each once
    said = capsys.readouterr().out
    assert "after 3," in said and "after 12 updates solved" in said
    main(["evaluate", str(run.path), *suite, "--over-training"])
    assert len(played) == 4 * 2  # nothing is done twice
    folder = over_training_in(run)
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    tables = {f"{update:08d}/test.{end}" for update in (3, 6, 9, 12) for end in ("csv", "json")}
    assert found == {"test.npz", *tables}
    for update in (3, 6, 9, 12):
        lines = (folder / f"{update:08d}" / "test.csv").read_text().splitlines()
        assert lines[0] == HEADER and len(lines) == 1 + 2 * 8
        one = evaluate_run(
            run, policies_of(run, update), TEST, "alone", EvaluationConfig(TEST.digest, update)
        )
        assert [float(line.split(",")[5]) for line in lines[1:]] == pytest.approx(one.returned)
    main(["evaluate", str(run.path), *suite])
    last = (folder / "00000012" / "test.csv").read_text()
    assert (run.path / "evaluation" / "test.csv").read_text() == last
    assert read_evaluation(run).keys() == {"alone", "test"}  # undisturbed by those over training


def test_a_damaged_policy_is_named_when_evaluated_over_training(whole, tmp_path):
    run = copied(whole, tmp_path, "evaluation")
    path = checkpoint.path_of(run.policies, 3)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"update-00000003\.npz cannot be read.*Remove it"):
        policies_of(run, 3)
