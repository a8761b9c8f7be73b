"""Devices: physics against a slow restatement, sets, generators, shift, and runs as people do."""

import signal
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred import checkpoint
from dred.cli import main
from dred.errors import CheckpointError, ConfigError, DatasetError
from dred.evaluation.shift import jensen_shannon
from dred.evaluation.sources import source_distances
from dred.task import GeneratorInput
from dred.tasks.control.cartpole import CARTPOLE, TRACK
from dred.tasks.control.environment import EPISODE, PARTS, PUSHES, STEP, ControlEnvironment
from dred.tasks.control.levels import COUNTS, make
from dred.tasks.control.pendulum import PENDULUM
from dred.tasks.control.system import MAX_DELAY
from dred.tasks.control.task import control_task
from dred.tasks.vectors.generators import KernelConfig, NudgeConfig, in_unit
from dred.tasks.vectors.shift import BINS, pair_histograms
from dred.tasks.vectors.table import VectorFormat
from tests.patience import stopped_after

SYSTEMS = [PENDULUM, CARTPOLE]
by_name = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)


def world_of(system, **changes):
    """One device, of the middle of the box unless said otherwise."""
    middle = {one.name: (one.low + one.high) / 2 for one in system.parameters}
    return {name: jnp.array([value], jnp.float32) for name, value in (middle | changes).items()}


def played(system, world, actions, body=None):
    """The states and transitions of a device under these actions."""
    environment = ControlEnvironment(system=system)
    state = environment.reset(world, jnp.int32(0), bits=jnp.uint32(3))
    if body is not None:
        state = replace(state, body=jnp.array(body, jnp.float32))
    states, steps = [state], []
    step = jax.jit(environment.step)
    for action in actions:
        steps.append(step(world, states[-1], jnp.int32(action)))
        states.append(steps[-1].state)
    return environment, states, steps


def slow_pendulum(body, push, p):
    """One step of a pendulum, in plain floats."""
    angle, speed = map(float, body)
    for _ in range(PARTS):
        torque = push * p["torque"] - p["friction"] * speed
        gravity = p["mass"] * p["gravity"] * p["length"] * np.sin(angle)
        speed += STEP / PARTS * (torque + gravity) / (p["mass"] * p["length"] ** 2)
        angle += STEP / PARTS * speed
        angle = (angle + np.pi) % (2 * np.pi) - np.pi
    return np.array([angle, speed])


def test_a_pendulum_moves_as_its_equation_says():
    world = world_of(PENDULUM, friction=0.2, torque=3.0)
    physics = {name: float(value[0]) for name, value in world.items()}
    actions = np.random.default_rng(0).integers(0, len(PUSHES), 40)
    _, states, _ = played(PENDULUM, world, actions)
    body = np.array(states[0].body)
    for action, state in zip(actions, states[1:], strict=True):
        body = slow_pendulum(body, PUSHES[action], physics)
        np.testing.assert_allclose(np.array(state.body), body, atol=2e-3)


def energy(system, body, p):
    """Kinetic plus potential energy."""
    if system is PENDULUM:
        angle, speed = body
        inertia = p["mass"] * p["length"] ** 2
        return 0.5 * inertia * speed**2 + p["mass"] * p["gravity"] * p["length"] * np.cos(angle)
    _, angle, speed, turning = body
    half, m = p["length"] / 2, p["pole_mass"]
    across = (speed + half * turning * np.cos(angle)) ** 2 + (half * turning * np.sin(angle)) ** 2
    turn = 0.5 * (m * half**2 / 3) * turning**2
    rest = m * p["gravity"] * half * np.cos(angle)
    return 0.5 * p["cart_mass"] * speed**2 + 0.5 * m * across + turn + rest


@by_name
def test_without_motor_and_friction_energy_stays(system):
    world = world_of(system, friction=0.0)
    physics = {name: float(value[0]) for name, value in world.items()}
    body = [1.0, 0.0] if system is PENDULUM else [0.0, 1.0, 0.0, 0.0]
    _, states, _ = played(system, world, [2] * 60, body)
    found = [energy(system, np.array(state.body, np.float64), physics) for state in states]
    hanging = [np.pi, 0.0] if system is PENDULUM else [0.0, np.pi, 0.0, 0.0]
    span = energy(system, [0.0] * len(body), physics) - energy(system, hanging, physics)
    assert np.ptp(found) < 0.05 * span  # the integrator's error goes to and fro, and does not grow
    assert abs(np.mean(found[-20:]) - np.mean(found[:20])) < 0.01 * span


def test_a_cart_stops_at_the_end_of_its_track():
    world = world_of(CARTPOLE, force=24.0, friction=0.0)
    _, states, _ = played(CARTPOLE, world, [4] * 60)
    places = np.array([float(state.body[0]) for state in states])
    assert places.max() == pytest.approx(TRACK)
    assert float(states[-1].body[2]) == pytest.approx(0.0, abs=0.5)


@by_name
@pytest.mark.parametrize("delay", range(MAX_DELAY + 1))
def test_sensors_are_late_by_as_many_steps_as_the_level_says(system, delay):
    world = world_of(system, delay=float(delay))
    environment, states, _ = played(system, world, [4] * 6)
    seen = environment.observe(world, states[6])
    then = system.observe(states[6 - delay].body)
    np.testing.assert_allclose(seen[: then.shape[0]], then, atol=1e-6)


@by_name
def test_an_episode_has_two_hundred_steps_and_a_return_between_0_and_1(system):
    _, _, steps = played(system, world_of(system), [4] * EPISODE)
    assert [bool(step.terminated) for step in steps] == [False] * (EPISODE - 1) + [True]
    assert not any(bool(step.truncated) for step in steps)
    assert 0.0 <= float(sum(step.reward for step in steps)) <= 1.0


def test_upright_all_the_time_is_worth_one():
    for system, body in ((PENDULUM, [0.0, 0.0]), (CARTPOLE, [0.0] * 4)):
        assert float(system.upright(jnp.array(body))) == 1.0
    assert float(PENDULUM.upright(jnp.array([np.pi, 0.0]))) == pytest.approx(0.0, abs=1e-6)


@by_name
def test_the_parameters_are_not_observed(system):
    environment = ControlEnvironment(system=system)
    low, high = (
        {one.name: jnp.array([getattr(one, side)]) for one in system.parameters}
        for side in ("low", "high")
    )
    first = [
        environment.observe(world, environment.reset(world, jnp.int32(0), bits=jnp.uint32(1)))
        for world in (low, high)
    ]
    np.testing.assert_array_equal(*first)


@by_name
def test_sets_are_the_same_by_seed_lie_in_the_box_and_differ_from_one_another(system):
    sets = {name: make(system, name) for name in COUNTS}
    assert {name: len(one) for name, one in sets.items()} == COUNTS
    assert len({one.digest for one in sets.values()}) == len(COUNTS)
    for name, one in sets.items():
        assert make(system, name).digest == one.digest
        assert make(system, name, seed=1).digest != one.digest
        for parameter in system.parameters:
            column = one.levels[parameter.name]
            assert parameter.low <= column.min() <= column.max() <= parameter.high


@by_name
def test_hard_devices_are_larger_than_any_that_is_trained_on(system):
    train, hard = make(system, "train"), make(system, "hard")
    assert hard.levels["length"].min() > train.levels["length"].max()


def test_most_of_the_box_is_far_from_devices_that_exist():
    task = control_task("pendulum")
    train, test = make(PENDULUM, "train"), make(PENDULUM, "test")
    rows = {row["levels from"]: row for row in source_distances(task, train, test, {})}
    found = {name: row["distance to held out"] for name, row in rows.items()}
    assert found["resample"] < found["kernel"] < found["edits"] < found["random"]
    assert found["random"] > 0.8
    assert "vae" not in found  # nothing was fitted


def test_a_csv_file_is_a_set_of_devices(tmp_path):
    names = list(PENDULUM.names)
    path = tmp_path / "mine.csv"
    path.write_text("note," + ",".join(names) + "\nx,1,1,9.8,5,0.1,0\ny,0.5,0.6,9.8,2,0,1\n")
    levels = VectorFormat(PENDULUM).load(path)
    assert len(levels) == 2
    assert levels[1]["length"] == 0.5
    out = tmp_path / "mine.npz"
    main(["levels", "import", str(path), "--task", "control/pendulum", "--out", str(out)])
    assert VectorFormat(PENDULUM).load(out).digest == levels.digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lenght,mass,gravity,torque,friction,delay\n1,1,9,5,0,0\n", "Did you mean 'lenght'"),
        ("length,mass,gravity,torque,friction,delay\n1,much,9,5,0,0\n", "line 2: mass"),
        ("length,mass,gravity,torque,friction,delay\n1,99,9,5,0,0\n", "between 0.2 and 2.4"),
        ("length,mass,gravity,torque,friction,delay\n1,nan,9,5,0,0\n", "between 0.2 and 2.4"),
        ("", "has no column 'length'"),
    ],
)
def test_a_csv_file_that_is_wrong_is_refused_with_the_place(text, words, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DatasetError, match=words):
        VectorFormat(PENDULUM).load(tmp_path / "x.csv")


def test_the_same_devices_are_at_distance_0_and_boxes_that_do_not_overlap_at_1():
    low = {one.name: np.full(5, one.low) for one in PENDULUM.parameters}
    high = {one.name: np.full(3, one.high) for one in PENDULUM.parameters}
    p, q = (pair_histograms(PENDULUM, one) for one in (low, high))
    assert p.shape == (15, BINS, BINS)
    assert p.sum() == pytest.approx(1.0)
    assert jensen_shannon(p, p) == 0.0
    assert jensen_shannon(p, q) == pytest.approx(1.0)


def test_distance_sees_a_dependence_that_no_single_parameter_shows():
    """Two parameters, each uniform: independent, or equal. By hand: only that pair differs."""
    share = (np.arange(BINS) + 0.5) / BINS
    first, second = np.meshgrid(share, share)
    spans = {one.name: one for one in PENDULUM.parameters}

    def devices(one, other):
        middle = {name: np.full(one.size, p.low) for name, p in spans.items()}
        return middle | {
            name: spans[name].low + spans[name].span * values.ravel()
            for name, values in (("length", one), ("mass", other))
        }

    p = pair_histograms(PENDULUM, devices(first, second))
    q = pair_histograms(PENDULUM, devices(share, share))
    in_pair = jensen_shannon(np.full((BINS, BINS), 1 / BINS**2), np.eye(BINS) / BINS)
    assert jensen_shannon(p, q) == pytest.approx(in_pair / 15)


def given_of(system, count=512, **more):
    levels = jax.tree.map(jnp.asarray, make(system, "train").levels)
    parents = jax.tree.map(lambda leaf: leaf[jnp.arange(count) % leaf.shape[0]], levels)
    return GeneratorInput(dataset=levels, parents=parents, **more)


@by_name
def test_every_generator_stays_in_the_box_and_follows_its_key(system):
    given, task = given_of(system), control_task(system.name)
    for name, generator in task.generators.items():
        if generator.load is not None:
            continue
        made = [
            generator.propose(given, generator.settings, jax.random.key(key)) for key in (0, 0, 1)
        ]
        for one in system.parameters:
            column = np.asarray(made[0][one.name])
            assert column.shape == (512,), name
            assert one.low <= column.min() <= column.max() <= one.high, name
            np.testing.assert_array_equal(column, made[1][one.name])
        assert not np.array_equal(made[0]["length"], made[2]["length"]), name


def test_edits_change_as_many_parameters_as_they_say():
    given = given_of(PENDULUM)
    edits = control_task("pendulum").generators["edits"]
    made = edits.propose(given, NudgeConfig(num_parameters=2), jax.random.key(0))
    moved = jnp.abs(in_unit(PENDULUM, made) - in_unit(PENDULUM, given.parents)) > 1e-5
    assert int(moved.sum(axis=-1).max()) == 2


def test_a_kernel_density_keeps_mean_and_covariance_of_the_dataset():
    given = given_of(PENDULUM, count=20_000)
    kernel = control_task("pendulum").generators["kernel"]
    unit = in_unit(PENDULUM, given.dataset)
    made = in_unit(PENDULUM, kernel.propose(given, KernelConfig(), jax.random.key(0)))
    inner = [PENDULUM.names.index(name) for name in ("length", "mass", "gravity", "torque")]
    np.testing.assert_allclose(
        made.mean(axis=0)[jnp.array(inner)], unit.mean(axis=0)[jnp.array(inner)], atol=0.01
    )
    np.testing.assert_allclose(
        np.corrcoef(made.T)[np.ix_(inner, inner)],
        np.corrcoef(unit.T)[np.ix_(inner, inner)],
        atol=0.05,
    )


def test_more_of_the_same_process_is_refused_for_devices_of_another():
    resample = control_task("pendulum").generators["resample"]
    with pytest.raises(ConfigError, match="kernel or vae"):
        resample.prepare(make(PENDULUM, "hard"))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    make(PENDULUM, "train", count=64).save(folder / "train.npz")
    make(PENDULUM, "test", count=32).save(folder / "test.npz")
    dred.fit(folder / "train.npz", out=folder / "vae", task="control/pendulum", set={"steps": 400})
    return folder


def test_a_fitted_model_makes_devices_like_its_own_and_loads_as_it_was(fitted):
    task = control_task("pendulum")
    vae, levels = task.generators["vae"], task.level_format.load(fitted / "train.npz")
    models = [vae.load(fitted / "vae", levels) for _ in range(2)]
    for first, second in zip(*map(jax.tree.leaves, models), strict=True):
        np.testing.assert_array_equal(first, second)
    rows = source_distances(task, levels, None, {"vae": models[0]})
    found = {row["levels from"]: row["distance to dataset"] for row in rows}
    assert found["vae"] < found["edits"]


def test_a_fitted_model_is_refused_for_other_devices_and_what_is_none_is_said(fitted, tmp_path):
    vae = control_task("pendulum").generators["vae"]
    with pytest.raises(DatasetError, match="fitted to other levels"):
        vae.load(fitted / "vae", make(PENDULUM, "test"))
    with pytest.raises(CheckpointError, match=r"no generator\.json"):
        vae.load(tmp_path, make(PENDULUM, "test"))
    with pytest.raises(ConfigError, match="exists already"):
        dred.fit(fitted / "train.npz", out=fitted / "vae", task="control/pendulum")


def train_words(fitted, out, method="vae-dred"):
    levels = ("--levels", fitted / "train.npz", "--held-out", fitted / "test.npz")
    generator = ("--generator", fitted / "vae") if method == "vae-dred" else ()
    words = ("train", method, "--task", "control/pendulum", *levels, *generator)
    return [str(word) for word in (*words, "--preset", "smoke", "--out", out)]


@pytest.mark.long
def test_all_measurements_work_on_devices_and_a_killed_run_ends_the_same(fitted, tmp_path):
    main(train_words(fitted, tmp_path / "whole"))
    row = dred.runs.open(tmp_path / "whole").metrics()[-1]
    assert {"jsd_distance", "gen_gap", "shift_gap", "length", "torque"} <= row.keys()
    path = tmp_path / "killed"
    stopped_after(
        f"killed/checkpoints/{checkpoint.path_of(path, 2).name}",
        signal.SIGKILL,
        train_words(fitted, path),
    )
    main(["resume", str(path)])
    whole, again = (
        checkpoint.read(checkpoint.checkpoints_in(tmp_path / name / "checkpoints")[-1])
        for name in ("whole", "killed")
    )
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
    main(["evaluate", str(tmp_path / "whole"), "--suite", str(fitted / "test.npz")])
    main(["report", str(tmp_path / "whole"), "--out", str(tmp_path / "report")])
    assert "delay of the sensors" in (tmp_path / "report" / "report.html").read_text("utf-8")


def test_sets_of_a_task_are_made_by_name(tmp_path, capsys):
    main(
        [
            "levels",
            "make",
            "control/cartpole/edge",
            "--count",
            "6",
            "--out",
            str(tmp_path / "x.npz"),
        ]
    )
    assert "6 levels of control/cartpole" in capsys.readouterr().out
    assert len(VectorFormat(CARTPOLE).load(tmp_path / "x.npz")) == 6
    for words in (
        ["control/cartpole/nothing"],
        ["control/cart/edge"],
        ["control/cartpole/edge", "--size", "9"],
    ):
        with pytest.raises(SystemExit):
            main(["levels", "make", *words, "--out", str(tmp_path / "y.npz")])
    assert not (tmp_path / "y.npz").exists()
