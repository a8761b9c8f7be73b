"""Gymnasium and Minigrid: the same world through other doors."""

import subprocess
import sys

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import dred
from dred.envs import Gridworld, level_of, make_gym, make_gym_vector, to_minigrid
from dred.errors import ConfigError, DatasetError
from dred.levels import from_levels, from_text, is_solvable, make, make_level, to_text
from tests.tasks.gridworld.test_gridworld import random_level

LEVELS = make("cave-escape-train", count=16)


def follow_the_left_wall(image):
    """A simple policy that depends on what it sees: turn left if it can, else go on, else turn."""
    blocked = {2, 9}  # wall, lava
    if int(image[1, 4, 0]) not in blocked and int(image[1, 3, 0]) in blocked:
        return 0
    return 1 if int(image[2, 3, 0]) in blocked else 2


def returns(env, level, heading):
    observation, _ = env.reset(options={"level": level, "heading": heading})
    total, steps = 0.0, 0
    while True:
        action = follow_the_left_wall(observation["image"])
        observation, reward, terminated, truncated, _ = env.step(action)
        total, steps = total + reward, steps + 1
        if terminated or truncated:
            return pytest.approx(total, abs=1e-6), steps


def test_gymnasium_finds_nothing_wrong_with_it():
    env = gymnasium.make("dred/CaveEscape-v0", levels=LEVELS, render_mode="rgb_array")
    check_env(env.unwrapped)


def test_the_registered_name_works_after_importing_dred_alone(tmp_path):
    LEVELS.save(tmp_path / "x.npz")
    program = (
        "import dred, gymnasium; "
        f"env = gymnasium.make('dred/CaveEscape-v0', levels={str(tmp_path / 'x.npz')!r}); "
        "print(env.reset(options={'level': 3, 'heading': 1})[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "{'level': 3, 'heading': 1}"


def test_an_unknown_environment_is_an_error_that_suggests_the_right_one():
    with pytest.raises(gymnasium.error.Error, match="CaveEscape"):
        gymnasium.make("dred/CaveEscpae-v0", levels=LEVELS)


def test_the_same_policy_has_the_same_returns_through_every_door():
    env = make_gym(LEVELS)
    core = Gridworld()
    step = jax.jit(core.step)
    rewarded = 0
    for number in range(16):
        for heading in (0, 3):
            level = LEVELS[number]._replace(heading=np.asarray(heading, np.int8))
            through_gym = returns(env, number, heading)
            theirs = to_minigrid(level)
            observation, _ = theirs.reset()
            state, view = core.reset_to(level, key=jax.random.key(0))
            total, steps, ended = [0.0, 0.0], 0, False
            while not ended:
                steps += 1
                np.testing.assert_array_equal(observation["image"], view.image)
                action = follow_the_left_wall(observation["image"])
                observation, reward, terminated, truncated, _ = theirs.step(action)
                played = step(state, action)
                state, view = played.state, played.view
                total = [total[0] + reward, total[1] + float(played.reward)]
                assert terminated == bool(played.terminated)
                assert truncated == bool(played.truncated)
                ended = terminated or truncated
            rewarded += total[0] > 0
            assert (total[0], steps) == through_gym
            assert (total[1], steps) == through_gym
    assert rewarded >= 5  # else equal returns would say little


def test_reset_chooses_level_and_heading_or_draws_them_by_seed():
    env = make_gym(LEVELS)
    _, info = env.reset(options={"level": 5, "heading": 2})
    assert info == {"level": 5, "heading": 2}
    first = [env.reset(seed=7)[1], env.reset()[1]]
    again = [env.reset(seed=7)[1], env.reset()[1]]
    assert first == again
    drawn = {env.reset()[1]["level"] for _ in range(200)}
    assert drawn == set(range(16))


def test_a_level_with_a_heading_of_its_own_keeps_it():
    env = make_gym(from_text("^.G"))
    assert {env.reset()[1]["heading"] for _ in range(10)} == {3}
    assert env.reset(options={"heading": 1})[1]["heading"] == 1


def test_many_environments_step_as_one_would():
    single, many = make_gym(LEVELS), make_gym_vector(LEVELS, 6)
    levels, headings = np.arange(6) * 2, np.arange(6) % 4
    seen, info = many.reset(seed=0, options={"level": levels, "heading": headings})
    assert info["level"].tolist() == levels.tolist()
    actions = np.random.default_rng(0).integers(0, 7, size=(60, 6))
    images = []
    for row in actions:
        seen, *_ = many.step(row)
        images.append(seen["image"])
    for index in range(6):
        single.reset(options={"level": int(levels[index]), "heading": int(headings[index])})
        for t in range(60):
            observation, _, terminated, truncated, _ = single.step(int(actions[t, index]))
            np.testing.assert_array_equal(observation["image"], images[t][index])
            if terminated or truncated:
                break


def test_after_an_end_the_next_step_begins_another_episode():
    env = make_gym_vector(from_text(">G"), 2)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    first, _ = env.reset()
    _, reward, terminated, _, _ = env.step(np.array([2, 3]))
    assert terminated.tolist() == [True, False]
    assert reward[0] > 0.9
    seen, reward, terminated, truncated, _ = env.step(np.array([0, 3]))
    assert reward.tolist() == [0.0, 0.0]
    assert not terminated.any()
    assert not truncated.any()
    np.testing.assert_array_equal(seen["image"][0], first["image"][0])  # the action was not taken


def test_gymnasium_makes_the_vector_environment_by_name():
    env = gymnasium.make_vec("dred/CaveEscape-v0", num_envs=3, levels=LEVELS)
    observation, _ = env.reset(seed=1)
    assert observation["image"].shape == (3, 5, 5, 3)
    assert env.observation_space.contains(observation)
    env.step(env.action_space.sample())


def test_minigrid_there_and_back():
    random = np.random.default_rng(3)
    for _ in range(50):
        level = random_level(random, 6, 8, open_share=0.6)
        env = to_minigrid(level)
        env.reset(seed=0)
        assert level_of(env) == level


def test_a_published_minigrid_environment_becomes_a_level():
    env = gymnasium.make("MiniGrid-LavaGapS7-v0")
    env.reset(seed=1)
    level = level_of(env)
    assert is_solvable(level)
    assert "~" in to_text(level)


def test_a_grid_with_other_things_is_an_error_that_names_them():
    env = gymnasium.make("MiniGrid-DoorKey-6x6-v0")
    env.reset(seed=0)
    with pytest.raises(DatasetError, match="has no counterpart here"):
        level_of(env)


def test_pictures_and_text_of_the_level_with_the_agent_in_it():
    env = make_gym(LEVELS, render_mode="rgb_array")
    env.reset(seed=0, options={"level": 0, "heading": 0})
    before = env.render()
    env.step(0)
    after = env.render()
    assert before.shape == (15 * 16, 15 * 16, 3)
    assert (before != after).any()
    text = make_gym(from_text(">.G"), render_mode="ansi")
    text.reset()
    text.step(2)
    assert text.render() == ".>G"


@pytest.mark.parametrize(
    ("do", "text"),
    [
        (lambda env: env.step(7), "does not exist"),
        (lambda env: env.reset(options={"level": 16}), "must be from 0 to 15"),
        (lambda env: env.reset(options={"heading": 4}), "must be from 0 to 3"),
        (lambda env: env.reset(options={"level": "a"}), "must be a whole number"),
        (lambda env: env.reset(options={"levl": 1}), "knows 'level' and 'heading', not levl"),
        (lambda _: make_gym(LEVELS, render_mode="human"), "render_mode"),
        (lambda _: make_gym(LEVELS).step(0), "Call reset"),
        (lambda _: make_gym_vector(LEVELS, 0), "num_envs"),
        (lambda env: env.step([0, 1]), "give one action, not 2"),
    ],
)
def test_what_cannot_be_done_is_said(do, text):
    env = make_gym(LEVELS)
    env.reset(seed=0)
    with pytest.raises(ConfigError, match=text):
        do(env)


def test_no_levels_at_all_are_an_error():
    with pytest.raises(DatasetError, match="no file"):
        make_gym("none.npz")
    with pytest.raises(DatasetError, match="the batch is empty"):
        make_gym(LEVELS[:0])


def test_observations_may_be_written_to():
    env = make_gym(LEVELS)
    observation, _ = env.reset(seed=0)
    observation["image"][0] = 0
    env.step(np.array([2]))  # as an array, too


def test_what_cannot_be_opened_in_minigrid_is_said():
    with pytest.raises(DatasetError, match="the start is outside"):
        to_minigrid(make_level(np.zeros((3, 3), np.uint8), (0, 0), (-1, -1)))
    with pytest.raises(ConfigError, match="heading"):
        to_minigrid(LEVELS[0], heading=7)
    with pytest.raises(ConfigError, match="max_steps"):
        to_minigrid(LEVELS[0], max_steps=0)
    with pytest.raises(DatasetError, match="call its reset"):
        level_of(gymnasium.make("MiniGrid-LavaGapS7-v0"))
    with pytest.raises(DatasetError, match="not a Minigrid environment"):
        level_of(gymnasium.make("CartPole-v1"))


def test_without_gymnasium_the_error_says_how_to_install_it():
    program = (
        "import sys; sys.modules['gymnasium'] = None; import dred, dred.envs\n"
        "try: dred.envs.make_gym\n"
        "except dred.errors.DredError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install " in done.stdout and "[gym]'" in done.stdout


def test_one_level_and_several_can_be_given_without_making_a_set():
    one, several = from_text("S.G"), [from_text("S.G"), from_text("S,G")]
    assert len(make_gym(one).levels) == 1
    assert make_gym(several).levels.digest == from_levels(several).digest
    assert dred.envs.make_gym is make_gym


@pytest.mark.parametrize("order", ["import dred, gymnasium", "import gymnasium, dred"])
def test_the_id_is_registered_whichever_is_imported_first(order):
    program = (
        f"{order}\nimport importlib.resources\n"
        "assert 'dred/CaveEscape-v0' in gymnasium.registry\n"
        "assert importlib.resources.files('gymnasium').joinpath('core.py').is_file()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_dred_itself_does_not_import_gymnasium():
    program = "import sys, dred\nassert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
