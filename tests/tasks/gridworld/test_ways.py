"""The four toy levels: an agent that learned (a) to (c) by heart fails on (d), and I(L; π) says so.

docs/overfitting.md tells the story.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.cli import main
from dred.levels import load, shortest_path, to_text
from dred.presets import train_config
from dred.task import RunContext
from dred.tasks.gridworld.environment import FORWARD, RIGHT, GridworldEnvironment
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.example import (
    JUNCTION,
    WAYS,
    example_augmented,
    example_levels,
    example_training,
)
from dred.tasks.gridworld.levels.level import MOSS, Level
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.task import GRIDWORLD
from dred.tasks.gridworld.ways import counted_information, ways_taken
from dred.training.chunk import train_chunk
from dred.training.state import new_setup, new_states, run_key

LN3 = float(np.log(3))
TO_JUNCTION = (RIGHT, RIGHT, FORWARD)


def views(levels, actions=TO_JUNCTION):
    """What is seen in each level at the start and after each of some actions."""
    env = GridworldEnvironment()
    world = env.prepare(levels.levels)
    seen = []
    for number in range(len(levels)):
        state = env.reset(world, jnp.int32(number), bits=jnp.uint32(0))
        rows = [env.observe(world, state)]
        for action in actions:
            state = env.step(world, state, jnp.int32(action)).state
            rows.append(env.observe(world, state))
        seen.append([np.asarray(row.image) for row in rows])
    return np.array(seen)


def test_toy_levels_are_told_apart_at_the_start_but_for_a_and_d():
    a, b, c, d = views(example_levels())
    np.testing.assert_array_equal(a, d)  # all the way to the junction
    assert not np.array_equal(a[0], b[0])
    assert not np.array_equal(a[0], c[0])
    assert not np.array_equal(b[0], c[0])
    goal = 8
    # Nor is the goal in sight, whichever way one turns on the spot, at the start or the junction.
    turns = (RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, FORWARD, RIGHT, RIGHT, RIGHT)
    assert not (views(example_levels(), turns)[..., 0] == goal).any()


def test_toy_levels_have_moss_all_the_way_and_a_shortcut_only_in_a():
    levels = example_levels()
    assert solvable(levels.levels).all()
    assert not repeated_levels(levels).any()
    lengths = {}
    for level, name in zip(levels, "abcd", strict=True):
        path = [tuple(map(int, cell)) for cell in shortest_path(level)]
        lengths[name] = len(path) - 1
        after = path[path.index(JUNCTION) + 1 : -1]
        assert all(level.tiles[cell] == MOSS for cell in after) == (name != "a"), to_text(level)
    assert lengths == {"a": 6, "b": 6, "c": 6, "d": 6}
    a = levels[0]
    cells = {tuple(cell) for cell in np.argwhere(a.tiles == MOSS).tolist()} | {tuple(a.goal)}
    assert len(cells) == 15  # in (a), along the moss
    assert WAYS["left"][0] in cells


def test_toy_levels_are_a_named_set(tmp_path, capsys):
    for name, dataset in (
        ("cmdp-example", example_levels()),
        ("cmdp-example-train", example_training()),
        ("cmdp-example-augmented", example_augmented()),
    ):
        main(["levels", "make", name, "--out", str(tmp_path / "toy.npz")])
        assert load(tmp_path / "toy.npz").digest == dataset.digest
    with pytest.raises(SystemExit):
        main(["levels", "make", "cmdp-example", "--count", "3", "--out", str(tmp_path / "x.npz")])
    assert "drawn as they are" in capsys.readouterr().err
    d = to_text(example_levels()[3])
    assert d not in [to_text(level) for level in example_augmented()]
    assert example_levels()[:3].levels == example_training().levels


def test_counted_information_by_hand():
    assert counted_information(np.diag([7, 7, 7])) == pytest.approx(LN3)
    assert counted_information(np.full((3, 4), 5)) == pytest.approx(0.0, abs=1e-12)
    # Two levels alike and one apart: what is known is which of 2/3 and 1/3.
    expected = -(2 / 3) * np.log(2 / 3) - (1 / 3) * np.log(1 / 3)
    assert counted_information(np.array([[4, 0], [4, 0], [0, 4]])) == pytest.approx(expected)


@pytest.fixture(scope="module")
def agents():
    """One agent trained on (a) to (c), and one on the augmented levels, by the same program."""
    config = replace(train_config("uniform", "example", GRIDWORLD.budgets), num_updates=200)
    setup, keys = new_setup(config, GRIDWORLD), run_key(0)[None]
    few, many = example_training(), example_augmented()
    several = few[np.arange(len(many)) % len(few)]  # as many, so that it is compiled once

    def train(dataset):
        levels = Level(*(jnp.asarray(part) for part in dataset.levels))
        states = new_states(setup, levels, (0,))
        for _ in range(config.num_updates // config.chunk):
            states, _ = train_chunk(states, keys, RunContext(levels), setup, config.chunk)
        return ways_taken(jax.tree.map(lambda leaf: leaf[0], states.learner.agent))

    return {"overfitted": train(several), "augmented": train(many)}


@pytest.mark.long
def test_toy_levels_an_overfitted_agent_fails_on_d_where_it_should(agents):
    ways = agents["overfitted"]
    assert (ways.solved[:3] > 0.9).all()
    assert ways.steps[0] < 10  # in (a) it takes the shortcut
    assert ways.taken[3, 1] > 0.9 * ways.taken[3].sum()  # and in (d) as well, to its death
    assert ways.solved[3] < 0.1


@pytest.mark.long
def test_toy_levels_an_agent_trained_on_augmented_levels_does_not(agents):
    ways = agents["augmented"]
    assert (ways.solved[1:] > 0.9).all()
    assert ways.taken[0, 0] > 0.9 * ways.taken[0].sum()  # it follows the moss in (a), a long way
    assert ways.steps[0] > 20
    assert ways.taken[3, 0] > 0.9 * ways.taken[3].sum()  # and in (d)


@pytest.mark.long
def test_toy_levels_information_about_the_level_says_so(agents):
    assert agents["overfitted"].information > 0.9 * LN3  # it knows which level it is in
    assert agents["augmented"].information == pytest.approx(0.637, abs=0.1)  # left or right
