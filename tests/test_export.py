"""An exported policy acts as the run's own, with NumPy alone."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred import exported_policy
from dred.agents.episodes import Start, same_start
from dred.agents.memory import forget
from dred.agents.rollout import roll_out
from dred.cli import main
from dred.errors import CheckpointError, ConfigError
from dred.export import columns_of, export_policy, find_policy, weights_of
from dred.levels import make
from dred.presets import train_config
from dred.run_folder import create_run
from dred.runs import Run
from dred.storage import write_file
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.saved import save_policies

STEPS, AGENTS = 250, 40  # 10 000 steps in all


@pytest.fixture(scope="module")
def seen():
    """What agents see that walk at random, and where their episodes begin."""
    levels = make("cave-escape-train", count=AGENTS, size=15).levels
    agent = GRIDWORLD.new_agent(train_config("uniform", "smoke").agent, jax.random.key(0))
    environment = GRIDWORLD.environment
    start = Start(jnp.arange(AGENTS), jnp.zeros(AGENTS, jnp.uint32))
    rollout = roll_out(
        agent,
        environment,
        environment.prepare(levels),
        start,
        length=STEPS,
        next_start=same_start,
        value_ends=False,
        key=jax.random.key(1),
    )
    return rollout.observation, rollout.begins


def a_run(tmp_path, memory, encoder):
    """A run with policies whose actions are far from equally probable."""
    config = train_config("uniform", "smoke", GRIDWORLD.budgets)
    config = replace(config, agent=replace(config.agent, memory=memory, encoder=encoder))
    path = tmp_path / "run"
    create_run(path, task="gridworld", config=config, seeds=(3, 4), levels={}, command=[])
    agents = jax.vmap(lambda key: GRIDWORLD.new_agent(config.agent, key))(
        jax.random.split(jax.random.key(2), 2)
    )
    agents = eqx.tree_at(lambda a: a.actor.weight, agents, agents.actor.weight * 300)
    run = Run(path)
    save_policies(run, 5, agents)
    return run, jax.tree.map(lambda leaf: leaf[1], agents)


@pytest.mark.parametrize("memory", ["lstm", "gru", "none"])
@pytest.mark.parametrize("encoder", ["tiles", "convolution"])
def test_ten_thousand_actions_are_those_of_the_runs_policy(memory, encoder, seen, tmp_path):
    run, agent = a_run(tmp_path, memory, encoder)
    views, begins = seen
    export_policy(run, tmp_path / "policy.npz", seed=4, update=5)
    policy = exported_policy.load(tmp_path / "policy.npz")

    def step(memory, now):
        view, begin = now
        memory, output = agent.step(forget(memory, begin), view)
        return memory, output.logits

    _, logits = jax.lax.scan(step, agent.initial_memory(AGENTS), (views, begins))
    image, direction = np.asarray(views.image), np.asarray(views.direction)
    mine, actions = policy.initial_memory(AGENTS), []
    for t in range(STEPS):
        keep = ~np.asarray(begins[t])[:, None]
        mine = tuple(part * keep for part in mine)
        _, odds = policy.step(mine, image[t], direction[t])
        np.testing.assert_allclose(odds, logits[t], rtol=1e-3, atol=1e-4)
        mine, chosen = policy.act(mine, image[t], direction[t])
        actions.append(chosen)
    expected = np.asarray(logits.argmax(axis=-1))
    np.testing.assert_array_equal(np.array(actions), expected)
    assert len(np.unique(expected)) > 2


def test_drawn_actions_follow_the_policy(seen, tmp_path):
    run, _ = a_run(tmp_path, "none", "tiles")
    export_policy(run, tmp_path / "policy.npz", update=5)
    policy = exported_policy.load(tmp_path / "policy.npz")
    views, _ = seen
    image = np.repeat(np.asarray(views.image)[0, :1], 20_000, axis=0)
    direction = np.zeros(20_000, np.int64)
    _, actions = policy.act((), image, direction, rng=np.random.default_rng(0))
    _, logits = policy.step((), image[:1], direction[:1])
    chance = np.exp(logits[0]) / np.exp(logits[0]).sum()
    np.testing.assert_allclose(np.bincount(actions, minlength=7) / 20_000, chance, atol=0.02)


def test_the_reader_is_short_and_needs_numpy_alone(tmp_path):
    file = Path(exported_policy.__file__)
    assert len(file.read_text().splitlines()) <= 100
    program = (
        "import sys, numpy; before = set(sys.modules)\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import reader\n"
        "new = {m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names\n"
        "print({m for m in new if m != 'numpy' and 'cython' not in m})"  # parts of NumPy
    )
    (tmp_path / "reader.py").write_text(file.read_text())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "{'reader'}\n", done.stderr


def test_a_damaged_policy_is_refused(tmp_path):
    agent = GRIDWORLD.new_agent(train_config("uniform", "smoke").agent, jax.random.key(0))
    write_file(tmp_path / "other.npz", columns_of(weights_of(agent)), {"kind": "something else"})
    with pytest.raises(ValueError, match="not a policy"):
        exported_policy.load(tmp_path / "other.npz")


def test_the_command_exports_and_an_agent_of_another_kind_is_refused(tmp_path, capsys, monkeypatch):
    run, _ = a_run(tmp_path, "gru", "tiles")
    main(["export", str(run.path), "--out", str(tmp_path / "p.npz"), "--update", "5"])
    assert "policy of uniform" in capsys.readouterr().out
    assert exported_policy.load(tmp_path / "p.npz").meta["seed"] == 3
    monkeypatch.setattr(Run, "policy", lambda *_, **__: Mock(agent=object()))
    with pytest.raises(ConfigError, match="cannot be exported"):
        export_policy(run, tmp_path / "q.npz")
    assert dred.runs.open(run.path).seeds == (3, 4)


def test_half_precision_halves_the_file_and_hardly_changes_what_is_done(seen, tmp_path):
    run, _ = a_run(tmp_path, "lstm", "tiles")
    export_policy(run, tmp_path / "policy.npz", update=5)
    export_policy(run, tmp_path / "half.npz", update=5, half=True)
    assert (tmp_path / "half.npz").stat().st_size < 0.6 * (tmp_path / "policy.npz").stat().st_size
    image, direction = (np.asarray(part) for part in (seen[0].image, seen[0].direction))
    actions = []
    for name in ("policy.npz", "half.npz"):
        policy = find_policy(str(tmp_path / name))
        memory = policy.initial_memory(AGENTS)
        for t in range(20):
            memory, action = policy.act(memory, image[t], direction[t])
            actions.append(action)
    assert np.mean(np.array(actions[:20]) == np.array(actions[20:])) > 0.95


def test_a_policy_can_be_named_by_its_run_and_nonsense_is_refused_with_the_choices(tmp_path):
    run, _ = a_run(tmp_path, "lstm", "tiles")
    with pytest.raises(CheckpointError, match="has no checkpoint yet"):
        find_policy(str(run.path))
    with pytest.raises(ConfigError, match="no policy that comes with dred called 'vea-dred'"):
        find_policy("vea-dred")
    (tmp_path / "x.npz").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="cannot be read as a policy"):
        find_policy(str(tmp_path / "x.npz"))
