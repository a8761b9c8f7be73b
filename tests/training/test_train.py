"""Training runs as people have them: started, killed, continued, evaluated."""

import csv
import errno
import json
import re
import signal
import types
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred import checkpoint
from dred.cli import main
from dred.config import TrainConfig
from dred.errors import CheckpointError, ConfigError, DatasetError, UnknownNameError
from dred.evaluation import suites
from dred.evaluation.measured import read_gaps
from dred.files import OutputError
from dred.generation import fitted_generator, models_for
from dred.generators import GENERATORS
from dred.levels import make
from dred.presets import METHODS, train_config
from dred.reports.scores import read_evaluation
from dred.run_folder import create_run
from dred.runs import open_run
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training import track
from dred.training.after import measure_run
from dred.training.saved import policies_of
from dred.training.state import key_of_update, new_setup, new_states
from dred.training.train import Trainer, passes
from dred.training.update import update
from dred.training.watch import buffer_of, look_closely
from tests.commands import refused
from tests.patience import stopped_after

LEVELS = make("cave-escape-train", count=12, size=9)
ARRAYS = Level(*(jnp.asarray(part) for part in LEVELS.levels))
PROBE = train_config("uniform", "smoke", GRIDWORLD.budgets).probe
# The methods of section 3 differ in what they score by; one of them stands for all.
GRIDWORLD_METHODS = [name for name in METHODS if name not in ("value-l1", "mi", "value-l1+uniform")]
ONE_FOR_ALL = [  # the other methods take their turn in the long tests
    pytest.param(name, marks=() if name == "vae-dred" else pytest.mark.long)
    for name in GRIDWORLD_METHODS
]
# Programs that call back to Python cannot be kept, and are compiled anew in each test.
CALLS_BACK = pytest.param("resample-dred", marks=pytest.mark.long)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    LEVELS.save(folder / "train.npz")
    make("cave-escape-test", count=8, size=9).save(folder / "test.npz")
    main(["fit", "--levels", f"{folder}/train.npz", "--out", f"{folder}/vae", "--epochs", "1"])
    small = {
        "epochs": 1,
        "size": 8,
        "steps_between": [1],
        "draw_steps": 2,
        "corrections": 1,
        "ahead": 6,
    }
    dred.fit(LEVELS, out=folder / "masked", model="masked", set=small)
    dred.fit(LEVELS, out=folder / "wfc", model="wfc", set={"rounds": 1, "levels_per_round": 64})
    return folder


def words(method, files, out, *more):
    levels = ("--levels", files / "train.npz", "--out", out)
    model = fitted_generator(METHODS[method], GRIDWORLD) if method in METHODS else None
    if model:
        levels += ("--generator", files / model)
    if "mi" in method:
        levels += ("--set", "classifier.num_envs=4", "classifier.num_steps=8")
    return [str(word) for word in ("train", method, *levels, "--preset", "smoke", *more)]


def final_state(path):
    """The arrays of the last checkpoint."""
    newest = checkpoint.checkpoints_in(path / "checkpoints")[-1]
    with np.load(newest) as archive:
        return {name: archive[name] for name in archive.files}


def trainer(tmp_path, config, seeds=(0,), name="run", *, generator=None, say=lambda _: None):
    run = create_run(
        tmp_path / name, task="gridworld", config=config, seeds=seeds, levels={}, command=[]
    )
    models = models_for(config.method, GRIDWORLD, LEVELS, generator)
    return Trainer(run, LEVELS, None, models=models, say=say)


def documented_metrics():
    """The names in the table of docs/metrics.md."""
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    text = page.read_text(encoding="utf-8").split("## In Procgen")[0]
    rows = re.findall(r"^\| (`.+?`) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("agent.encoder=tile", "Did you mean 'tiles'"),
        ("agent.memory=lstn", "is not one of 'lstm', 'gru', 'none'"),
        ("method.generator_settings.edits=3", r"Name one of them: .*edits\.num_edits"),
        ("method.generator_settings.empty=3", "has none"),
        ("method.generator_settings.edits.num_edit=3", "Did you mean 'num_edits'"),
        ("method.generator_settings.edit.num_edits=3", "Did you mean 'edits'"),
    ],
)
def test_what_the_task_cannot_give_is_refused_before_the_folder_is_made(
    change, message, files, tmp_path
):
    with pytest.raises(ConfigError, match=message):
        main([*words("el-dred", files, tmp_path / "x"), "--set", change, "--debug"])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("method", GRIDWORLD_METHODS)
def test_a_run_has_a_folder_that_explains_itself(method, files, tmp_path, capsys):
    main(words(method, files, tmp_path / "x", "--held-out", files / "test.npz"))
    run = dred.runs.open(tmp_path / "x")
    assert run.record.status == "finished"
    assert run.record.levels["train"].digest == LEVELS.digest
    expected = train_config(method, "smoke", GRIDWORLD.budgets)
    if "mi" not in method:  # those with a classifier change the preset, which their name says
        assert run.config == expected
    assert run.config.method.primary == expected.method.primary
    rows = run.metrics()
    assert [row["update"] for row in rows] == [3, 6, 9, 12]
    assert rows[-1]["transitions"] == 12 * 6 * 16
    online = {"online_information", "online_accuracy"}  # of the classifier, where there is one
    left_out = {name for name in documented_metrics() if name.startswith("untrained/")}
    left_out |= {"area"}  # which says something where levels have several sizes
    left_out |= online if "mi" not in method else set()
    assert set(rows[-1]) == documented_metrics() - left_out
    assert len(checkpoint.checkpoints_in(run.checkpoints)) == 3
    assert "update 12" in capsys.readouterr().out
    kept = sorted(path.name for path in (tmp_path / "x" / "levels").iterdir())
    assert kept == ["update-00000006-seed-0.npz", "update-00000012-seed-0.npz"]
    replayed = dred.levels.load(tmp_path / "x" / "levels" / kept[-1])
    assert len(replayed.meta["probability"]) == len(replayed)


@pytest.mark.parametrize("method", ONE_FOR_ALL)
def test_killed_at_any_moment_a_run_ends_bit_for_bit_the_same(method, files, tmp_path):
    main(words(method, files, tmp_path / "whole"))
    path, todo = tmp_path / "killed", words(method, files, tmp_path / "killed")
    for updates in (3, 9):  # twice in one life
        reached = f"{path.name}/checkpoints/{checkpoint.path_of(path, updates).name}"
        stopped_after(reached, signal.SIGKILL, todo)
        newest = checkpoint.checkpoints_in(path / "checkpoints")[-1]
        assert newest.name == checkpoint.path_of(path, updates).name
        todo = ["resume", path]
    main(["resume", str(path)])
    whole, again = final_state(tmp_path / "whole"), final_state(path)
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
    assert [row["update"] for row in open_run(path).metrics()] == [3, 6, 9, 12]


def test_a_run_that_goes_on_needs_no_other_program(tmp_path):
    config = replace(train_config("plr", "smoke", GRIDWORLD.budgets), num_updates=3)
    begun = trainer(tmp_path, config)
    kinds = [kind_of(leaf) for leaf in jax.tree.leaves(begun.states)]
    begun.train()
    begun.restore()
    assert [kind_of(leaf) for leaf in jax.tree.leaves(begun.states)] == kinds


def kind_of(array):
    """What a compiled program depends on."""
    return array.shape, array.dtype, array.weak_type, array.committed, array.sharding


def test_an_interruption_finishes_the_chunk_saves_and_says_how_to_continue(files, tmp_path):
    path = tmp_path / "x"
    first = checkpoint.path_of(path / "checkpoints", 3)
    work = stopped_after(first.name, signal.SIGINT, words("uniform", files, path))
    assert work.returncode == 130
    assert f"dred resume {path}" in work.stderr
    run = open_run(path)
    assert run.record.status == "interrupted"
    newest = checkpoint.checkpoints_in(run.checkpoints)[-1]
    assert run.metrics()[-1]["update"] == int(newest.stem.split("-")[1])


@pytest.mark.parametrize("method", ["uniform", "accel", "vae-dred", CALLS_BACK])
def test_a_seed_learns_the_same_alone_and_among_others(method, files, tmp_path):
    config = replace(
        train_config(method, "smoke", GRIDWORLD.budgets),
        num_updates=3,
        evaluate_every=0,  # what is learned is compared, nothing else
        probe_every=0,
    )
    generator = files / "vae" if method == "vae-dred" else None
    alone, together = (
        trainer(tmp_path, config, seeds, name, generator=generator)
        for seeds, name in (((7,), "alone"), ((3, 7), "together"))
    )
    for one in (alone, together):
        one.train()
    for single, several in zip(
        jax.tree.leaves(alone.states), jax.tree.leaves(together.states), strict=True
    ):
        np.testing.assert_allclose(single[0], several[1], rtol=2e-3, atol=2e-5)


def test_the_buffer_of_a_run_can_be_looked_at(files, tmp_path, capsys):
    main(words("accel-d", files, tmp_path / "x"))
    saved = open_run(tmp_path / "x").buffer()
    assert (np.diff(saved.probability) <= 0).all()
    assert saved.probability.sum() == pytest.approx(1.0, abs=1e-4)
    for index in np.flatnonzero(saved.levels.structure == "dataset"):
        assert saved.levels[int(index)] == LEVELS[int(saved.number[index])]
    assert (saved.parent[saved.generation > 0] >= 0).all()
    main(["levels", "show", str(tmp_path / "x"), "--buffer", "--out", str(tmp_path / "b.png")])
    assert "levels in the buffer" in capsys.readouterr().out
    assert (tmp_path / "b.png").stat().st_size > 1000
    with pytest.raises(ConfigError, match="Add --buffer"):
        main(["levels", "show", str(tmp_path / "x"), "--out", str(tmp_path / "c.png"), "--debug"])


def test_a_method_whose_buffer_is_too_small_is_refused(tmp_path):
    small = replace(train_config("accel-d", "smoke", GRIDWORLD.budgets).method, capacity=13)
    with pytest.raises(ConfigError, match=r"room for the 12 levels .* and for 6 more"):
        trainer(
            tmp_path, replace(train_config("accel-d", "smoke", GRIDWORLD.budgets), method=small)
        )


def test_evaluation_writes_a_line_for_every_level(files, tmp_path, capsys):
    main(words("uniform", files, tmp_path / "x", "--seeds", 0, 1))
    main(["evaluate", str(tmp_path / "x"), "--suite", str(files / "test.npz"), "--episodes", "2"])
    assert "test: " in capsys.readouterr().out
    with (tmp_path / "x" / "evaluation" / "test.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["seed", "suite", "level", "episode", "solved", "return", "steps"]
    assert len(rows) == 2 * 8 * 2
    assert {row["solved"] for row in rows} <= {"0", "1"}
    policy = open_run(tmp_path / "x").policy(1)
    assert policy.agent.cell.size == 16
    with pytest.raises(ConfigError, match="not 5"):
        open_run(tmp_path / "x").policy(5)


def test_an_evaluation_goes_on_where_it_was_and_is_not_repeated(files, tmp_path, monkeypatch):
    main(words("uniform", files, tmp_path / "x", "--seeds", 0, 1))
    run = open_run(tmp_path / "x")
    levels, agents = dred.levels.load(files / "test.npz"), policies_of(run)
    task = suites.EvaluationConfig(levels.digest, update=12, episodes=2)
    whole = suites.evaluate_run(run, agents, levels, "whole", task)
    played = []

    def stop_after_three(*things):
        if len(played) == 3:
            raise KeyboardInterrupt
        played.append(things)
        return play(*things)

    play = suites._play
    monkeypatch.setattr(suites, "_play", stop_after_three)
    with pytest.raises(KeyboardInterrupt):
        suites.evaluate_run(run, agents, levels, "cut", task)
    assert not (run.path / "evaluation/cut.csv").exists()
    monkeypatch.setattr(suites, "_play", lambda *things: played.append(things) or play(*things))
    again = suites.evaluate_run(run, agents, levels, "cut", task)
    assert len(played) == 4  # of four episodes, only the one that was missing
    np.testing.assert_array_equal(again.returned, whole.returned)
    np.testing.assert_array_equal(again.solved, whole.solved)
    suites.evaluate_run(run, agents, levels, "cut", task)
    assert len(played) == 4  # nothing is done twice
    suites.evaluate_run(run, agents, levels, "cut", replace(task, greedy=True))
    assert len(played) == 8  # but another task is
    names = {path.name for path in (run.path / "evaluation").iterdir()}
    sets = ("whole", "cut", "cut-greedy")
    assert names == {f"{name}.{end}" for name in sets for end in ("csv", "json", "npz")} | {
        "index.md"
    }


def test_gaps_can_be_measured_after_the_fact(files, tmp_path, capsys):
    main(words("vae-dred", files, tmp_path / "x", "--held-out", files / "test.npz"))
    suite = ("--suite", str(files / "test.npz"))
    main(["evaluate", str(tmp_path / "x"), *suite, "--gaps"])
    said = capsys.readouterr().out
    run = open_run(tmp_path / "x")
    (kept,) = read_gaps(run, 12).values()
    for label, metric in (("GenGap ", "gen_gap"), ("ShiftGap ", "shift_gap")):
        value, error, _ = kept[metric]
        assert f"{label}{value:.3f} ± {error:.3f}" in " ".join(said.split())
    played = read_evaluation(run)["test"].returned  # the same episodes as in the suite's table
    assert kept["return/test"].value == pytest.approx(played.mean(), abs=1e-6)
    (row,) = measure_run(run, LEVELS, None, probe=PROBE)
    assert 0 <= row["mutual_information"] <= np.log(12)
    last = open_run(tmp_path / "x").metrics()[-1]
    assert row["jsd_distance"] == pytest.approx(last["jsd_distance"], abs=1e-5)


def test_makers_keep_their_names_when_a_generator_is_put_at_the_front(files, tmp_path, monkeypatch):
    path = tmp_path / "x"
    main(words("accel", files, path, "--updates", "6"))
    before = open_run(path).buffer()
    names = before.levels.structure.tolist()
    assert {"empty", "edits"} >= set(names)
    with np.load(checkpoint.checkpoints_in(path / "checkpoints")[-1]) as archive:
        assert archive["makers"].tolist() == ["dataset", "empty", "edits"]  # beside the numbers
    others = dict(GENERATORS)
    GENERATORS.clear()
    GENERATORS.update({"another": others["random"], **others})
    try:
        assert open_run(path).buffer().levels.structure.tolist() == names
        main(words("accel", files, tmp_path / "y", "--updates", "6"))
        assert open_run(tmp_path / "y").buffer().levels.structure.tolist() == names
    finally:
        GENERATORS.pop("another")


def test_checkpoints_of_old_name_makers_by_the_list_of_their_time(files, tmp_path):
    path = tmp_path / "x"
    main(words("accel", files, path))
    (newest,) = checkpoint.checkpoints_in(path / "checkpoints")[-1:]
    arrays = checkpoint.read(newest)
    old = {
        name: np.where(array == 2, 3, np.where(array == 1, 2, array))
        if "made_by" in name
        else array
        for name, array in arrays.items()
        if name != "makers" and not name.endswith((".average", ".num_unusable"))
    }
    now = open_run(path).buffer()
    checkpoint.write(newest, {}, beside=old)
    then = open_run(path).buffer()
    assert then.levels.structure.tolist() == now.levels.structure.tolist()
    np.testing.assert_allclose(then.average, then.probability, rtol=1e-5)


def test_scores_that_are_not_finite_are_reported_once(tmp_path):
    said = []
    config = train_config("plr", "smoke", GRIDWORLD.budgets)
    broken = trainer(tmp_path, config, say=said.append)
    critic = lambda states: states.learner.agent.critic.bias  # noqa: E731
    broken.states = eqx.tree_at(critic, broken.states, jnp.full((1, 1), jnp.nan))
    broken.train()
    assert len(said) == 1
    assert "not finite" in said[0]
    assert broken.run.metrics()[-1]["unusable_scores"] > 0
    assert not np.asarray(broken.states.buffer.is_scored).any()


def test_shift_is_measured_under_the_running_mean_of_the_distribution(tmp_path):
    running = trainer(tmp_path, train_config("plr", "smoke", GRIDWORLD.budgets))
    state = jax.tree.map(lambda leaf: leaf[0], running.states)
    seen = []

    @jax.jit
    def step(state):
        key = key_of_update(running.keys[0], state.num_updates)
        return update(state, context=running.context, setup=running.setup, key=key)[0]

    for _ in range(4):
        state = step(state)
        seen.append(np.asarray(state.buffer.average))
    chances = [seen[0]]  # what each update added, from the means: k m_k − (k − 1) m_(k−1)
    chances += [k * seen[k - 1] - (k - 1) * seen[k - 2] for k in range(2, 5)]
    for chance in chances:
        assert chance.sum() == pytest.approx(1.0, abs=1e-5)
        assert chance.max() > 0.5  # one level holds most of it
    assert seen[-1].max() < max(chance.max() for chance in chances)
    running.train()
    row = running.run.metrics()[-1]
    assert row["effective_levels_averaged"] > row["effective_levels"]
    average = np.asarray(running.states.buffer.average[0])
    found = look_closely(buffer_of(running.states, 0).levels.level, average, ARRAYS, GRIDWORLD)
    assert row["jsd_distance"] == pytest.approx(found["jsd_distance"], abs=1e-6)
    (again,) = measure_run(running.run, LEVELS, None, probe=PROBE)
    assert again["effective_levels_averaged"] == pytest.approx(row["effective_levels_averaged"])


def test_drift_is_told_and_holds_eta_back(files, tmp_path):
    said = []
    config = train_config("el-dred", "smoke", GRIDWORLD.budgets)
    config = replace(config, drift_limit=1e-9, drift_lowers_eta=True)
    drifting = trainer(tmp_path, config, say=said.append)
    drifting.train()
    assert "beyond the limit" in said[0]
    assert float(drifting.states.eta_scale[0]) == 0.25  # two evaluations, two halvings
    assert drifting.run.metrics()[-1]["eta"] == pytest.approx(0.5)  # one of them had happened
    calm = trainer(tmp_path, replace(config, drift_limit=1.0), name="calm", say=said.append)
    calm.train()
    assert float(calm.states.eta_scale[0]) == 1.0
    assert len(said) == 2
    with pytest.raises(ConfigError, match="drift_limit"):
        replace(config, drift_limit=1.5)


def test_a_generator_that_does_not_fit_the_levels_is_refused(files, tmp_path):
    other, small = tmp_path / "other.npz", tmp_path / "small.npz"
    make("cave-escape-train", count=12, size=9, seed=1).save(other)
    make("cave-escape-train", count=12, size=11).save(small)
    for levels, message in ((other, "other levels"), (small, "7×7 cells inside")):
        command = words("vae-dred", files, tmp_path / "x", "--debug")
        command[command.index(str(files / "train.npz"))] = str(levels)
        with pytest.raises(DatasetError, match=message):
            main(command)
    command = words("vae-dred", files, tmp_path / "x", "--debug")
    place = command.index("--generator")
    with pytest.raises(ConfigError, match="dred fit"):
        main(command[:place] + command[place + 2 :])
    with pytest.raises(ConfigError, match="Leave out --generator"):
        main(words("plr", files, tmp_path / "x", "--generator", files / "vae", "--debug"))
    assert not (tmp_path / "x").exists()
    with pytest.raises(ConfigError, match="needs a --drift-limit"):
        main(words("plr", files, tmp_path / "x", "--drift-lowers-eta", "--debug"))


def test_a_checkpoint_cut_in_half_is_told_and_the_one_before_is_taken(files, tmp_path, capsys):
    path = tmp_path / "x"
    main(words("uniform", files, path))
    whole = final_state(path)
    newest = checkpoint.checkpoints_in(path / "checkpoints")[-1]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    open_run(path).note(status="interrupted")  # else there would be nothing to do
    main(["resume", str(path)])
    assert "Falling back to the one before" in capsys.readouterr().out
    for name, array in final_state(path).items():
        np.testing.assert_array_equal(array, whole[name])


def test_a_changed_or_foreign_checkpoint_is_refused(tmp_path):
    states = new_states(
        new_setup(train_config("uniform", "smoke", GRIDWORLD.budgets), GRIDWORLD), ARRAYS, (0,)
    )
    path = tmp_path / "update-00000000.npz"
    checkpoint.save(path, states, keep=1)
    restored = checkpoint.load(path, states)
    for before, after in zip(jax.tree.leaves(states), jax.tree.leaves(restored), strict=True):
        np.testing.assert_array_equal(before, after)
    larger = replace(train_config("uniform", "smoke", GRIDWORLD.budgets).agent, hidden_size=8)
    other = new_setup(
        replace(train_config("uniform", "smoke", GRIDWORLD.budgets), agent=larger), GRIDWORLD
    )
    with pytest.raises(CheckpointError, match="a run with other settings"):
        checkpoint.load(path, new_states(other, ARRAYS, (0,)))
    with np.load(path) as archive:
        arrays = dict(archive)
    name = next(name for name in arrays if name != "meta")
    np.savez(path, **{**arrays, name: arrays[name] + 1})
    with pytest.raises(CheckpointError, match="does not match its digest"):
        checkpoint.load(path, states)


def test_what_cannot_be_trained_is_said(files, tmp_path):
    out = tmp_path / "x"
    assert "Did you mean 'uniform'?" in refused(*words("unifrm", files, out))
    assert "--updates (=0)" in refused(*words("uniform", files, out, "--updates", 0))
    assert "names a seed twice" in refused(*words("uniform", files, out, "--seeds", 1, 1))
    assert not out.exists()
    out.mkdir()
    assert "exists already" in refused(*words("uniform", files, out))
    assert "is not a run" in refused("resume", tmp_path / "none")
    with pytest.raises(UnknownNameError, match="no preset called 'huge'"):
        train_config("uniform", "huge", GRIDWORLD.budgets)


def test_levels_that_changed_since_the_run_began_are_refused(files, tmp_path):
    levels = tmp_path / "levels.npz"
    LEVELS.save(levels)
    command = ["train", "uniform", "--levels", str(levels), "--out", str(tmp_path / "x")]
    main([*command, "--preset", "smoke"])
    run = open_run(tmp_path / "x")
    run.note(status="interrupted")
    make("cave-escape-test", count=12, size=9).save(levels)
    main(["resume", str(run.path)])  # it has the levels that it was given
    make("cave-escape-test", count=12, size=9).save(run.place_of(run.record.levels["train"]))
    run.note(status="interrupted")
    with pytest.raises(SystemExit):
        main(["resume", str(run.path)])
    with pytest.raises(DatasetError, match="has changed since"):
        main(["resume", str(tmp_path / "x"), "--debug"])


def test_settings_survive_the_trip_through_json(tmp_path):
    config = train_config("dr", "laptop", GRIDWORLD.budgets)
    run = create_run(
        tmp_path / "x", task="gridworld", config=config, seeds=(1,), levels={}, command=[]
    )
    assert isinstance(run.config, TrainConfig)
    assert run.config == config
    (tmp_path / "x" / "run.json").write_text("{")
    with pytest.raises(ConfigError, match="is damaged"):
        open_run(tmp_path / "x")


def test_a_line_cut_short_in_the_metrics_is_left_out(tmp_path):
    run = create_run(
        tmp_path / "x",
        task="gridworld",
        config=train_config("dr", "smoke", GRIDWORLD.budgets),
        seeds=(0,),
        levels={},
        command=[],
    )
    run.append_metrics([{"update": 3}, {"update": 6}])
    with (tmp_path / "x" / "metrics.jsonl").open("a") as stream:
        stream.write('{"update": 9, "lo')
    assert run.metrics() == [{"update": 3}, {"update": 6}]
    run.cut_metrics(3)
    assert json.loads((tmp_path / "x" / "metrics.jsonl").read_text()) == {"update": 3}


def test_intervals_are_passed_once_each():
    assert [passes(a, a + 10, 25) for a in range(0, 60, 10)] == [
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    assert not passes(0, 100, 0)


def test_a_state_is_one_pytree_of_arrays():
    states = new_states(
        new_setup(train_config("accel", "smoke", GRIDWORLD.budgets), GRIDWORLD), ARRAYS, (0, 1)
    )
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(states))
    assert jnp.array_equal(states.num_updates, jnp.zeros(2, jnp.int32))


class FakeTracker:
    """Stands in for TensorBoard's writer and for a run of W&B."""

    def __init__(self, *where):
        self.where, self.seen = where, []

    def add_scalar(self, name, value, step, *, description):
        assert description, name  # every metric is declared, with its meaning
        self.seen.append((name, value, step))

    def flush(self):
        pass

    def log(self, row):
        self.seen += [(name, value, row["update"]) for name, value in row.items()]


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_metrics_can_be_tracked_elsewhere(name, files, tmp_path, monkeypatch):
    made = []

    def make_fake(*where, **_):
        made.append(FakeTracker(*where))
        return made[-1]

    module = {"tensorboard": "tensorboard.summary", "wandb": "wandb"}[name]
    fake = types.SimpleNamespace(Writer=make_fake, init=make_fake)
    monkeypatch.setattr(track, "import_module", {module: fake}.__getitem__)
    main(words("uniform", files, tmp_path / "x", "--track", name))
    steps = [step for name, _, step in made[0].seen if name == "loss/policy"]
    assert steps == [3, 6, 9, 12]
    assert all(isinstance(value, int | float) for _, value, _ in made[0].seen)


def test_a_tracker_that_is_missing_or_unknown_is_said(files, tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(track, "import_module", missing)
    with pytest.raises(ConfigError, match=r"pip install .*\[track\]'"):
        main([*words("uniform", files, tmp_path / "x", "--track", "wandb"), "--debug"])
    with pytest.raises(UnknownNameError, match="tensorboard"):
        main([*words("uniform", files, tmp_path / "y", "--track", "tensorbord"), "--debug"])
    assert not (tmp_path / "y").exists()


def test_a_full_disk_is_said_and_the_run_can_go_on_later(files, tmp_path, monkeypatch):
    path = tmp_path / "x"
    save, saved = np.savez, []

    def full_the_fourth_time(stream, **arrays):
        saved.append(1)
        if len(saved) == 4:  # a policy and a checkpoint, then a policy
            stream.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(stream, **arrays)

    monkeypatch.setattr(checkpoint.np, "savez", full_the_fourth_time)
    with pytest.raises(OutputError, match="no space left"):
        main([*words("plr", files, path), "--debug"])
    assert [p.name for p in (path / "checkpoints").iterdir()] == ["update-00000003.npz"]
    main(["resume", str(path)])
    main(words("plr", files, tmp_path / "whole"))
    for name, array in final_state(tmp_path / "whole").items():
        np.testing.assert_array_equal(array, final_state(path)[name], err_msg=name)
