"""Levels of our choice, against stock Procgen that plays the same level by itself."""

import io
import subprocess
import sys

import numpy as np
import pytest

from dred.errors import CheckpointError, ConfigError
from dred.tasks.procgen import GAMES, FirstStates, ProcgenLevels
from dred.tasks.procgen.simulator import start
from dred.tasks.procgen.states import LAST_LEVEL
from tests.patience import PATIENCE

pytest.importorskip("procgen")

TRAINING_AND_FAR_LEVELS = [3, 199, 0, 200, 9_999_999, LAST_LEVEL]


@pytest.fixture(scope="module", autouse=True)
def library_stays_loaded():
    """Without any simulator alive, the next one would load all pictures again: a second each."""
    simulator = start("maze", 1, difficulty="easy", level=0)
    yield
    del simulator


def persistent_actions(num_envs, num_steps, seed=0):
    """Random actions that are often repeated, so that agents get somewhere."""
    random = np.random.default_rng(seed)
    actions = random.integers(15, size=(num_steps, num_envs))
    for t in range(1, num_steps):
        actions[t] = np.where(random.random(num_envs) < 0.6, actions[t - 1], actions[t])
    return actions


class Native:
    """Stock Procgen in one level, which it repeats.

    In dodgeball the agent goes on facing where it did when the last episode ended, so there the
    level itself is only what a fresh simulator shows.
    """

    def __init__(self, game, level, difficulty):
        self.settings = {"difficulty": difficulty, "level": level}
        self.game = game
        self.simulator = start(game, 1, **self.settings)

    def step(self, action):
        self.simulator.act(np.array([action], np.int32))
        reward, seen, ended = self.simulator.observe()
        if ended[0] and self.game == "dodgeball":
            self.simulator = start(self.game, 1, **self.settings)
        return seen["rgb"][0], reward[0], ended[0]

    def look(self):
        return self.simulator.observe()[1]["rgb"][0]


def levels_by_the_simulator(envs):
    return [int(info["level_seed"]) for info in envs._simulator.get_info()]


def assert_levels_are_native(game, difficulty, levels, num_steps):
    envs = ProcgenLevels(game, len(levels), difficulty=difficulty)
    now = envs.reset_to(levels[::-1])
    for actions in persistent_actions(len(levels), 20, seed=1):
        envs.step(actions, lambda slots: np.full(len(slots), 17))
    now = envs.reset_to(levels)
    natives = [Native(game, level, difficulty) for level in levels]
    np.testing.assert_array_equal(now.image, [native.look() for native in natives])
    for t, actions in enumerate(persistent_actions(len(levels), num_steps)):
        now = envs.step(actions, lambda slots: np.array(levels)[slots])
        native = [native.step(action) for native, action in zip(natives, actions, strict=True)]
        images, rewards, ended = zip(*native, strict=True)
        np.testing.assert_array_equal(now.image, images, err_msg=f"step {t}")
        np.testing.assert_array_equal(now.reward, rewards)
        np.testing.assert_array_equal(now.ended, ended)
        assert now.level.tolist() == levels


@pytest.mark.parametrize("game", GAMES)
def test_a_level_in_any_slot_is_the_native_level_step_by_step(game):
    assert_levels_are_native(game, "easy", TRAINING_AND_FAR_LEVELS, num_steps=300)


@pytest.mark.parametrize("game", ["caveflyer", "miner"])
def test_hard_levels_too(game):
    assert_levels_are_native(game, "hard", TRAINING_AND_FAR_LEVELS, num_steps=200)


def test_hard_levels_are_not_the_easy_ones():
    easy, hard = (ProcgenLevels("miner", 1, difficulty=which) for which in ("easy", "hard"))
    assert (easy.reset_to([5]).image != hard.reset_to([5]).image).any()


@pytest.mark.parametrize("game", ["jumper", "leaper", "fruitbot"])
def test_each_image_carries_the_level_that_it_shows(game):
    num_envs, num_levels = 12, 30
    envs = ProcgenLevels(game, num_envs)
    first_image = np.concatenate(
        [ProcgenLevels(game, 1).reset_to([level]).image for level in range(num_levels)]
    )
    random = np.random.default_rng(0)
    asked, told = [], []

    def next_levels(slots):
        asked.append(slots)
        told.append(random.integers(num_levels, size=len(slots)))
        return told[-1]

    now = envs.reset_to(np.arange(num_envs))
    expected, num_ends = np.arange(num_envs), 0
    for actions in persistent_actions(num_envs, 300):
        before = len(asked)
        now = envs.step(actions, next_levels)
        slots = np.flatnonzero(now.ended)
        num_ends += len(slots)
        if len(slots):
            assert asked[-1].tolist() == slots.tolist()
            expected[slots] = told[-1]
        assert len(asked) - before == (len(slots) > 0)  # asked once, and only if needed
        assert now.level.tolist() == expected.tolist() == levels_by_the_simulator(envs)
        np.testing.assert_array_equal(now.image[slots], first_image[expected[slots]])
    assert num_ends > 20


def test_the_reward_of_the_last_action_survives_the_beginning_of_the_next_level():
    up, num_envs = 5, 16
    envs = ProcgenLevels("leaper", num_envs)
    envs.reset_to(np.arange(num_envs))
    rewards = []
    for _ in range(200):
        now = envs.step(np.full(num_envs, up), lambda slots: slots + 20)
        rewards.extend(now.reward[now.ended].tolist())
    assert 10.0 in rewards and 0.0 in rewards


def test_earlier_moments_are_not_overwritten():
    envs = ProcgenLevels("leaper", 4)
    first = envs.reset_to([1, 2, 3, 4])
    image, level = first.image.copy(), first.level.copy()
    for actions in persistent_actions(4, 100):
        envs.step(actions, lambda slots: slots + 50)
    assert (first.image == image).all() and (first.level == level).all()


def play_on(envs, num_steps, seed):
    """Everything seen in some steps, with levels that depend on the slots alone."""
    return [
        envs.step(actions, lambda slots: 40 + slots)
        for actions in persistent_actions(envs.num_envs, num_steps, seed=seed)
    ]


def assert_same(moments, others):
    for moment, other in zip(moments, others, strict=True):
        for name in ("image", "level", "reward", "ended"):
            np.testing.assert_array_equal(getattr(moment, name), getattr(other, name))


def through_a_file(arrays):
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("game", GAMES)
def test_a_saved_game_goes_on_as_if_nothing_had_happened(game):
    envs = ProcgenLevels(game, 4)
    envs.reset_to([0, 1, 2, 3])
    play_on(envs, 50, seed=2)
    now, saved = envs.now, through_a_file(envs.save())
    expected = play_on(envs, 120, seed=3)

    other = ProcgenLevels(game, 4)
    assert_same([other.restore(saved)], [now])
    assert_same(play_on(other, 120, seed=3), expected)
    envs.restore(saved)  # where it was saved, too
    assert_same(play_on(envs, 120, seed=3), expected)


@pytest.mark.parametrize("num_threads", [0, 1, 3])
def test_threads_change_nothing(num_threads):
    envs, other = (
        ProcgenLevels("starpilot", 6),
        ProcgenLevels("starpilot", 6, num_threads=num_threads),
    )
    assert_same([envs.reset_to(range(6))], [other.reset_to(range(6))])
    assert_same(play_on(envs, 150, seed=1), play_on(other, 150, seed=1))


def test_a_saved_game_of_other_settings_is_refused():
    envs = ProcgenLevels("maze", 2)
    envs.reset_to([0, 1])
    saved = envs.save()
    for other in (ProcgenLevels("heist", 2), ProcgenLevels("maze", 2, difficulty="hard")):
        with pytest.raises(CheckpointError, match="another game or difficulty"):
            other.restore(saved)
    with pytest.raises(
        CheckpointError, match=r"has \[2\] for 'length', where one entry for each of 3"
    ):
        ProcgenLevels("maze", 3).restore(saved)
    with pytest.raises(CheckpointError, match="damaged"):
        envs.restore(saved | {"state": saved["state"][:-1]})
    with pytest.raises(CheckpointError, match="nothing for 'level'"):
        envs.restore({name: array for name, array in saved.items() if name != "level"})
    envs.restore(saved)


def test_first_states_are_remembered_up_to_a_number_and_always_the_same():
    states = FirstStates("ninja", capacity=2)
    captured = []
    capture = states._capture
    states._capture = lambda level: captured.append(level) or capture(level)
    first = [states.of(level) for level in (1, 2, 1, 3, 1, 2)]
    assert captured == [1, 2, 3, 2]
    assert first[1] == first[5]
    assert first[0] == FirstStates("ninja").of(1)  # whatever came before


def test_first_states_are_shared_between_environments_of_one_kind():
    states = FirstStates("ninja")
    envs, other = (ProcgenLevels("ninja", 2, first_states=states) for _ in range(2))
    assert_same([envs.reset_to([7, 8])], [other.reset_to([7, 8])])
    with pytest.raises(ConfigError, match=r"first states are of ninja \(easy\)"):
        ProcgenLevels("ninja", 2, difficulty="hard", first_states=states)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0], r"for each of 2 environments; found an array of int64 with the shape \[1\]"),
        ([0.0, 1.0], "a whole number"),
        ([0, -1], "There is no level -1: levels are 0 to 2147483646"),
        ([2**31 - 1, 0], "There is no level 2147483647"),
    ],
)
def test_levels_that_cannot_be(levels, message):
    with pytest.raises(ConfigError, match=message):
        ProcgenLevels("maze", 2).reset_to(levels)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0], r"one action, a whole number, for each of 2 environments"),
        ([0, 15], "Actions are 0 to 14; found 0 to 15"),
        ([-1, 3], "Actions are 0 to 14; found -1 to 3"),
    ],
)
def test_actions_that_cannot_be(actions, message):
    envs = ProcgenLevels("maze", 2)
    envs.reset_to([0, 1])
    with pytest.raises(ConfigError, match=message):
        envs.step(actions, lambda slots: slots)


def test_nothing_moves_before_the_first_reset():
    envs = ProcgenLevels("maze", 2)
    for impossible in (envs.save, lambda: envs.step([0, 0], lambda slots: slots)):
        with pytest.raises(ConfigError, match="no episode has begun"):
            impossible()
    with pytest.raises(ConfigError, match="num_envs"):
        ProcgenLevels("maze", 0)


COLLECTING = """
import gc, threading
from dred.tasks.procgen.simulator import start
simulator = start("maze", 1, difficulty="easy", level=0)
lock = simulator._ffi._lock
cycle = [simulator]
cycle.append(cycle)
del simulator, cycle
collector = threading.Thread(target=gc.collect)
with lock:
    collector.start()
    collector.join()
print("collected")
"""


def test_collecting_a_simulator_while_another_is_loaded_does_not_hang():
    # The program hung for ever: a forgotten simulator, part of a reference cycle, was closed by the
    # garbage collector just when a new one was being loaded, and both wanted the same lock. It has
    # a process of its own, as the garbage of other tests is not meant to be collected here.
    done = subprocess.run(
        [sys.executable, "-c", COLLECTING], capture_output=True, text=True, timeout=PATIENCE
    )
    assert "collected" in done.stdout, done.stderr
