"""Levels of several sizes: padded to the largest, a level is the same level in everything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dred.envs import Gridworld, GridworldEnvironment
from dred.errors import DatasetError
from dred.levels import (
    concatenate,
    distances_to_goal,
    draw_level,
    extended_distances,
    from_levels,
    from_text,
    histogram,
    level_metrics,
    load,
    make,
    resistance_distance,
    shift_between,
    shortest_path,
    to_text,
)
from dred.tasks.gridworld.environment import time_limit
from dred.tasks.gridworld.generators.quality import assess
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.level import OUTSIDE, Level, as_batch, faults
from dred.tasks.gridworld.levels.sizes import by_size, padded, sizes_of
from dred.tasks.gridworld.optimal import optimal_returns
from dred.tasks.gridworld.pictures import draw_agent, draw_text
from dred.tasks.gridworld.task import GRIDWORLD
from tests.oracles import minigrid
from tests.strategies import FEW_SIZES
from tests.strategies import levels as any_levels
from tests.tasks.gridworld.test_gridworld import play_batch, random_level

ROOM = (10, 11)  # larger than any of the sizes
more_room = st.tuples(st.integers(0, 4), st.integers(0, 4))


def with_more(level, more):
    """The level with so many rows and columns of padding."""
    height, width = level.tiles.shape
    return padded(level, (height + more[0], width + more[1]))


def several(random, count=60):
    """Levels of a few sizes, in no order."""
    shapes = random.permutation(np.resize(np.array(FEW_SIZES), (count, 2)))
    return [random_level(random, int(h), int(w), open_share=0.9) for h, w in shapes]


def test_levels_of_several_sizes_are_played_as_minigrid_plays_each_alone():
    random = np.random.default_rng(0)
    levels, length = several(random), 130  # some levels of 8×9 end by their own time limit of 122
    actions = random.choice(
        7, size=(len(levels), length), p=[0.2, 0.2, 0.4, 0.05, 0.05, 0.05, 0.05]
    )
    env, dataset = GridworldEnvironment(), from_levels(levels)
    world = env.prepare(dataset.levels)
    first, rest = jax.device_get(
        play_batch(env, world, jnp.arange(len(levels)), jnp.asarray(actions, jnp.int32))
    )
    out_of_time = set()
    for index, level in enumerate(levels):
        slow = minigrid.episode(level, int(level.heading), actions[index].tolist(), max_steps=None)
        np.testing.assert_array_equal(first.image[index], slow[0][0])
        for ours, part in zip(rest, range(5), strict=True):
            theirs = np.stack([step[part] for step in slow[1:]])
            np.testing.assert_allclose(ours[index, : len(theirs)], theirs, atol=1e-6)
        if slow[-1][4]:
            out_of_time.add(level.tiles.shape)
            assert len(slow) - 1 == time_limit(*level.tiles.shape)
    assert out_of_time == set(FEW_SIZES)


def test_time_limits_go_by_each_levels_own_area_unless_one_is_given():
    dataset = concatenate(
        [make("cave-escape-train", count=4), make("cave-escape-train", count=4, size=9)]
    )
    env = GridworldEnvironment()
    world = env.prepare(dataset.levels)
    assert env.time_limit(world).tolist() == [250] * 4 + [90] * 4
    assert GridworldEnvironment(7).time_limit(GridworldEnvironment(7).prepare(dataset.levels)) == 7
    assert env.time_limit(env.prepare(dataset[:4].levels)) == 250
    for height in range(1, 60):
        for width in range(1, 60):
            assert time_limit(height, width) == round(250 / 15**2 * (height + 2) * (width + 2))


def test_one_padded_level_is_played_by_its_own_area():
    level = from_text("S.\n.G")
    for one in (level, padded(level, (5, 4))):
        state, _ = Gridworld().reset_to(one, key=jax.random.key(0))
        assert state.world.limit.tolist() == [time_limit(2, 2)]


def test_optimal_returns_are_those_of_each_level_alone():
    random = np.random.default_rng(1)
    levels = [
        random_level(random, h, w, open_share=0.9) for h, w in FEW_SIZES[2:] for _ in range(8)
    ]
    levels = [level._replace(heading=np.int8(i % 5 - 1)) for i, level in enumerate(levels)]
    dataset = from_levels(levels)
    world = GRIDWORLD.environment.prepare(dataset.levels)
    together = np.asarray(GRIDWORLD.optimal_of(jax.tree.map(jnp.asarray, dataset.levels), world))
    for places, some in by_size(dataset.levels):
        alone = optimal_returns(some, time_limit(*some.tiles.shape[1:]))
        np.testing.assert_array_equal(together[places], np.asarray(alone))
    assert (together > 0).mean() > 0.5


@given(any_levels(), more_room)
def test_padded_to_any_larger_size_a_level_looks_the_same(level, more):
    wide = with_more(level, more)
    assert wide == level
    assert to_text(wide) == to_text(level)
    np.testing.assert_array_equal(draw_level(wide, cell=4), draw_level(level, cell=4))
    row, column = (int(part) for part in level.start)
    np.testing.assert_array_equal(
        draw_agent(wide, row, column, 1), draw_agent(level, row, column, 1)
    )
    assert draw_text(wide, row, column, 1) == draw_text(level, row, column, 1)


@given(any_levels(), more_room)
def test_padded_to_any_larger_size_a_level_measures_the_same(level, more):
    wide = with_more(level, more)
    height, width = level.tiles.shape
    for one, other in zip(
        level_metrics(as_batch(level)), level_metrics(as_batch(wide)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    for distances in (distances_to_goal, extended_distances):
        found = distances(as_batch(wide))[0]
        np.testing.assert_array_equal(found[:height, :width], distances(as_batch(level))[0])
        assert (found[wide.tiles == OUTSIDE] == -1).all()
    assert shortest_path(wide) == shortest_path(level)
    assert resistance_distance(wide) == resistance_distance(level)
    assert not any(broken.any() for broken in faults(as_batch(wide)).values())


@given(st.lists(any_levels(), min_size=1, max_size=4), more_room)
def test_a_set_is_the_same_however_its_levels_were_padded(levels, more):
    dataset = from_levels(levels)
    wide = from_levels([with_more(level, more) for level in levels])
    assert wide.digest == dataset.digest
    assert [to_text(level) for level in wide] == [to_text(level) for level in levels]
    np.testing.assert_array_equal(histogram(wide), histogram(dataset))
    assert repeated_levels(wide).tolist() == repeated_levels(dataset).tolist()
    # One by one, by the definition: each level counts equally, whatever its size.
    alone = [histogram(from_levels([level])) for level in levels]
    shares = np.mean([table.sum(axis=1) for table in alone], axis=0)
    np.testing.assert_allclose(histogram(dataset).sum(axis=1), shares)


@given(st.lists(any_levels(), min_size=2, max_size=6))
def test_levels_are_taken_apart_by_size_and_all_are_there(levels):
    dataset = from_levels(levels)
    assert sizes_of(dataset.levels).tolist() == [list(level.tiles.shape) for level in levels]
    found = {}
    for places, some in by_size(dataset.levels):
        for place, number in enumerate(np.arange(len(levels))[places]):
            found[int(number)] = Level(*(part[place] for part in some))
    assert [found[number] for number in range(len(levels))] == levels
    assert all(one.tiles.shape == two.tiles.shape for one, two in zip(dataset, levels, strict=True))


def test_a_level_is_near_its_padded_self_and_cells_that_one_lacks_differ():
    small, large = from_text("S.G"), from_text("S.G\n...")
    of_small = from_levels([small])
    both = Level(*(np.stack(parts) for parts in zip(padded(small, (2, 3)), large, strict=True)))
    found = assess(both, of_small, of_small)
    assert (found.nearest, found.novel, found.unique) == (1.5, 0.5, 1.0)
    assert assess(of_small.levels, from_levels([small, large])).nearest == 0


def test_the_shift_between_sets_of_other_sizes_ignores_padding():
    small, large = make("cave-escape-train", count=4, size=9), make("cave-escape-train", count=4)
    both = concatenate([small, large])
    assert shift_between(small, both[:4]).distance == 0
    weights = np.repeat([1.0, 0.0], 4)
    assert shift_between(small, both, second_weights=weights).distance == pytest.approx(0, abs=1e-7)
    assert shift_between(small, large).distance > 0.01


def test_a_file_holds_levels_of_several_sizes(tmp_path):
    levels = [from_text("S.G"), from_text("S.\n,G\n~#"), from_text(">G")]
    dataset = from_levels(levels, structure=["a", "b", "c"])
    dataset.save(tmp_path / "mixed.npz")
    again = load(tmp_path / "mixed.npz")
    assert again.digest == dataset.digest
    assert list(again) == levels
    assert again.meta["sizes"] == [[1, 2, 1], [1, 3, 1], [3, 2, 1]]
    with np.load(tmp_path / "mixed.npz") as archive:
        assert archive["tiles"].shape == (3, 3, 3)
        assert archive["tiles"][2].tolist() == [[0, 0, 4], [4, 4, 4], [4, 4, 4]]
    alone = again[np.array([2])]
    assert alone.digest == from_levels(levels[2:], structure="c").digest
    assert alone.shape == (1, 2)
    assert "3 sizes, 3×4 (1), 3×5 (1), 5×4 (1)" in repr(again)


@pytest.mark.parametrize(
    ("tiles", "reason"),
    [
        ([[0, 4, 0], [0, 0, 0]], "not all below and to the right of one rectangle"),
        ([[0, 0, 0], [4, 0, 4]], "not all below and to the right of one rectangle"),
        ([[4, 4, 4], [0, 0, 0]], "not all below and to the right of one rectangle"),
        ([[0, 0, 4], [0, 0, 4]], "the goal is outside the grid"),
        ([[5, 0, 0], [0, 0, 0]], "a tile number is not"),
    ],
)
def test_padding_that_is_no_padding_is_refused(tiles, reason):
    level = Level(np.array(tiles, np.uint8), np.array([0, 2]), np.array([1, 0]), np.int8(0))
    fine = from_text("S...G")
    with pytest.raises(DatasetError, match=reason):
        from_levels([fine, level])
    if reason.startswith("not"):
        with pytest.raises(DatasetError, match="Repair or drop such levels"):
            level_metrics(as_batch(level))
