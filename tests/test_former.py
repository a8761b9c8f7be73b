"""Runs and settings from before names changed: runs still open, and old names are explained."""

import json

import pytest

from dred.errors import ConfigError
from dred.former import RENAMED, modern, new_name
from dred.presets import METHODS, train_config
from dred.run_folder import RunFolder
from dred.settings import names_in, varied
from dred.tasks.gridworld.task import GRIDWORLD

CONFIG = train_config("vae-dred", "smoke", GRIDWORLD.budgets)
OLD = {
    "method": {
        "name": "accel",
        "begins_with": "nothing",
        "capacity": 48,
        "new": "empty",
        "replay": 0.8,
        "least_full": 0.5,
        "after": "edits",
        "admit": "all",
        "num_edits": 5,
        "max_clutter": 60,
    },
    "ppo": {"trace": 0.9, "final_learning_rate": 0.5, "hidden_size": 16, "encoder": "convolution"},
    "num_updates": 12,
}


def an_old_run(path):
    path.mkdir()
    told = {"kind": "TrainConfig", "config": OLD, "seeds": [0], "levels": {}, "status": "finished"}
    (path / "run.json").write_text(json.dumps(told))
    row = {"seed": 0, "update": 12, "clipped": 0.1, "divergence": 0.2}
    (path / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    return RunFolder(path)


def test_a_run_of_the_format_before_opens_with_the_names_of_today(tmp_path):
    run = an_old_run(tmp_path / "old")
    method, ppo, agent = run.config.method, run.config.ppo, run.config.agent
    assert (method.initial_buffer, method.new_level_generator) == ("empty", "empty")
    assert (method.mutation_generator, method.replay_prob) == ("edits", 0.8)
    assert method.generator_settings["edits"] == {"num_edits": 5}
    assert (ppo.gae_lambda, ppo.final_lr_fraction) == (0.9, 0.5)
    assert (agent.hidden_size, agent.encoder) == (16, "convolution")
    assert run.task is GRIDWORLD
    assert run.metrics() == [{"seed": 0, "update": 12, "clip_fraction": 0.1, "approx_kl": 0.2}]


def test_a_run_of_a_newer_format_is_refused(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "run.json").write_text(json.dumps({"format": 99, "versions": {}}))
    with pytest.raises(ConfigError, match="newer version"):
        _ = RunFolder(tmp_path / "new").record


@pytest.mark.parametrize("old", [name for name in RENAMED if "." in name])
def test_an_old_name_is_an_error_that_names_the_new_one(old):
    with pytest.raises(ConfigError, match=f"It is called {RENAMED[old]} now"):
        varied(CONFIG, {old: 1}, where="--set")


def test_every_new_name_is_a_setting():
    known = names_in(CONFIG)
    for new in RENAMED.values():
        if "." in new:
            assert new in known or new.startswith("method.generator_settings."), new
    assert new_name("trace") == "ppo.gae_lambda"
    assert new_name("nonsense") is None


def test_names_that_did_not_change_stay():
    assert modern({"num_updates": 3, "method": {"capacity": 7}}) == {
        "num_updates": 3,
        "method": {"capacity": 7},
    }
    assert METHODS["accel"].initial_buffer == "empty"
