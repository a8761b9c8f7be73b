"""Any Gymnasium environment as a task: levels, actions, exact continuation, processes, tables."""

import builtins
import gc
import importlib
import json
from dataclasses import replace

import gymnasium
import jax
import numpy as np
import pandas
import pytest
from gymnasium import spaces

import dred
from dred import checkpoint, progress
from dred.cli import main
from dred.config import AgentConfig
from dred.errors import CheckpointError, ConfigError, DatasetError, DredError
from dred.host import HostEnvironment, new_ongoing, rows
from dred.host_rollout import roll_out_on_host
from dred.level_table import LevelTable
from dred.task import Task
from dred.tasks.hosted.recipe import located
from dred.tasks.hosted.spaces import Spaces
from dred.tasks.vectors.table import READERS, read_table
from tests.tasks.hosted import worlds

LEVELS = LevelTable(
    {
        "length": np.array([1, 2, 3, 5], np.float32),
        "pay": np.array([0.0, 0.5, 1.0, 0.3], np.float32),
    }
)


def task_of(make=worlds.make_walk, **more):
    return dred.tasks.gymnasium(make, levels=LEVELS, box=worlds.BOX, **more)


def opened(count=4, seed=0, make=worlds.make_walk, **more):
    slots = task_of(make, **more).environment.open(count, seed=seed)
    slots.reset_to(rows(LEVELS.levels, np.arange(count) % 4))
    return slots


def again(ended):
    return rows(LEVELS.levels, ended % 4)


def played(slots, steps, seed=0, numbers=0):
    random = np.random.default_rng(seed)
    shape = (slots.num_envs, numbers) if numbers else (slots.num_envs,)
    found = []
    for _ in range(steps):
        action = (
            random.normal(size=shape).astype(np.float32)
            if numbers
            else random.integers(3, size=shape)
        )
        found.append(slots.step(action, again))
    return found


def assert_same(one, two):
    for first, second in zip(one, two, strict=True):
        for name in ("observation", "reward", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("more", [{}, {"set_level": worlds.set_level}], ids=["options", "function"])
def test_every_slot_plays_the_level_it_is_told_to(more):
    slots = opened(**more)
    moments = played(slots, 10)
    lengths = LEVELS.levels["length"]
    ended = np.array([moment.terminated for moment in moments])
    for slot in range(4):
        np.testing.assert_array_equal(ended[:, slot], np.arange(1, 11) % lengths[slot] == 0)
    np.testing.assert_allclose(moments[0].reward, LEVELS.levels["pay"] / 6, rtol=1e-6)


def test_a_hosted_environment_is_a_simulator_on_the_host():
    task = task_of(solved=0.5)
    assert isinstance(task, Task) and isinstance(task.environment, HostEnvironment)
    assert task.environment.num_actions == 3
    assert list(task.is_solved(jax.numpy.array([0.4, 0.5]))) == [False, True]


def test_chance_differs_between_slots_episodes_and_seeds_and_is_the_same_by_seed():
    first = [slots.observe().observation[:, 0] for slots in (opened(), opened(), opened(seed=1))]
    np.testing.assert_array_equal(first[0], first[1])
    assert len(np.unique(np.concatenate([first[0], first[2]]))) == 8
    slots = opened(1)
    starts = [moment.observation[0, 0] for moment in played(slots, 4)]  # episodes of one step
    assert len(np.unique(starts)) == 4


@pytest.mark.parametrize(("make", "numbers"), [(worlds.make_walk, 0), (worlds.make_push, 2)])
def test_saved_in_the_middle_of_episodes_slots_go_on_exactly(make, numbers):
    slots = opened(make=make)
    played(slots, 7, numbers=numbers)
    saved = {name: np.array(array) for name, array in slots.save().items()}
    assert set(saved) == set(task_of(make).environment.saved)
    other = task_of(make).environment.open(4)
    other.restore(saved)
    assert_same([slots.observe()], [other.observe()])
    assert_same(played(slots, 9, 1, numbers), played(other, 9, 1, numbers))


def test_an_environment_that_does_not_repeat_itself_is_noted_when_a_run_goes_on():
    slots = opened(make=worlds.Forgetful)
    with pytest.warns(UserWarning, match="not exactly as it would have"):
        task_of(worlds.Forgetful).environment.open(4).restore(slots.save())
    with pytest.raises(CheckpointError, match="other settings"):
        task_of().environment.open(3).restore(slots.save())
    with pytest.raises(ConfigError, match="no episode has begun"):
        task_of().environment.open(2).observe()


def test_the_critic_judges_the_last_state_of_episodes_that_run_out_of_time():
    task, slots = task_of(worlds.Late), opened(make=worlds.Late)
    agent = task.new_agent(AgentConfig(memory="none", hidden_size=8), jax.random.key(0))
    ongoing = new_ongoing(agent, jax.numpy.arange(4))
    again = np.broadcast_to(np.arange(4), (6, 4))
    rollout = roll_out_on_host(
        agent, slots, LEVELS.levels, ongoing, again, key=jax.random.key(1)
    ).rollout
    found, ran_out = np.asarray(rollout.end_value), np.asarray(rollout.truncated)
    np.testing.assert_array_equal(ran_out[:, 1], [False, True] * 3)
    assert (found[~ran_out] == 0).all() and (found[ran_out] != 0).all()
    # The last state of slot 1's first episode: one step later, and what was done (from 1 on).
    later, done = rollout.observation[1, 1, 0] + 1.0, int(rollout.action[1, 1]) + 1.0
    last = jax.numpy.array([[later, done]], jax.numpy.float32)
    value = agent.step(agent.initial_memory(1), last)[1].value
    np.testing.assert_allclose(found[1, 1], value[0], rtol=1e-5)


def test_environments_are_used_again_when_nobody_plays_in_them():
    environment = task_of().environment
    first = environment.open(2).players
    gc.collect()
    assert environment.open(2).players is first
    kept = environment.open(2)
    assert environment.open(2).players is not kept.players


def test_in_other_processes_everything_goes_the_same_way():
    here, there = opened(3), opened(3, processes=2)
    assert_same([here.observe()], [there.observe()])
    assert_same(played(here, 6), played(there, 6))
    saved = there.save()
    there.restore(saved)
    assert_same(played(here, 3, 1), played(there, 3, 1))
    there.players.close()
    failing = opened(2, make=worlds.make_failing, processes=1)
    failing.step(np.zeros(2, np.int64), again)
    with pytest.raises(DredError, match="gears are stuck"):
        played(failing, 2)
    failing.players.close()


def test_what_another_process_cannot_import_is_refused():
    with pytest.raises(ConfigError, match="at the top of a file"):
        opened(make=lambda: worlds.Walk(), processes=1)
    assert located(worlds.make_walk) == "tests.tasks.hosted.worlds:make_walk"
    assert located("CartPole-v1") == "CartPole-v1"
    with pytest.raises(ConfigError, match="no function 'nothing'"):
        opened(make="tests.tasks.hosted.worlds:nothing")
    with pytest.raises(ConfigError, match="processes"):
        task_of(processes=-1)


def test_one_of_several_actions_begins_where_the_environment_says():
    slots = opened(1)
    slots.step(np.array([0]), again)
    assert slots.players.envs[0].seen == [1]


def test_numbers_between_minus_one_and_one_reach_the_bounds_of_the_environment():
    act = Spaces(None, worlds.Push.action_space).done
    np.testing.assert_allclose(act(np.array([-1.0, -1.0])), [-2.0, 0.0])
    np.testing.assert_allclose(act(np.array([0.0, 0.5])), [0.0, 0.75])
    np.testing.assert_allclose(act(np.array([9.0, -9.0])), [2.0, 0.0])
    free = Spaces(None, spaces.Box(-np.inf, np.inf, (1,))).done
    np.testing.assert_allclose(free(np.array([7.5])), [7.5])


def test_what_is_seen_is_numbers_side_by_side():
    both = spaces.Dict({"place": spaces.Box(0, 1, (2,)), "kind": spaces.Discrete(3)})
    found = Spaces(both, None)
    assert found.num_seen == 5
    seen = found.seen({"place": np.array([0.5, 0.25], np.float32), "kind": 1})
    np.testing.assert_allclose(seen, [0, 1, 0, 0.5, 0.25])
    with pytest.raises(ConfigError, match="neither one of several"):
        _ = Spaces(None, spaces.MultiBinary(3)).num_actions
    with pytest.raises(ConfigError, match="no fixed number"):
        _ = Spaces(spaces.Sequence(spaces.Discrete(2)), None).num_seen


def test_an_id_of_gymnasiums_is_enough_to_make_an_environment():
    task = dred.tasks.gymnasium("CartPole-v1", box={"gravity": (5.0, 15.0)})
    assert task.name == "gymnasium/CartPole-v1"
    assert task.environment.num_actions == 2
    assert task.default_levels is None
    assert isinstance(task.environment.recipe.new_env(), gymnasium.Env)


def test_pictures_are_the_environments_own():
    assert task_of().pictures.draw_level(LEVELS[0], size=60).shape == (40, 60, 3)
    assert task_of(worlds.make_push).pictures is None  # its function takes no render_mode
    with pytest.raises(ConfigError, match="did not draw itself"):
        task_of(worlds.Blind).pictures.draw_level(LEVELS[0], size=60)


def test_a_table_of_which_nothing_is_known_gives_its_numbers(tmp_path):
    frame = pandas.DataFrame({"name": ["a", "b"], "mass": [1.0, 2.5], "count": [3, 4]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    one, two = (read_table(tmp_path / f"x.{kind}") for kind in ("csv", "parquet"))
    assert list(one.columns) == ["count", "mass"]
    assert one.digest == two.digest
    one.save(tmp_path / "x.npz")
    assert read_table(tmp_path / "x.npz").digest == one.digest
    task = dred.tasks.gymnasium(worlds.make_walk, levels=tmp_path / "x.parquet")
    assert task.level_format.load(tmp_path / "x.csv").digest == one.digest
    assert [(p.low, p.high) for p in task.level_format.box.parameters] == [
        pytest.approx((2.9, 4.1)),
        pytest.approx((0.85, 2.65)),
    ]


def test_tables_that_are_wrong_are_refused_in_a_paragraph(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("name\na\n")
    with pytest.raises(DatasetError, match="no column of numbers"):
        read_table(tmp_path / "x.csv")
    (tmp_path / "same.csv").write_text("mass,size\n1,2\n1,3\n")
    with pytest.raises(ConfigError, match="the same mass"):
        dred.tasks.gymnasium(worlds.make_walk, levels=tmp_path / "same.csv")
    (tmp_path / "no.parquet").write_text("this is no Parquet file")
    with pytest.raises(DatasetError, match="is not a Parquet file"):
        read_table(tmp_path / "no.parquet")
    with pytest.raises(ConfigError, match="levels=, a table"):
        dred.tasks.gymnasium(worlds.make_walk)
    with pytest.raises(ConfigError, match="low and a high"):
        dred.tasks.gymnasium(worlds.make_walk, box={"mass": (2.0, 1.0)})
    with pytest.raises(DatasetError, match="no column 'length'"):
        dred.tasks.gymnasium(
            worlds.make_walk, levels=read_table(tmp_path / "same.csv"), box=worlds.BOX
        )

    def missing(name, *rest):
        if name == "pyarrow":
            raise ModuleNotFoundError(name=name)
        return builtins.__import__(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DatasetError, match=r"'pyarrow' is needed.*tables.*CSV"):
        READERS[".parquet"](tmp_path / "no.parquet")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    (folder / "task.py").write_text(
        "import dred\n"
        "from tests.tasks.hosted import worlds\n"
        "walk = dred.tasks.gymnasium(worlds.make_walk, box=worlds.BOX, name='walk')\n"
        "push = dred.tasks.gymnasium(worlds.make_push, box=worlds.BOX, name='push')\n"
    )
    LEVELS.save(folder / "levels.npz")
    return folder


def trained(files, out, method, which="walk", **more):
    return dred.train(
        method,
        levels=files / "levels.npz",
        task=f"{files / 'task.py'}:{which}",
        out=out,
        preset="smoke",
        set={"ppo.num_steps": 8, **more},
    )


@pytest.mark.long
def test_levels_are_generated_scored_and_admitted_on_the_host_and_a_run_goes_on_exactly(
    files, tmp_path
):
    """Edits from scored levels; stopped after the first update and continued, bit for bit."""
    method = dred.Method("mine", capacity=12, mutation_generator="edits", admit="all")
    run = trained(files, tmp_path / "whole", method)
    buffer = run.buffer()
    assert set(buffer.levels.structure) == {"dataset", "edits"}
    assert 0 <= run.metrics()[-1]["jsd_distance"] <= 1
    other = tmp_path / "stopped"
    config = run.config
    from dred.training.begin import Inputs, begin_run, train_run

    name = f"{files / 'task.py'}:walk"
    begun = begin_run(
        other,
        config,
        Inputs(files / "levels.npz"),
        task=run.task,
        task_name=name,
        seeds=(0,),
        command=[],
    )
    train_run(begun, until=1)
    main(["resume", str(other)])
    whole, again = (
        checkpoint.read(checkpoint.checkpoints_in(path / "checkpoints")[-1])
        for path in (run.path, other)
    )
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


def test_domain_randomisation_draws_from_the_box_on_the_host_with_numbers_as_actions(
    files, tmp_path
):
    run = trained(files, tmp_path / "dr", replace(dred.config.Method("x"), **DR), which="push")
    found = run.buffer().levels
    assert set(found.structure) == {"random"}
    for name, (low, high) in worlds.BOX.items():
        assert low <= found.columns[name].min() < found.columns[name].max() <= high


DR = {
    "name": "small-dr",
    "initial_buffer": "empty",
    "warm_up": False,
    "learn_on": "new",
    "new_level_generator": "random",
    "capacity": 12,
    "admit": "all",
}


def test_the_benchmark_tells_of_jax_gymnasium_and_the_adapter(monkeypatch, capsys):
    from dred.benchmarks import control

    small = {"BATCHES": (2,), "STEPS": 8, "HOST_ENVS": 2, "HOST_STEPS": 3, "PROCESSES": (0,)}
    for name, value in small.items():
        monkeypatch.setattr(control, name, value)
    monkeypatch.setattr(progress, "QUIET", 0.0)  # lines at once, as where it takes long
    main(["bench", "control", "--json", "--repeats", "1"])
    said = capsys.readouterr()
    assert "measuring: 1 of 1 rounds" in said.err
    rows = json.loads(said.out)["rows"]  # nothing else is there
    assert len(rows) == 6 and all(row["steps_per_second"] > 0 for row in rows)
    assert [row["what"].split()[0] for row in rows] == ["dred", "gymnasium"] * 2 + [
        "gymnasium",
        "host",
    ]
