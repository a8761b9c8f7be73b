"""The masked model: its bound, the levels it draws and fills in, and its folder."""

import itertools
import json
import math
import shutil
import signal
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dred
from dred import checkpoint
from dred.cli import main
from dred.errors import CheckpointError, ConfigError, DatasetError, UnknownNameError
from dred.generators import GENERATORS
from dred.levels import make
from dred.task import GeneratorInput
from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.fitting import held_back_levels
from dred.tasks.gridworld.generators.masked import fitted as fitted_module
from dred.tasks.gridworld.generators.masked.bound import (
    ALL,
    ITS_CLASS,
    NOTHING,
    bound_given,
    knowledge,
    log_p_of_places,
    mean_bound,
)
from dred.tasks.gridworld.generators.masked.cells import (
    FLOOR,
    GOAL,
    OUTSIDE,
    SEEN,
    SOLID,
    START,
    UNKNOWN,
    can_walk_on,
    cells_of,
    classes_of,
    level_of,
)
from dred.tasks.gridworld.generators.masked.distance import (
    distance_features,
    share_nearer,
    steps_to_goal,
)
from dred.tasks.gridworld.generators.masked.draw import (
    Looks,
    around,
    is_lost,
    largest_part,
    order_of,
    rectangle,
)
from dred.tasks.gridworld.generators.masked.fit import has_stopped
from dred.tasks.gridworld.generators.masked.fitted import FittedMasked, load, looks_of
from dred.tasks.gridworld.generators.masked.generator import (
    MaskedDrawConfig,
    MaskedEditsConfig,
    distance_to_nearest,
)
from dred.tasks.gridworld.generators.masked.model import MaskedModel, squares
from dred.tasks.gridworld.generators.masked.structures import like_copies, structures_of
from dred.tasks.gridworld.generators.masked.whole import draw_ahead
from dred.tasks.gridworld.generators.parts import all_connected
from dred.tasks.gridworld.generators.quality import nearest_distances, pictures
from dred.tasks.gridworld.levels.level import Level, faults
from dred.tasks.gridworld.levels.search import extend_distances
from dred.tasks.gridworld.levels.sizes import counted_sizes
from tests.patience import stopped_after
from tests.strategies import FEW_SIZES, levels

KEY = jax.random.key(0)
SET = {
    "size": 8,
    "steps_between": (1, 2),
    "epochs": 5,
    "batch_size": 8,
    "draw_steps": 3,
    "corrections": 2,
    "ahead": 7,
}
TINY = MaskedConfig(**SET)
DATASET = make("cave-escape-train", count=12, size=9)
LEVELS = Level(*(jnp.asarray(part) for part in DATASET.levels))
NONE = jnp.zeros(1, jnp.int32)  # the label of a level whose structure is not told


@pytest.fixture(scope="module")
def model():
    """A model whose opinions are strong and depend on all that is known, but make no sense."""
    blank = MaskedModel(TINY, structures=2, key=KEY)
    told = jax.random.normal(KEY, blank.structure.shape).at[0].set(0.0)
    blank = eqx.tree_at(lambda model: model.structure, blank, told)
    return jax.tree.map(lambda part: part * 3.0, blank)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return dred.fit(DATASET, out=tmp_path_factory.mktemp("masked") / "g", model="masked", set=SET)


def is_proper(levels):
    arrays = Level(*(np.asarray(part) for part in levels))
    return not any(broken.any() for broken in faults(arrays).values())


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


CLASS = {0: FLOOR, 1: SOLID, 2: SOLID, 3: FLOOR, START: FLOOR, GOAL: GOAL}


def by_all_orders(model, cells):
    """The mean over all orders of the log-likelihood of a level drawn cell by cell.

    First the class of each cell, in any order, then what each is, in any order.
    """
    shape, contents = (1, *cells.shape), cells.ravel().tolist()
    classes = [CLASS[what] for what in contents]

    def says(shown):
        return np.exp(np.asarray(model(jnp.array(shown).reshape(shape), NONE)[0])).reshape(-1, 6)

    def of_class(held, number):
        return sum(held[number][what] for what in CLASS if CLASS[what] == classes[number])

    total = []
    for order in itertools.permutations(range(len(contents))):
        shown, likelihood = [UNKNOWN] * len(contents), 0.0
        for number in order:
            likelihood += np.log(of_class(says(shown), number))
            shown[number] = classes[number]
        for number in order:  # any other order would do: both means are over all of them
            held = says(shown)
            likelihood += np.log(held[number][contents[number]] / of_class(held, number))
            shown[number] = contents[number]
        total.append(likelihood)
    return np.mean(total)


CELLS = np.array([[START, 1], [GOAL, 3]])


def test_the_bound_is_the_mean_over_all_orders(model):
    """All sets of cells that are not known, each size with the same weight, in both stages."""
    sets = [np.array(one) for one in itertools.product((False, True), repeat=4) if any(one)]
    early = [np.where(one, NOTHING, ITS_CLASS) for one in sets]
    late = [np.where(one, ITS_CLASS, ALL) for one in sets]
    known = jnp.array(np.stack(early + late).reshape(-1, 2, 2))
    wide = jnp.broadcast_to(jnp.array(CELLS)[None], known.shape)
    found = np.asarray(bound_given(model, wide, jnp.zeros(len(wide), jnp.int32), known))
    weights = [1 / 8 / math.comb(4, int(one.sum())) for one in sets] * 2
    assert np.dot(weights, found) == pytest.approx(by_all_orders(model, CELLS), rel=1e-5)


def test_estimates_of_the_bound_are_right_on_average_and_follow_their_key(model):
    cells = jnp.array(CELLS)[None]
    found = [
        float(mean_bound(model, cells, NONE, samples=64, key=jax.random.key(seed))[0])
        for seed in range(40)
    ]
    error = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found) - by_all_orders(model, CELLS)) < 4 * error
    assert 0 < error < 0.3
    again = mean_bound(model, cells, NONE, samples=64, key=jax.random.key(3))
    assert float(again[0]) == found[3]


def test_all_steps_at_which_a_level_is_drawn_come_equally_often():
    """Six cells: six steps at which classes are next, and six at which all classes are known."""
    known = np.concatenate(
        [np.asarray(knowledge((12, 2, 3), key=jax.random.key(s))) for s in range(50)]
    )
    least, most = known.min((1, 2)), known.max((1, 2))
    assert set(zip(least.tolist(), most.tolist(), strict=True)) == {
        (NOTHING, NOTHING), (NOTHING, ITS_CLASS), (ITS_CLASS, ITS_CLASS), (ITS_CLASS, ALL)
    }  # fmt: skip
    for stage in (NOTHING, ITS_CLASS):
        sizes = (known[least == stage] == stage).sum((1, 2))
        assert np.bincount(sizes)[1:].tolist() == [50] * 6
    early = known[least == NOTHING] == NOTHING
    np.testing.assert_allclose(early.mean(0), 3.5 / 6, atol=0.12)


def test_a_step_shows_nothing_the_class_or_all_of_a_cell():
    from dred.tasks.gridworld.generators.masked.bound import shown

    cells = jnp.array([[[START, 1, 2], [GOAL, 3, 0]]])
    known = jnp.array([[[ITS_CLASS, ITS_CLASS, ALL], [ITS_CLASS, ITS_CLASS, NOTHING]]])
    assert shown(cells, known).tolist() == [[[FLOOR, SOLID, 2], [GOAL, FLOOR, UNKNOWN]]]
    whole = jnp.arange(SEEN)[None, None]
    assert classes_of(whole)[0, 0].tolist() == [
        FLOOR, SOLID, SOLID, FLOOR, FLOOR, GOAL, UNKNOWN, OUTSIDE, FLOOR, SOLID
    ]  # fmt: skip


@given(levels(sizes=FEW_SIZES))
@settings(max_examples=30)
def test_steps_to_the_goal_are_those_that_levels_are_made_by(level):
    """The distances of the level, and of what cannot be reached the appendix's rule."""
    expected = dred.levels.distance_to_goal(level).astype(np.int32)
    extend_distances(expected, np.empty_like(expected))
    one = jax.tree.map(lambda part: jnp.asarray(part)[None], level)
    found = np.asarray(steps_to_goal(cells_of(one)))[0]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.asarray(steps_to_goal(classes_of(cells_of(one))))[0], expected)


def test_start_and_goal_are_learned_as_they_are_drawn_among_the_cells_that_may_be_them():
    cells = jnp.array([[[GOAL, 0, START, 1]]])
    log_p = jax.random.normal(KEY, (1, 1, 4, 6))
    goal, start = (np.asarray(log_p[0, 0, :, what]) for what in (GOAL, START))

    def found(*known):
        return float(log_p_of_places(log_p, cells, jnp.array([[known]]))[0])

    early = found(NOTHING, NOTHING, ITS_CLASS, NOTHING)
    assert early == pytest.approx(goal[0] - np.log(np.exp(goal[[0, 1, 3]]).sum()))
    late = found(ITS_CLASS, ITS_CLASS, ITS_CLASS, ALL)
    assert late == pytest.approx(start[2] - np.log(np.exp(start[[1, 2]]).sum()))
    assert found(ITS_CLASS, ITS_CLASS, ALL, ALL) == 0  # the start is known
    assert found(ITS_CLASS, NOTHING, NOTHING, NOTHING) == 0  # the goal is
    gradient = jax.grad(lambda odds: log_p_of_places(odds, cells, jnp.full((1, 1, 4), ALL)).sum())
    assert np.isfinite(gradient(log_p)).all()


def test_the_way_to_the_goal_may_lead_through_what_is_not_known():
    cells = jnp.array([[[GOAL, 1, 0], [UNKNOWN, SOLID, FLOOR], [UNKNOWN, UNKNOWN, OUTSIDE]]])
    assert steps_to_goal(cells).tolist() == [[[0, 1, 2], [1, 2, 3], [2, 3, -1]]]
    nowhere = jnp.array([[[0, 1, UNKNOWN]]])
    assert steps_to_goal(nowhere).tolist() == [[[-1, -1, -1]]]
    assert not np.asarray(distance_features(nowhere)).any()


@given(levels(sizes=FEW_SIZES))
@settings(max_examples=30)
def test_the_share_of_cells_nearer_to_the_goal_is_that_of_counting_them(level):
    cells = cells_of(Level(*(jnp.asarray(part)[None] for part in level)))
    steps, is_open = steps_to_goal(cells), can_walk_on(cells)
    found = np.asarray(share_nearer(steps, is_open))[0]
    count = np.asarray(steps)[0][np.asarray(is_open)[0]]
    for (row, column), number in np.ndenumerate(np.asarray(steps)[0]):
        assert found[row, column] == pytest.approx(np.mean(count < number))


def test_a_level_in_which_the_goal_is_not_known_has_no_cells_nearer_to_it():
    steps = jnp.full((1, 2, 2), -1)
    assert not np.asarray(share_nearer(steps, steps < 0)).any()


@given(st.integers(0, 2**31 - 1), st.booleans())
@settings(max_examples=20)
def test_drawn_levels_are_proper_in_one_part_and_follow_their_key(model, seed, connected):
    def draw(seed):
        blank = jnp.full((12, 7, 7), UNKNOWN)
        return _fill(model, blank, connected, jax.random.key(seed))

    levels = draw(seed)
    assert is_proper(levels)
    assert same(levels, draw(seed))
    assert not same(levels, draw(seed + 1))
    if connected:  # where there is nowhere to go, the places are apart
        can_walk = np.asarray(can_walk_on(cells_of(levels))).sum((1, 2))
        arrays = Level(*(np.asarray(part)[can_walk > 2] for part in levels))
        assert all_connected(arrays)


def test_goal_and_start_are_drawn_by_what_the_model_says_of_each_cell(model):
    blank = jnp.full((12, 7, 7), UNKNOWN)
    wanted = np.exp(np.asarray(model(blank, jnp.zeros(12, jnp.int32))[0, ..., GOAL])).ravel()
    made = [_fill(model, blank, False, jax.random.key(seed)) for seed in range(40)]
    goals = np.concatenate([np.asarray(one.goal) for one in made]) @ (7, 1)
    found = np.bincount(goals, minlength=49) / len(goals)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=0.06)
    starts = np.concatenate([np.asarray(one.start) for one in made]) @ (7, 1)
    assert len(set(starts.tolist())) > 5


def _fill(model, cells, connected, key):
    label = jnp.zeros(len(cells), jnp.int32)
    return fitted_module._fill(model, cells, label, Looks(3, 2), connected, 1.0, key)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=20)
def test_a_level_is_filled_in_where_it_is_unknown_alone(model, seed):
    key = jax.random.key(seed)
    cells = cells_of(LEVELS)
    unknown = rectangle(cells.shape, 0.3, key=key)
    levels = _fill(model, jnp.where(unknown, UNKNOWN, cells), False, key)
    assert is_proper(levels)
    is_kept = ~np.asarray(unknown)
    np.testing.assert_array_equal(np.asarray(cells_of(levels))[is_kept], np.asarray(cells)[is_kept])
    assert same(_fill(model, cells, True, key)[:3], LEVELS[:3])  # nothing is unknown


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=20)
def test_in_one_part_what_is_known_changes_only_where_it_cannot_be_reached(model, seed):
    key = jax.random.key(seed)
    cells = cells_of(LEVELS)
    unknown = rectangle(cells.shape, 0.3, key=key)
    made = _fill(model, jnp.where(unknown, UNKNOWN, cells), True, key)
    assert is_proper(made) and all_connected(Level(*(np.asarray(part) for part in made)))
    before, after = np.asarray(cells), np.asarray(cells_of(made))
    changed = ~np.asarray(unknown) & (before != after)
    was_walked_on = np.asarray(can_walk_on(cells))
    assert was_walked_on[changed].all()  # walls and lava stay


def test_the_order_puts_neighbours_far_apart():
    order = np.asarray(order_of((5, 8, 8), key=KEY))
    assert (np.sort(order.reshape(5, -1), axis=1) == np.arange(64)).all()
    first = np.argwhere(order[0] < 4)
    gaps = [abs(a - b).max() for a, b in itertools.combinations(first, 2)]
    assert min(gaps) == 4  # those of a quarter of a quarter


def test_a_rectangle_has_about_its_share_and_lies_anywhere():
    inside = np.asarray(rectangle((400, 11, 13), 0.25, key=KEY))
    assert 0.2 < inside.mean() < 0.3
    assert inside.any(0).all()
    for one in inside[:20]:
        rows, columns = one.any(1), one.any(0)
        assert np.array_equal(one, rows[:, None] & columns[None])
        assert np.diff(np.flatnonzero(rows)).max(initial=1) == 1
    assert np.asarray(rectangle((9, 3, 3), 1e-6, key=KEY)).sum((1, 2)).tolist() == [1] * 9


def test_looks_draw_the_goal_then_classes_corrections_the_start_and_what_cells_are():
    looks = Looks(steps=4, corrections=2)
    assert (looks.start, looks.all) == (7, 12)
    shares = [float(looks.share(jnp.int32(number))) for number in range(looks.all)]
    assert shares == [0, 1 / 16, 1 / 4, 9 / 16, 1, 1, 1, 0, 1 / 16, 1 / 4, 9 / 16, 1]
    corrects = [bool(looks.corrects(jnp.int32(number))) for number in range(looks.all)]
    assert [number for number, is_one in enumerate(corrects) if is_one] == [5, 6]


def test_fewer_looks_mean_as_many_fewer_corrections():
    config = MaskedConfig(draw_steps=8, corrections=16)
    assert looks_of(config) == Looks(8, 16)
    assert looks_of(config, 4) == Looks(4, 8)
    assert looks_of(config, 32) == Looks(32, 16)


def test_floor_that_is_not_of_the_largest_part_is_lost_and_what_lies_around_drawn_again():
    cells = jnp.array([[FLOOR, SOLID, SOLID, SOLID], [SOLID, SOLID, GOAL, FLOOR]])[None]
    lost = is_lost(cells)
    assert np.argwhere(np.asarray(lost)[0]).tolist() == [[0, 0]]
    assert np.asarray(around(lost))[0].astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_the_largest_part_is_kept():
    part = jnp.array([[3, 3, 0, 6, 6, 6], [3, 3, 3, 0, 6, 6], [0, 0, 5, 0, 0, 0]])
    assert largest_part(part).tolist() == [6, 3, 5]


def test_levels_become_cells_and_cells_levels_again():
    cells = cells_of(LEVELS)
    number = [np.asarray(cells).reshape(12, -1) == what for what in (GOAL, START)]
    assert all((one.sum(1) == 1).all() for one in number)
    again = level_of(cells, *(jnp.array(one.argmax(1)) for one in number))
    assert same(again[:3], LEVELS[:3])


def test_squares_hold_each_cell_once():
    cells = jnp.arange(15).reshape(1, 3, 5, 1)
    found = np.asarray(squares(cells, 7))[0]
    assert found.shape == (2, 3, 4)
    assert found[0, 0].tolist() == [0, 1, 5, 6]
    assert found[1, 2].tolist() == [14, 7, 7, 7]  # beyond the edge
    two = np.asarray(squares(jnp.concatenate([cells, -cells], axis=-1), 0))[0]
    assert two[0, 0].tolist() == [0, 0, 1, -1, 5, -5, 6, -6]


def test_the_model_sees_no_unknown_cell_and_all_that_is_known(model):
    cells = cells_of(LEVELS)[:1]
    hidden = model(cells.at[0, 3, 3].set(UNKNOWN), NONE)
    other = model(cells.at[0, 3, 3].set(UNKNOWN).at[0, 6, 6].set((cells[0, 6, 6] + 1) % 4), NONE)
    assert float(abs(hidden - other)[0, 0, 0].max()) > 0  # from the opposite corner
    assert float(abs(hidden - model(cells.at[0, 3, 3].set(UNKNOWN), NONE + 1)).max()) > 0
    np.testing.assert_allclose(jnp.exp(hidden).sum(-1), 1.0, rtol=1e-5)


def test_new_levels_in_training_are_those_drawn_ahead_or_drawn_anew(fitted):
    filler = GENERATORS["masked"].load(fitted.path, DATASET)
    given = GeneratorInput(LEVELS, jax.tree.map(lambda part: part[:5], LEVELS), filler)
    propose = jax.jit(GENERATORS["masked"].propose, static_argnums=1)
    ahead = pictures(dred.levels.load(fitted.path / "ahead.npz").levels, DATASET.shape)
    assert len(ahead) == SET["ahead"]

    def found(settings, key):
        levels = propose(given, settings, key)
        return pictures(Level(*(np.asarray(part) for part in levels)), DATASET.shape)

    assert (nearest_distances(found(MaskedDrawConfig(), KEY), ahead) == 0).all()
    assert not np.array_equal(
        found(MaskedDrawConfig(), KEY), found(MaskedDrawConfig(), jax.random.key(1))
    )
    assert (nearest_distances(found(MaskedDrawConfig(ahead=False), KEY), ahead) > 0).all()


def test_levels_drawn_ahead_may_have_sizes_that_the_dataset_has_not(fitted, tmp_path):
    folder = tmp_path / "larger"
    shutil.copytree(fitted.path, folder)
    facts = json.loads((folder / "generator.json").read_text())
    facts["config"] |= {"ahead": 6, "ahead_sizes": [9, 11]}
    (folder / "generator.json").write_text(json.dumps(facts))
    draw_ahead(load(folder), folder / "ahead.npz", KEY)
    ahead = dred.levels.load(folder / "ahead.npz")
    assert ahead.sizes == [((7, 7), 3), ((9, 9), 3)]
    new, edits = GENERATORS["masked"], GENERATORS["masked-edits"]
    assert is_proper(ahead.levels) and new.digest(folder) != new.digest(fitted.path)
    filler = new.load(folder, DATASET)
    wide = new.widen(DATASET.levels, MaskedDrawConfig(), filler)
    assert wide.tiles.shape == (12, 9, 9)
    levels = jax.tree.map(jnp.asarray, wide)
    parents = jax.tree.map(lambda part: part[jnp.arange(40) % 12], levels)
    made = new.propose(GeneratorInput(levels, parents, filler), MaskedDrawConfig(), KEY)
    made = Level(*(np.asarray(part) for part in made))
    assert is_proper(made) and {shape for shape, _ in counted_sizes(made)} == {(7, 7), (9, 9)}
    with pytest.raises(ConfigError, match=r"candidates .=2. compares levels"):
        new.widen(DATASET.levels, MaskedDrawConfig(candidates=2), filler)
    with pytest.raises(ConfigError, match="of the one size"):
        edits.widen(wide, MaskedEditsConfig(), filler)
    assert edits.widen(DATASET.levels, MaskedEditsConfig(), filler) == DATASET.levels


def test_the_farthest_of_several_candidates_is_taken(fitted):
    filler = GENERATORS["masked"].load(fitted.path, DATASET)
    given = GeneratorInput(LEVELS, jax.tree.map(lambda part: part[:5], LEVELS), filler)
    propose = jax.jit(GENERATORS["masked"].propose, static_argnums=1)
    many = GeneratorInput(
        LEVELS,
        jax.tree.map(lambda part: jnp.tile(part[:5], (3,) + (1,) * (part.ndim - 1)), LEVELS),
        filler,
    )
    drawn = propose(many, MaskedDrawConfig(), KEY)
    kept = propose(given, MaskedDrawConfig(candidates=3), KEY)
    distance = np.asarray(distance_to_nearest(cells_of(drawn), cells_of(LEVELS)))
    arrays = Level(*(np.asarray(part) for part in drawn))
    ours, theirs = (pictures(some, DATASET.shape) for some in (arrays, DATASET.levels))
    np.testing.assert_array_equal(distance, nearest_distances(ours, theirs))
    best = distance.reshape(5, 3).argmax(1) + 3 * np.arange(5)
    assert same(kept, jax.tree.map(lambda part: part[best], drawn))


TWO = make("cave-escape-train", count=64, size=9)  # 16 levels of each structure


def test_structures_have_labels_where_the_dataset_names_enough_of_them():
    found = structures_of(TWO)
    assert found.names == tuple(sorted(TWO.structures))
    assert [found.names[label - 1] for label in found.label] == TWO.structure.tolist()
    np.testing.assert_allclose(np.exp(found.log_shares()), [0, 0.25, 0.25, 0.25, 0.25], rtol=1e-6)
    assert found.label_of("maze_wall") == 1 + found.names.index("maze_wall")
    with pytest.raises(UnknownNameError, match="structure of these levels"):
        found.label_of("maze_wal")
    few = structures_of(DATASET)
    assert (few.names, set(few.label.tolist())) == ((), {0})
    assert np.exp(few.log_shares()).tolist() == [1.0]


def test_a_structure_is_learned_by_the_symmetric_copies_that_are_like_it():
    """The walls of one of them turn one way, so that most of its copies have other windows."""
    found = structures_of(make("cave-escape-train", count=512))
    for name, copies in zip(found.names, found.copies[1:], strict=True):
        assert copies[0]
        assert copies.sum() == (2 if name == "maze_wall" else 8), name
    plain = structures_of(TWO, symmetries=False)
    assert (plain.copies == (np.arange(8) == 0)).all()
    wide = Level(*(np.asarray(part) for part in LEVELS))._replace(tiles=LEVELS.tiles[:, :5])
    assert not like_copies(wide)[1::2].any()


def test_a_model_fitted_to_structures_makes_those_that_are_named(tmp_path):
    model = dred.fit(TWO, out=tmp_path / "g", model="masked", set={**SET, "epochs": 1})
    labels = np.asarray(model.labels(4000, key=KEY))
    assert np.bincount(labels).tolist() == [0, 1000, 1000, 1000, 1000]
    assert (labels[:1000] != 1).any()  # in a drawn order
    assert np.asarray(model.labels(1, key=KEY)).shape == (1,)
    assert (
        np.asarray(model.labels(3, "maze_wall", key=KEY)).tolist()
        == [model.structures.label_of("maze_wall")] * 3
    )
    assert is_proper(model.sample(3, key=KEY, structure="maze_wall"))


def test_a_fitted_model_makes_levels_of_any_size_and_says_how_likely_they_are(fitted):
    assert (fitted.kind, fitted.modes) == ("masked", ("new", "edit"))
    assert fitted.connected
    for mode in fitted.modes:
        assert is_proper(fitted.sample(12, mode=mode, key=KEY))
    larger = fitted.sample(3, key=KEY, shape=(10, 10))
    assert larger.tiles.shape == (3, 10, 10)
    assert is_proper(larger)
    found = fitted.log_likelihood(larger, key=KEY, samples=4)
    assert found.shape == (3,)
    assert (found < 0).all()
    with pytest.raises(DatasetError, match="makes levels of the size it was fitted to"):
        fitted.sample(3, mode="edit", key=KEY, shape=(10, 10))
    with pytest.raises(ConfigError, match="mode"):
        fitted.sample(3, mode="prior", key=KEY)
    assert "levels held back" in fitted.words()


def test_a_fit_learns_and_keeps_the_weights_that_are_best_on_levels_held_back(fitted):
    rows = [json.loads(line) for line in (fitted.path / "history.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[-1]["bound/train"] > rows[0]["bound/train"]
    kept = load(fitted.path)
    assert jax.tree.all(jax.tree.map(np.array_equal, kept.model, fitted.model))
    blank = FittedMasked(MaskedModel(TINY, key=KEY), TINY, DATASET)
    chosen = held_back_levels(12, TINY.validation_fraction, key=jax.random.key(0))
    others = Level(*(part[chosen] for part in DATASET.levels))
    better, worse = (one.log_likelihood(others, key=KEY).mean() for one in (fitted, blank))
    assert better > worse


def test_a_fit_stops_when_it_no_longer_gets_better():
    def rows(*bounds):
        return [{"bound/held_back": float(bound)} for bound in bounds]

    assert not has_stopped(rows(-5, -4, -4.5, -4.1), 3)
    assert has_stopped(rows(-5, -4, -4.5, -4.1, -4.2), 3)
    assert not has_stopped(rows(-5, -4, -4.5, -4.1, -3.9), 3)


def test_an_interrupted_fit_goes_on_to_the_same_weights(fitted, tmp_path, monkeypatch):
    from dred.tasks.gridworld.generators.folder import FitFolder

    monkeypatch.setattr("dred.tasks.gridworld.generators.folder.SAVE_EVERY", 2)
    note = FitFolder.note

    def stop(self, row, fitting):
        note(self, row, fitting)
        if int(fitting.epochs) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="2 epochs are"):
        patch.setattr(FitFolder, "note", stop)
        dred.fit(DATASET, out=tmp_path / "cut", model="masked", set=SET)
    assert not (tmp_path / "cut").exists()
    again = dred.fit(DATASET, out=tmp_path / "cut", model="masked", set=SET)
    assert jax.tree.all(jax.tree.map(np.array_equal, again.model, fitted.model))
    history = (fitted.path / "history.jsonl").read_text()
    assert (tmp_path / "cut" / "history.jsonl").read_text() == history
    with pytest.raises(ConfigError, match="not a generator that was fitted to these levels"):
        dred.fit(DATASET, out=tmp_path / "cut", model="masked", set={**SET, "epochs": 2})


@pytest.mark.long
def test_a_killed_fit_goes_on_to_the_same_weights(tmp_path):
    DATASET.save(tmp_path / "train.npz")
    words = ["fit", "--levels", f"{tmp_path}/train.npz", "--model", "masked", "--epochs", "30"]
    main([*words, "--out", str(tmp_path / "whole")])
    stopped_after(
        "killed.partial/state.npz", signal.SIGKILL, [*words, "--out", tmp_path / "killed"]
    )
    assert (tmp_path / "killed.partial").exists()
    main([*words, "--out", str(tmp_path / "killed")])
    one, other = (checkpoint.read(tmp_path / name / "best.npz") for name in ("whole", "killed"))
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_wrong_folders_and_settings_are_refused_in_a_paragraph(fitted, tmp_path):
    load_for = GENERATORS["masked"].load
    assert load_for(fitted.path, DATASET).config.draw_steps == 3
    with pytest.raises(DatasetError, match="was fitted to other levels"):
        load_for(fitted.path, make("cave-escape-train", count=11, size=9))
    with pytest.raises(DatasetError, match="Fit a generator to the levels to train on"):
        load_for(fitted.path, make("cave-escape-train", count=12, size=11))
    with pytest.raises(ConfigError, match="is a generator of another kind"):
        GENERATORS["vae"].load(fitted.path, DATASET)
    with pytest.raises(ConfigError, match=r"has no generator\.json"):
        dred.generators.load(tmp_path)
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / "generator.json").write_text('{"kind": "mask"}')
    with pytest.raises(CheckpointError, match=r"'mask'.*known are"):
        dred.generators.load(odd)
    for settings_of, change, said in (
        (MaskedConfig, {"steps_between": ()}, "must name 1 to 64 layers"),
        (MaskedConfig, {"size": 2**40}, "size"),
        (MaskedConfig, {"average": 1.0}, "average"),
        (MaskedConfig, {"validation_fraction": 0.0}, "between 0 and 1"),
        (MaskedConfig, {"draw_steps": 0}, "draw_steps"),
        (MaskedConfig, {"corrections": -1}, "corrections"),
        (MaskedConfig, {"ahead": -1}, "ahead"),
        (MaskedConfig, {"ahead_sizes": (15, 3)}, "ahead_sizes"),
        (MaskedDrawConfig, {"candidates": 0}, "candidates"),
        (MaskedDrawConfig, {"temperature": 0.0}, "temperature"),
        (MaskedEditsConfig, {"share": 0.0}, "share"),
        (MaskedEditsConfig, {"steps": -1}, "steps"),
    ):
        with pytest.raises(ConfigError, match=said):
            replace(settings_of(), **change)
    with pytest.raises(ConfigError, match="size"):
        main(["generate", str(fitted.path), "--size", "3", "--out", f"{tmp_path}/x.npz", "--debug"])


def test_levels_of_another_size_are_made_by_the_command(fitted, tmp_path, capsys):
    words = ["generate", fitted.path, "--count", "3", "--size", "12", "--out", tmp_path / "x.npz"]
    main([str(word) for word in words])
    made = dred.levels.load(tmp_path / "x.npz")
    assert made.shape == (10, 10)
    assert set(made.structure) == {"masked-new"}
    assert "3 levels" in capsys.readouterr().out
