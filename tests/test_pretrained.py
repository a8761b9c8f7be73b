"""The policies that come with dred."""

import numpy as np
import pytest

from dred import pretrained
from dred.cli import main
from dred.errors import CheckpointError, UnknownNameError
from dred.levels import make
from dred.tasks.gridworld.gym import CaveEscapeVector


@pytest.mark.parametrize("name", pretrained.catalogue())
def test_a_policy_is_the_one_that_was_measured_and_small(name):
    policy = pretrained.load(name)
    assert policy.meta["digest"] == pretrained.catalogue()[name]["digest"]
    assert policy.meta["method"] == name
    assert (pretrained.FOLDER / f"{name}.npz").stat().st_size < 1_000_000


def test_vae_dred_solves_nearly_all_levels_that_nobody_trained_on_with_numpy_alone():
    levels = make("cave-escape-validation", count=40)
    envs = CaveEscapeVector(num_envs=40, levels=levels)
    policy, rng = pretrained.load("vae-dred"), np.random.default_rng(0)
    memory = policy.initial_memory(40)
    seen, _ = envs.reset(seed=0, options={"level": np.arange(40)})
    best, over = np.zeros(40), np.zeros(40, bool)
    for _ in range(250):
        memory, action = policy.act(memory, seen["image"], seen["direction"], rng)
        seen, reward, terminated, truncated, _ = envs.step(action)
        best = np.where(over, best, np.maximum(best, reward))
        over |= terminated | truncated
        if over.all():
            break
    assert np.mean(best > 0) >= 0.9


def test_a_policy_that_was_changed_and_a_name_that_is_none_are_refused(monkeypatch):
    changed = {"uniform": {**pretrained.catalogue()["uniform"], "digest": "0" * 64}}
    monkeypatch.setattr(pretrained, "catalogue", lambda: changed)
    with pytest.raises(CheckpointError, match="not the one that came with dred"):
        pretrained.load("uniform")
    with pytest.raises(UnknownNameError, match="uniform"):
        pretrained.load("unifrm")


def test_the_list_tells_what_each_policy_solves(capsys):
    main(["pretrained"])
    said = " ".join(capsys.readouterr().out.split())
    assert "vae-dred" in said and "98." in said
