"""Runs and settings from before names changed: runs still open, and old names are explained."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dred.cli import main
from dred.config import TrainConfig
from dred.errors import ConfigError
from dred.former import RENAMED, modern, new_name, with_modern_names
from dred.presets import METHODS, train_config
from dred.run_folder import RunFolder
from dred.runs import open_run
from dred.settings import names_in, read_settings, varied
from dred.tasks.gridworld.task import GRIDWORLD
from dred.tasks.procgen.presets import PROCGEN_BUDGETS

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


# What follows was made by the version before: `settings-format-1.json` has the settings of all its
# methods and presets, `run-format-1` a run of accel-d, stopped after 3 of 6 updates.
GOLDEN = Path(__file__).parent / "golden"
OLD_SETTINGS = json.loads((GOLDEN / "settings-format-1.json").read_text())


@pytest.fixture
def old_run(tmp_path):
    """A copy of the old run, as if it had been made here."""
    path = shutil.copytree(GOLDEN / "run-format-1", tmp_path / "old")
    told = json.loads((path / "run.json").read_text())
    told["levels"]["train"]["path"] = str(path / "train.npz")
    (path / "run.json").write_text(json.dumps(told))
    return path


@pytest.mark.parametrize("name", OLD_SETTINGS["train"])
def test_settings_of_old_runs_equal_the_same_settings_of_today(name):
    config = read_settings(TrainConfig, modern(OLD_SETTINGS["train"][name]), where="old")
    method, preset = name.split()
    assert config == train_config(method, preset, GRIDWORLD.budgets)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("strategy.replay", "method.replay_prob"),
        ("strategy.eta.end", "method.eta.end"),
    ],
)
def test_an_old_name_in_procgen_is_explained(old, new):
    config = train_config("mi", "smoke", PROCGEN_BUDGETS)
    with pytest.raises(ConfigError, match=rf"It is called {new} now"):
        varied(config, {old: 0.5}, where="--set")


def test_an_old_run_in_procgen_says_what_to_do(tmp_path):
    (tmp_path / "run.json").write_text(
        json.dumps({"format": 2, "kind": "ProcgenConfig", "config": {}, "seeds": [0]})
    )
    with pytest.raises(ConfigError, match="train again with --task procgen/GAME"):
        _ = RunFolder(tmp_path).config


def test_an_old_file_that_names_no_encoder_had_the_released_one():
    assert modern({"ppo": {"epochs": 5}})["agent"] == {"encoder": "convolution"}


def test_policies_of_an_old_run_are_its_own(old_run):
    run = open_run(old_run)
    with np.load(old_run / "policies" / "update-00000003.npz") as archive:
        weight = archive["004.network.lstm.input_weight"][0]
    for policy in (run.policy(), run.policy(update=3)):
        np.testing.assert_array_equal(policy.agent.cell.input_weight, weight)


def test_an_old_run_is_evaluated_resumed_and_reported(old_run, tmp_path):
    suite = ["--suite", str(old_run / "train.npz")]
    main(["evaluate", str(old_run), *suite])
    main(["resume", str(old_run)])
    run = open_run(old_run)
    assert run.record.status == "finished"
    assert [row["update"] for row in run.metrics()] == [3, 6]
    assert "clip_fraction" in run.metrics()[0]
    assert set(run.buffer().levels.structure) <= {"dataset", "edits"}
    main(["evaluate", str(old_run), *suite])
    main(["report", str(old_run), "--out", str(tmp_path / "report"), "--episodes", "0"])
    assert "accel-d" in (tmp_path / "report" / "report.html").read_text()


def test_names_are_translated_only_where_old_ones_are_needed():
    mine = {"000.agent.lstm.weight": 1}  # an agent of one's own may have a part of that name
    assert with_modern_names(mine, ["000.agent.lstm.weight"]) == mine
    assert with_modern_names(mine, ["000.agent.cell.weight"]) == {"000.agent.cell.weight": 1}
