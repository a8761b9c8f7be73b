"""The agents of a run spread over devices: the same numbers as on one, and exact continuation."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred import checkpoint
from dred.config import PPOConfig
from dred.devices import mesh_of, most_devices, placed
from dred.errors import ConfigError
from dred.levels import make
from dred.presets import train_config
from dred.run_folder import create_run
from dred.task import RunContext
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.chunk import train_chunk
from dred.training.state import new_setup, new_states, run_key
from dred.training.train import Trainer
from tests.patience import PATIENCE, stopped_after

DRED = [sys.executable, "-m", "dred.cli"]
LEVELS = make("cave-escape-train", count=12, size=9)
DATASET = Level(*(jnp.asarray(part) for part in LEVELS.levels))
PPO = PPOConfig(
    num_envs=6,
    num_steps=16,
    segment_length=8,
    epochs=2,
    num_minibatches=3,
    bootstrap=True,
)


def config_for(method, devices, ppo=PPO):
    return replace(train_config(method, "smoke", GRIDWORLD.budgets), ppo=ppo, devices=devices)


def after_an_update(method, devices, ppo=PPO):
    setup = new_setup(config_for(method, devices, ppo), GRIDWORLD)
    states = placed(new_states(setup, DATASET, (3,)), setup.mesh)
    given = RunContext(DATASET)
    return jax.device_get(train_chunk(states, jnp.stack([run_key(3)]), given, setup, 1))


def check_same_but_for_rounding(mine, other):
    one, two = (jax.tree.flatten_with_path(which)[0] for which in (mine, other))
    for (path, mine), (_, other) in zip(one, two, strict=True):
        name = jax.tree_util.keystr(path)
        if np.issubdtype(mine.dtype, np.floating):
            np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, other, err_msg=name)


@pytest.mark.parametrize("method", ["uniform", "el-dred"])
def test_two_devices_give_the_same_numbers_as_one_but_for_rounding(method):
    check_same_but_for_rounding(after_an_update(method, 1), after_an_update(method, 2))


EIGHT = """
from dred.compute import use_devices
assert use_devices(8) == 8
from tests.training.test_devices import *
ppo = replace(PPO, num_envs=8, num_minibatches=2)
one = after_an_update("el-dred", 1, ppo)
for devices in (4, 8):
    check_same_but_for_rounding(one, after_an_update("el-dred", devices, ppo))
"""


@pytest.mark.long
def test_four_and_eight_devices_give_the_same_numbers_as_one_but_for_rounding():
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", EIGHT], cwd=root, check=True, timeout=PATIENCE)


@pytest.mark.long
def test_a_run_on_two_devices_continues_bit_for_bit_after_it_was_killed(tmp_path):
    LEVELS.save(tmp_path / "train.npz")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    words = ["train", "el-dred", "--levels", tmp_path / "train.npz", "--preset", "smoke"]
    words += ["--devices", "2", "--out"]
    subprocess.run([*DRED, *map(str, words), str(whole)], check=True)
    stopped_after(checkpoint.path_of(Path(), 6).name, signal.SIGKILL, [*words, killed])
    subprocess.run([*DRED, "resume", str(killed)], check=True)
    ends = [checkpoint.checkpoints_in(path / "checkpoints") for path in (whole, killed)]
    one, other = (checkpoint.read(paths[-1]) for paths in ends)
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_segments_and_devices_are_part_of_what_a_run_restores(tmp_path):
    config = config_for("plr", 2)
    whole = Trainer(
        create_run(
            tmp_path / "x", task="gridworld", config=config, seeds=(0,), levels={}, command=[]
        ),
        LEVELS,
        None,
    )
    assert whole.run.config == config
    whole.train()
    newest = checkpoint.checkpoints_in(whole.run.checkpoints)[-1]
    newest.unlink()
    again = Trainer(whole.run, LEVELS, None)
    again.restore()
    assert again.num_updates == 9
    again.train()
    for one, other in zip(
        jax.tree.leaves(whole.states), jax.tree.leaves(again.states), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_as_many_devices_are_used_as_agents_and_minibatches_can_be_shared_out_to():
    assert most_devices(PPO, 4) == 2  # 4 does not divide six agents, nor 3 a minibatch of four
    assert most_devices(replace(PPO, num_minibatches=1), 8) == 6
    assert most_devices(PPO, 1) == 1


@pytest.mark.parametrize("devices", [-1, 3, 4])
def test_devices_that_agents_cannot_be_shared_out_to_are_refused(devices):
    with pytest.raises(ConfigError, match="devices"):
        config_for("plr", devices)


def test_more_devices_than_there_are_is_said_with_what_to_do():
    with pytest.raises(ConfigError, match="use_devices"):
        mesh_of(64)
