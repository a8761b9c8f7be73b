"""The Python of a notebook: fit, train, evaluate, act; results that print and go further."""

import json
import sys
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred import progress
from dred.cli import main
from dred.errors import ConfigError, DredError, UnknownNameError
from dred.levels import make
from dred.policy import Policy
from dred.presets import train_config
from dred.rows import Rows
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training import shown

QUICK = {"evaluate_every": 0, "probe_every": 0}


@pytest.fixture(scope="module")
def levels():
    return make("cave-escape-train", count=12, size=9)


@pytest.fixture(scope="module")
def run(levels, tmp_path_factory):
    out = tmp_path_factory.mktemp("api") / "x"
    return dred.train(
        "plr", levels=levels, out=out, preset="smoke", updates=3, seeds=(0, 1), set=QUICK
    )


@pytest.fixture(scope="module")
def policy():
    config = train_config("uniform", "smoke", GRIDWORLD.budgets).agent
    agent = GRIDWORLD.new_agent(config, jax.random.key(0))
    return Policy(agent, GRIDWORLD.from_gym)


def test_a_generator_is_fitted_used_and_not_fitted_again(levels, tmp_path, monkeypatch):
    out = tmp_path / "vae"
    generator = dred.fit(levels, out=out, set={"epochs": 1})
    assert generator.path == out
    assert generator.dataset.digest == levels.digest
    assert json.loads((out / "generator.json").read_text())["config"]["epochs"] == 1
    monkeypatch.setattr("dred.tasks.gridworld.generators.vae.whole.fit_on", None)
    assert dred.fit(levels, out=out, set={"epochs": 1}).path == out  # nothing is fitted
    with pytest.raises(ConfigError, match="not a generator that was fitted to these levels"):
        dred.fit(levels, out=out, set={"epochs": 2})
    monkeypatch.setattr("dred.api.train_shown", lambda run: None)
    run = dred.train("vae-dred", levels=levels, generator=generator, out=tmp_path / "x")
    assert run.record.generator.path == "given/generator"  # a copy, which moves with the run


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "vea"}, "Did you mean 'vae'"),
        ({"preset": "defualt"}, "Did you mean 'default'"),
        ({"set": {"epoch": 1}}, "Did you mean 'epochs'"),
        ({"set": {"epochs": "many"}}, "expected a whole number"),
    ],
)
def test_a_fit_that_cannot_be_is_one_paragraph_and_leaves_nothing(wrong, message, levels, tmp_path):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        dred.fit(levels, out=tmp_path / "vae", **wrong)
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_there_goes_on_only_with_the_same_settings(run, levels):
    options = {"levels": levels, "out": run.path, "preset": "smoke", "seeds": (0, 1)}
    again = dred.train("plr", updates=3, set=QUICK, **options)
    assert again.metrics() == run.metrics()
    with pytest.raises(ConfigError, match=r"ppo.epochs 2, not 1"):
        dred.train("plr", updates=3, set={**QUICK, "ppo.epochs": 1}, **options)
    with pytest.raises(ConfigError, match=r"seeds \[0, 1\], not \[3\]"):
        dred.train("plr", updates=3, set=QUICK, **{**options, "seeds": (3,)})
    with pytest.raises(ConfigError, match="the method 'plr', not 'mine'"):
        dred.train(dred.Method("mine"), updates=3, set=QUICK, **options)


def test_an_evaluation_is_a_table_to_index_print_and_take_further(run, levels):
    table = dred.evaluate(run, suites={"all": levels, "few": levels[:5]})
    assert list(table) == ["all", "few"]
    assert table["few"].solved.shape == table["few"].returned.shape == (10,)  # of two seeds
    with pytest.raises(UnknownNameError, match="few"):
        table["fwe"]
    header, *lines = str(table).splitlines()
    assert header.split() == ["suite", "seed", "levels", "solved", "mean", "return"]
    assert [line.split()[:3] for line in lines] == [
        ["all", "0", "12"],
        ["all", "1", "12"],
        ["few", "0", "5"],
        ["few", "1", "5"],
    ]
    assert "<td>few</td>" in table._repr_html_()
    assert len(table.episodes) == 2 * (12 + 5)
    assert table.episodes[0].keys() == {
        *("seed", "suite", "level", "episode", "solved", "return", "steps")
    }
    assert "plr, 3 of 3 updates, finished" in str(run)


def test_rows_turn_into_a_frame_or_say_what_is_missing(monkeypatch):
    rows = Rows([{"a": 1, "b": 0.123456}, {"a": 2, "c": "<x>"}])
    assert str(rows).splitlines() == ["a  b       c", "1  0.1235", "2          <x>"]
    assert "&lt;x&gt;" in rows._repr_html_()
    assert len(str(Rows({"a": i} for i in range(500))).splitlines()) < 30
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DredError, match=r"pip install 'dred\[tables\]'"):
        rows.to_pandas()


def test_rows_are_a_frame_where_pandas_is_installed():
    pandas = pytest.importorskip("pandas")
    frame = Rows([{"a": 1, "b": 0.5}, {"a": 2}]).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["a", "b"] and frame["a"].tolist() == [1, 2]


def test_a_policy_acts_alike_for_one_agent_and_for_many(policy, levels):
    env = gymnasium.make("dred/CaveEscape-v0", levels=levels)
    seen, _ = env.reset(seed=0, options={"level": 3})
    one, many = policy.initial_memory(), policy.initial_memory(2)
    twice = {name: np.stack([value, value]) for name, value in seen.items()}
    for _ in range(3):
        one, action = policy.act(one, seen)
        many, actions = policy.act(many, twice)
        assert action.shape == () and actions.tolist() == [int(action)] * 2
    forgotten = policy.forget(many, jnp.array([True, False]))
    assert not np.any(forgotten[0][0]) and np.any(forgotten[0][1])


def test_a_policy_acts_on_views_of_jax_within_compiled_code(policy, levels):
    game = dred.envs.Gridworld()
    state, view = game.reset_to(levels[0], key=jax.random.key(0))

    @jax.jit
    def act(policy, view, key):
        return policy.act(policy.initial_memory(), view, key=key)[1]

    keys = jax.random.split(jax.random.key(1), 400)
    actions = np.array(jax.vmap(act, in_axes=(None, None, 0))(policy, view, keys))
    _, output = policy.agent.step(
        policy.agent.initial_memory(1), jax.tree.map(lambda leaf: leaf[None], view)
    )
    expected = np.asarray(jax.nn.softmax(output.logits[0]))
    found = np.bincount(actions, minlength=len(expected)) / 400
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert game.step(state, int(actions[0])).state is not None


def test_progress_is_shown_in_notebooks(monkeypatch):
    made = []

    class Console:
        is_terminal, is_jupyter = False, True

        def __init__(self, **_):
            made.append(self)

    seen = []
    monkeypatch.setattr(progress, "Console", Console)
    monkeypatch.setattr(
        progress, "Progress", lambda *_, disable, **__: seen.append(disable) or Bar()
    )
    with progress.bar("x", 3, unit="things") as advance:
        advance(1)
    Console.is_jupyter = False
    with progress.bar("x", 3, unit="things"):
        pass
    assert seen == [False, True]


class Bar:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def add_task(self, *_, **__):
        return 0

    def update(self, *_, **__):
        return None


def test_training_from_python_advances_a_bar(levels, tmp_path, monkeypatch):
    told = []

    def train_run(run, *, begun, tell, until, at_once):
        begun(0, 12)
        tell(shown.Progress(6, 0.5, 100.0, 0.25))

    class Advances:
        def __enter__(self):
            return lambda amount, note="": told.append((amount, note))

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(shown, "train_run", train_run)
    monkeypatch.setattr(shown.progress, "bar", lambda *_, **__: Advances())
    dred.train("uniform", levels=levels, out=tmp_path / "x", preset="smoke")
    assert told[-1] == (6, "50.0% solved in replayed levels, 100 steps/s")


def test_training_until_an_update_and_on_ends_as_in_one_go(run, levels, tmp_path):
    levels.save(tmp_path / "train.npz")
    words = ["train", "plr", "--levels", tmp_path / "train.npz", "--out", tmp_path / "y"]
    words += ["--preset", "smoke", "--updates", "6", "--set", "evaluate_every=0", "probe_every=0"]
    words += ["--devices", "1"]
    main([*map(str, words), "--until", "2"])
    stopped = dred.runs.open(tmp_path / "y")
    assert [row["update"] for row in stopped.metrics()] == [3]  # whole chunks
    assert "solved_rate/train" in stopped.metrics()[-1]  # measured where it stops
    assert stopped.record.status == "interrupted"
    main(["resume", str(stopped.path)])
    main([*map(str, words[:5]), str(tmp_path / "z"), *map(str, words[6:])])
    halves, whole = (dred.runs.open(tmp_path / name) for name in ("y", "z"))
    last, expected = ({**one.metrics()[-1]} for one in (halves, whole))
    times = ("seconds", "seconds_per_update")
    assert {k: v for k, v in last.items() if k not in times} == {
        k: v for k, v in expected.items() if k not in times
    }
    with warnings.catch_warnings(), pytest.raises(SystemExit):
        main(["resume", str(stopped.path), "--until", "0"])
