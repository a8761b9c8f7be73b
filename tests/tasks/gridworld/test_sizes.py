"""Levels of several sizes: padded to the largest, a level is the same level in everything."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dred import fit
from dred.cli import main
from dred.envs import Gridworld, GridworldEnvironment, make_gym
from dred.errors import ConfigError, DatasetError
from dred.evaluation.by_size import places_by_size
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
from dred.reports.material import Method, Suite
from dred.reports.parts import with_parts
from dred.reports.scores import Scores
from dred.task import GeneratorInput
from dred.tasks.gridworld.environment import time_limit
from dred.tasks.gridworld.generators.edits import EditsConfig, edited
from dred.tasks.gridworld.generators.quality import assess
from dred.tasks.gridworld.generators.random import RandomConfig, random_rooms
from dred.tasks.gridworld.generators.resample import RESAMPLE, ResampleConfig, process_of
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.level import OUTSIDE, Level, as_batch, faults
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.levels.sizes import (
    by_size,
    counted_sizes,
    padded,
    sizes_of,
    with_room_for,
)
from dred.tasks.gridworld.optimal import optimal_returns
from dred.tasks.gridworld.pictures import draw_agent, draw_text
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.begin import check_sizes
from tests.oracles import minigrid
from tests.strategies import FEW_SIZES
from tests.strategies import levels as any_levels
from tests.tasks.gridworld.test_gridworld import play_batch, random_level

KEY = jax.random.key(0)
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


def mixed_input(count=12):
    """What a generator is given in a run whose levels have two sizes."""
    dataset = concatenate([make("cave-escape-train", count=4, size=side) for side in (9, 11)])
    levels = jax.tree.map(jnp.asarray, dataset.levels)
    parents = jax.tree.map(lambda leaf: leaf[jnp.arange(count) % len(dataset)], levels)
    return GeneratorInput(levels, parents)


def test_edits_stay_within_the_level():
    given = mixed_input()
    for key in jax.random.split(KEY, 5):
        made = Level(*map(np.asarray, edited(given, EditsConfig(num_edits=30), key)))
        assert not any(broken.any() for broken in faults(made).values())
        assert sizes_of(made).tolist() == sizes_of(given.parents).tolist()
        assert not np.array_equal(made.tiles, given.parents.tiles)


def test_random_rooms_are_as_large_as_levels_of_the_dataset():
    made = Level(*map(np.asarray, random_rooms(mixed_input(40), RandomConfig(), KEY)))
    assert not any(broken.any() for broken in faults(made).values())
    assert {shape for shape, _ in counted_sizes(made)} == {(7, 7), (9, 9)}


def test_the_true_process_makes_levels_of_the_sizes_asked_for():
    dataset, settings = make("cave-escape-train", count=4, size=9), ResampleConfig(sizes=(9, 11))
    wide = RESAMPLE.widen(dataset.levels, settings, None)
    assert wide.tiles.shape == (4, 9, 9)
    levels = jax.tree.map(jnp.asarray, wide)
    given = GeneratorInput(levels, jax.tree.map(lambda leaf: leaf[jnp.arange(12) % 4], levels))
    given = eqx.tree_at(lambda g: g.model, given, process_of(dataset), is_leaf=lambda x: x is None)
    made, again = (
        Level(*map(np.asarray, RESAMPLE.propose(given, settings, KEY))) for _ in range(2)
    )
    assert made == again
    assert not any(broken.any() for broken in faults(made).values())
    assert {shape for shape, _ in counted_sizes(made)} == {(7, 7), (9, 9)}
    assert solvable(made).all()
    with pytest.raises(ConfigError, match=r"sizes .=3. must be at least 4"):
        ResampleConfig(sizes=(15, 3))


def test_there_is_room_for_all_sizes_and_several_are_known_by_their_padding():
    levels = make("cave-escape-train", count=2, size=9).levels
    env = GridworldEnvironment()
    rooms = {(): (7, 7), (7, 7): (7, 7), (9, 8): (9, 8), (5, 5): (8, 7)}
    for made, shape in rooms.items():
        wide = with_room_for(levels, [made] if made else [])
        assert wide.tiles.shape[1:] == shape
        world = env.prepare(wide)
        assert (world.limit is None) == (shape == (7, 7))
        more = jax.jit(lambda levels, world=world: env.prepare_more(levels, world))(wide)
        assert jax.tree.structure(more) == jax.tree.structure(world)
        for one, other in zip(jax.tree.leaves(more), jax.tree.leaves(world), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_run_may_have_levels_of_several_sizes_if_its_task_can_tell_them():
    sets = {"train": from_levels([from_text("S.G")]), "test": from_levels([from_text("S..G")])}
    check_sizes(sets, GRIDWORLD)
    with pytest.raises(DatasetError, match="must have one size"):
        check_sizes(sets, replace(GRIDWORLD, sizes_of=None))


@pytest.mark.parametrize("model", ["vae", "masked", "wfc"])
def test_models_refuse_levels_of_several_sizes(model, tmp_path):
    dataset = concatenate([make("cave-escape-train", count=4, size=side) for side in (9, 11)])
    with pytest.raises(DatasetError, match=rf"{model} is fitted to levels of one size.*filter"):
        fit(dataset, out=tmp_path / "model", model=model)
    assert not (tmp_path / "model").exists()


def test_results_are_told_apart_by_size():
    drawings = ("S.G", "S.\n.G", "G.S", "SG")
    dataset = from_levels([from_text(drawing) for drawing in drawings])
    places = places_by_size(dataset, GRIDWORLD)
    assert {name: where.tolist() for name, where in places.items()} == {
        "3x4": [3],
        "3x5": [0, 2],
        "4x4": [1],
    }
    assert not places_by_size(dataset[:1], GRIDWORLD)
    returned = np.array([[0.5, 0.0, 0.25, 0.75]])
    scores = {"mine": Scores(returned, (returned > 0).astype(np.float64), {})}
    suite = Suite("mine", 4, dataset, np.ones(4), GRIDWORLD)
    (method,), suites = with_parts([Method("plr", (), scores)], [suite])
    assert [(one.name, one.count) for one in suites] == [
        ("mine", 4),
        ("mine-3x4", 1),
        ("mine-3x5", 2),
        ("mine-4x4", 1),
    ]
    assert method.scores["mine-3x5"].returned.tolist() == [[0.5, 0.25]]
    assert method.scores["mine-4x4"].solved.tolist() == [[0.0]]
    assert list(suites[2].levels) == [dataset[0], dataset[2]]
    assert "area" in GRIDWORLD.measure(dataset.levels)
    assert GRIDWORLD.measure(dataset.levels)["area"].tolist() == [3, 4, 3, 2]
    assert "area" not in GRIDWORLD.measure(dataset[:1].levels)


def test_sets_of_several_sizes_are_described_and_filtered(tmp_path, capsys):
    mixed = tmp_path / "mixed.npz"
    concatenate([make("cave-escape-train", count=4, size=side) for side in (9, 11)]).save(mixed)
    main(["levels", "info", str(mixed), "--sample", "1"])
    told = capsys.readouterr().out
    assert "8 of 2 sizes, 9×9 (4), 11×11 (4) with the wall around" in told
    assert "\n9×9 " in told
    assert "\n11×11 " in told
    main(["levels", "filter", str(mixed), "--sizes", "9", "--out", str(tmp_path / "small.npz")])
    assert load(tmp_path / "small.npz").digest == load(mixed)[:4].digest
    assert load(tmp_path / "small.npz").shape == (7, 7)
    main(["levels", "show", str(mixed), "--out", str(tmp_path / "a.png")])
    with pytest.raises(SystemExit):
        main(["levels", "filter", str(mixed), "--sizes", "15", "--out", str(tmp_path / "b.npz")])
    told = capsys.readouterr().err
    assert "No level is of the size 15. Sizes, with the wall: 9x9, 11x11." in told


def test_gymnasium_plays_each_level_at_its_own_size():
    levels = [from_text("S" + "." * 4 + "G"), from_text(">G\n..")]
    env = make_gym(from_levels(levels), render_mode="ansi")
    for number, level in enumerate(levels):
        env.reset(options={"level": number, "heading": 0}, seed=0)
        assert env.render().replace(">", "S") == to_text(level).replace(">", "S")
        steps = 1
        while not env.step(0)[3]:
            steps += 1
        assert steps == time_limit(*level.tiles.shape)
