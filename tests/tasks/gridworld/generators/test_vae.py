"""The graph VAE: its graph, its size, its bound, and the levels it draws."""

import csv
import json
import shutil
from dataclasses import fields, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dred
from dred import checkpoint
from dred.cli import main
from dred.commands.fit import candidates_of, search
from dred.errors import CheckpointError, ConfigError, DatasetError
from dred.levels import from_text, make
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.fitting import folds
from dred.tasks.gridworld.generators.folder import FitFolder
from dred.tasks.gridworld.generators.parts import all_connected, parts_of
from dred.tasks.gridworld.generators.quality import assess
from dred.tasks.gridworld.generators.symmetry import symmetric_copy
from dred.tasks.gridworld.generators.vae.elbo import divergence, log_likelihoods, loss_of, targets
from dred.tasks.gridworld.generators.vae.fit import fit
from dred.tasks.gridworld.generators.vae.fitted import FittedVAE
from dred.tasks.gridworld.generators.vae.graph import CLASSES, level_graph, sum_of_neighbours
from dred.tasks.gridworld.generators.vae.latent import pairs_and_shares
from dred.tasks.gridworld.generators.vae.model import (
    Drawing,
    Latent,
    LevelVAE,
    Norm,
    with_running_values,
)
from dred.tasks.gridworld.generators.vae.sample import (
    between,
    draw_levels,
    likeliest_part,
)
from dred.tasks.gridworld.generators.vae.search import (
    JUDGED_BY,
    SEARCHED,
    SIZES,
    candidates,
    drawn_settings,
    released_bound,
    searched_settings,
)
from dred.tasks.gridworld.levels.level import EMPTY, LAVA, MOSS, WALL, Level, as_batch, faults
from dred.tasks.gridworld.levels.paths import distances_to_goal
from tests.strategies import FEW_SIZES
from tests.strategies import levels as any_levels

SMALL = VAEConfig(latent_size=8, graph_size=4, encoder_sizes=(16,), decoder_sizes=(16, 16))


def arrays(levels):
    return Level(*(jnp.asarray(part) for part in levels))


def oracle_graph(level, edges):
    """The edges of a level's graph, as the rules say them."""
    height, width = level.tiles.shape
    graph = nx.Graph()
    cells = [(row, column) for row in range(height) for column in range(width)]
    graph.add_nodes_from(cells)
    walk = {cell: level.tiles[cell] in (EMPTY, MOSS) for cell in cells}
    goal, start = tuple(map(int, level.goal)), tuple(map(int, level.start))
    for row, column in cells:
        for other in ((row + 1, column), (row, column + 1)):
            if other in walk and (edges == "grid" or walk[row, column] == walk[other]):
                graph.add_edge((row, column), other)
    if edges == "released":
        graph.add_edge(goal, start)
        graph.add_edges_from((goal, cell) for cell in cells if level.tiles[cell] in (LAVA, MOSS))
    return graph


@pytest.mark.parametrize("edges", ["released", "grid"])
@given(any_levels(sizes=FEW_SIZES))
def test_the_graph_agrees_with_networkx(edges, level):
    height, width = level.tiles.shape
    ours = level_graph(level, edges)
    matrix = np.zeros((height * width, height * width))
    np.add.at(matrix, (np.asarray(ours.receivers), np.asarray(ours.senders)), ours.weight)
    graph = oracle_graph(level, edges)
    np.testing.assert_array_equal(matrix, nx.to_numpy_array(graph, nodelist=sorted(graph)))
    hidden = np.random.default_rng(0).normal(size=(height * width, 3)).astype(np.float32)
    np.testing.assert_allclose(
        sum_of_neighbours(ours, jnp.asarray(hidden)), matrix @ hidden, atol=1e-4
    )
    nodes = np.asarray(ours.nodes)
    assert (nodes.sum(axis=1) == 1).all()
    assert nodes[:, 4].argmax() == level.start[0] * width + level.start[1]
    assert nodes[:, 5].argmax() == level.goal[0] * width + level.goal[1]


def test_the_released_model_has_2_935_017_parameters():
    model = LevelVAE(VAEConfig(), 13 * 13, key=jax.random.key(0))
    norms = [
        part
        for part in jax.tree.leaves(model, is_leaf=lambda part: isinstance(part, Norm))
        if isinstance(part, Norm)
    ]
    running = sum(norm.mean.size + norm.variance.size for norm in norms)
    assert sum(leaf.size for leaf in jax.tree.leaves(model)) - running == 2_935_017


def test_the_target_is_half_moss_half_empty_at_start_and_goal():
    aim = np.asarray(targets(arrays(as_batch(from_text(">,#~G")))))[0]
    by_kind = {kind: aim[:, index].tolist() for index, kind in enumerate(CLASSES)}
    assert by_kind[MOSS] == [0.5, 1, 0, 0, 0.5]
    assert by_kind[EMPTY] == [0.5, 0, 0, 0, 0.5]
    assert by_kind[WALL] == [0, 0, 1, 0, 0]
    assert by_kind[LAVA] == [0, 0, 0, 1, 0]


def test_likelihoods_agree_with_plain_sums():
    levels = make("cave-escape-train", count=6, size=9).levels
    random = np.random.default_rng(0)
    drawing = Drawing(
        *(random.normal(size=shape).astype(np.float32) for shape in ((6, 49, 4), (6, 49), (6, 49)))
    )
    ours = log_likelihoods(Drawing(*map(jnp.asarray, drawing)), arrays(levels))
    for index in range(6):
        tiles = levels.tiles[index].ravel()
        goal, start = (int(p[index] @ [7, 1]) for p in (levels.goal, levels.start))
        odds = drawing.layout[index]
        log_p = odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))
        total = 0.0
        for cell in range(49):
            column = {kind: log_p[cell, place] for place, kind in enumerate(CLASSES)}
            if cell in (goal, start):
                total += 0.5 * column[MOSS] + 0.5 * column[EMPTY]
            else:
                total += column[int(tiles[cell])]
        assert float(ours[0][index]) == pytest.approx(total / 49, abs=1e-4)
        free = [cell for cell in range(49) if tiles[cell] in (EMPTY, MOSS)]
        s = drawing.start[index]
        assert float(ours[2][index]) == pytest.approx(
            s[start] - np.log(np.exp(s[free]).sum()), abs=1e-4
        )
        free.remove(start)
        g = drawing.goal[index]
        assert float(ours[1][index]) == pytest.approx(
            g[goal] - np.log(np.exp(g[free]).sum()), abs=1e-4
        )


# The start is drawn first, so its head must learn that it is not on the goal's cell. It once never
# heard of that cell, since training chose the start among all cells but the goal.
SURE = {".": EMPTY, ",": MOSS, "#": WALL, "~": LAVA, ">": EMPTY, "G": EMPTY}


def sure_of(picture, start, goal):
    """What a decoder says that is sure of a layout in one row, with these odds of the places."""
    layout = [[40.0 if SURE[cell] == kind else 0.0 for kind in CLASSES] for cell in picture]
    places = (jnp.log(jnp.array([odds], jnp.float32)) for odds in (goal, start))
    return Drawing(jnp.array([layout]), *places)


def test_training_masks_fit_the_order_of_sampling_by_hand():
    picture = ">,.G#"
    level = arrays(as_batch(from_text(picture)))
    drawing = sure_of(picture, start=[1, 2, 3, 4, 90], goal=[5, 1, 1, 2, 90])
    _, goal, start = log_likelihoods(drawing, level)
    assert float(jnp.exp(start[0])) == pytest.approx(1 / (1 + 2 + 3 + 4))  # the goal's cell counts
    assert float(jnp.exp(goal[0])) == pytest.approx(2 / (1 + 1 + 2))  # the start's cell does not

    def start_given(odds):
        return log_likelihoods(drawing._replace(start=odds), level)[2][0]

    slope = jax.grad(start_given)(drawing.start)[0]
    np.testing.assert_allclose(slope, [1 - 0.1, -0.2, -0.3, -0.4, 0], atol=1e-6)


def test_training_masks_fit_the_order_of_sampling_drawn_as_often_as_probable():
    picture, count = "..,.#~", 20_000
    drawing = sure_of(picture, start=[1, 2, 3, 4, 90, 90], goal=[4, 1, 3, 2, 90, 90])
    many = jax.tree.map(lambda part: jnp.repeat(part, count, axis=0), drawing)
    made = draw_levels(many, (1, 6), key=jax.random.key(0))
    drawn = np.zeros((6, 6))
    np.add.at(drawn, (np.asarray(made.start)[:, 1], np.asarray(made.goal)[:, 1]), 1 / count)
    total = 0.0
    for start in range(4):
        for goal in set(range(4)) - {start}:
            cells = [">" if i == start else "G" if i == goal else c for i, c in enumerate(picture)]
            level = arrays(as_batch(from_text("".join(cells))))
            _, log_goal, log_start = log_likelihoods(drawing, level)
            chance = float(jnp.exp(log_goal + log_start)[0])
            assert drawn[start, goal] == pytest.approx(chance, abs=4 * (chance / count) ** 0.5)
            total += chance
    assert total == pytest.approx(1.0, abs=1e-6)  # every level that can be drawn, and no other
    assert drawn.sum() == pytest.approx(1.0)


def test_training_masks_fit_the_order_of_sampling_where_no_cell_is_free():
    picture = "#.#"  # the start takes the only free cell
    drawing = sure_of(picture, start=[1, 1, 1], goal=[1, 5, 3])
    many = jax.tree.map(lambda part: jnp.repeat(part, 4000, axis=0), drawing)
    made = draw_levels(many, (1, 3), key=jax.random.key(0))
    assert (np.asarray(made.start)[:, 1] == 1).all()
    share = np.bincount(np.asarray(made.goal)[:, 1], minlength=3) / 4000
    np.testing.assert_allclose(share, [0.25, 0, 0.75], atol=0.03)  # as the head of the goal says


def test_the_divergence_of_the_prior_from_itself_is_nothing():
    zero, one = jnp.zeros((1, 5)), jnp.ones((1, 5))
    assert float(divergence(Latent(zero, one))[0]) == pytest.approx(0.0, abs=1e-5)
    expected = 5 * 0.5 * (0.25 + 4.0 - 1.0 - np.log(0.25))
    assert float(divergence(Latent(2 * one, 0.5 * one))[0]) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=20)
@given(
    hnp.arrays(np.float32, (3, 12, 4), elements=st.floats(-30, 30, width=32)),
    st.integers(0, 2**31 - 1),
)
def test_drawn_levels_are_proper_whatever_the_model_says(layout, seed):
    random = np.random.default_rng(seed)
    drawing = Drawing(
        jnp.asarray(layout),
        jnp.asarray(10 * random.normal(size=(3, 12)), jnp.float32),
        jnp.asarray(10 * random.normal(size=(3, 12)), jnp.float32),
    )
    made = draw_levels(drawing, (3, 4), key=jax.random.key(seed))
    broken = faults(Level(*(np.asarray(part) for part in made)))
    assert not [rule for rule, levels in broken.items() if levels.any()]


def test_interpolation_is_spherical_for_means_and_linear_for_deviations():
    first = Latent(jnp.array([[2.0, 0.0]]), jnp.array([[1.0, 3.0]]))
    second = Latent(jnp.array([[0.0, 2.0]]), jnp.array([[3.0, 1.0]]))
    middle = between(first, second, jnp.array([0.5]))
    np.testing.assert_allclose(middle.mean, [[2**0.5, 2**0.5]], rtol=1e-6)  # on the circle
    np.testing.assert_allclose(middle.deviation, [[2.0, 2.0]])
    for share, end in ((0.0, first), (1.0, second)):
        point = between(first, second, jnp.array([share]))
        np.testing.assert_allclose(point.mean, end.mean, atol=1e-6)
    alike = between(first, first, jnp.array([0.3]))
    np.testing.assert_allclose(alike.mean, first.mean, rtol=1e-6)  # no division by sin 0


def test_running_values_come_to_those_of_the_batch():
    levels = arrays(make("cave-escape-train", count=16, size=9).levels)
    model = LevelVAE(SMALL, 49, key=jax.random.key(0))
    graphs = jax.vmap(level_graph)(levels)
    seen = []
    by_batch = model.encode(graphs, seen)
    assert float(jnp.abs(model.encode(graphs).mean - by_batch.mean).max()) > 1e-3
    for _ in range(120):
        model = with_running_values(model, [*seen, *[(jnp.zeros(16), jnp.ones(16))] * 2])
    np.testing.assert_allclose(model.encode(graphs).mean, by_batch.mean, atol=1e-3)


def test_a_few_steps_lower_the_loss():
    levels = arrays(make("cave-escape-train", count=16, size=9).levels)
    model = LevelVAE(SMALL, 49, key=jax.random.key(0))

    @eqx.filter_jit
    def step(model):
        def loss(model):
            return loss_of(model, levels, SMALL, [], key=jax.random.key(1)).loss

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        return jax.tree.map(lambda p, g: p - 0.5 * g, model, gradient), value

    _, before = step(model)
    for _ in range(30):
        model, value = step(model)
    assert float(value) < 0.9 * float(before)


@pytest.fixture(scope="module")
def dataset():
    return make("cave-escape-train", count=24, size=9)


@pytest.fixture(scope="module")
def folder(dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "vae"
    levels = path.with_name("levels.npz")
    dataset.save(levels)
    main(["fit", "--levels", str(levels), "--out", str(path), "--epochs", "3"])
    return path


def test_a_fitted_generator_loads_and_makes_levels(folder, dataset):
    generator = dred.generators.load(folder)
    key = jax.random.key(0)
    for mode in ("interpolate", "reconstruct", "prior"):
        made = generator.sample(40, mode=mode, key=key)
        again = dred.generators.load(folder).sample(40, mode=mode, key=key)
        assert made == again  # the same key gives the same levels
        assert made.tiles.shape == (40, 7, 7)
        assert not any(broken.any() for broken in faults(made).values())
    assert generator.encode(dataset.levels).mean.shape == (24, 1024)
    assert generator.reconstruct(dataset.levels, key=key).tiles.shape == (24, 7, 7)
    history = (folder / "history.jsonl").read_text().splitlines()
    assert len(history) == 3


def test_generated_levels_are_a_set_that_says_how_good_it_is(folder, tmp_path, capsys):
    out = tmp_path / "new.npz"
    main(["generate", str(folder), "--mode", "reconstruct", "--count", "30", "--out", str(out)])
    assert "solvable" in capsys.readouterr().out
    made = dred.levels.load(out)
    assert len(made) == 30
    assert 0 <= made.meta["quality"]["solvable"] <= 1


def test_what_cannot_be_fitted_or_loaded_is_said(folder, dataset, tmp_path):
    with pytest.raises(DatasetError, match="at least 3 levels"):
        fit(dataset[:1].levels, SMALL, key=jax.random.key(0))
    dataset[:1].save(tmp_path / "one.npz")
    one = ["fit", "--levels", str(tmp_path / "one.npz"), "--out", str(tmp_path / "x"), "--debug"]
    with pytest.raises(DatasetError, match="there is 1"):
        main(one)
    with pytest.raises(ConfigError, match=r"epochs \(=0\)"):
        main([*one, "--epochs", "0"])
    assert {path.name for path in tmp_path.iterdir()} == {"one.npz"}  # nothing is left behind
    with pytest.raises(ConfigError, match="is not a generator"):
        dred.generators.load(tmp_path)
    with pytest.raises(DatasetError, match="fitted to levels of"):
        dred.generators.load(folder).encode(make("cave-escape-test", count=3, size=11).levels)
    with pytest.raises(ConfigError, match="exists already"):
        levels = folder.with_name("levels.npz")
        main(["fit", "--levels", str(levels), "--out", str(folder), "--debug"])
    cut = tmp_path / "cut"
    shutil.copytree(folder, cut)
    weights = cut / "last.npz"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(CheckpointError, match="damaged or cut short"):
        dred.generators.load(cut)


@given(any_levels(sizes=((2, 3), (3, 3), (6, 5))), st.integers(0, 7))
def test_symmetric_copies_keep_every_distance(level, symmetry):
    side = min(level.tiles.shape)
    inside = all(int(p) < side for place in (level.goal, level.start) for p in place)
    if side < 2 or not inside:
        return
    square = Level(level.tiles[:side, :side], level.goal, level.start, level.heading)
    copy = symmetric_copy(arrays(square), symmetry)
    ours, theirs = (
        distances_to_goal(as_batch(Level(*(np.asarray(part) for part in one))))[0]
        for one in (copy, square)
    )
    assert sorted(ours.ravel()) == sorted(theirs.ravel())
    assert ours[tuple(copy.start)] == theirs[tuple(square.start)]


def test_quality_by_hand(dataset):
    itself = assess(dataset.levels, dataset)
    assert (itself.valid, itself.solvable, itself.novel, itself.shift) == (1, 1, 0, 0)
    assert itself.nearest == 0
    twice = Level(*(np.concatenate([part[:4], part[:4]]) for part in dataset.levels))
    assert assess(twice, dataset).unique == 0.5
    changed = Level(*(np.array(part) for part in dataset[:5].levels))
    for index in range(5):
        empty = np.argwhere((changed.tiles[index] == WALL) | (changed.tiles[index] == LAVA))[0]
        tile = changed.tiles[index][tuple(empty)]
        changed.tiles[index][tuple(empty)] = LAVA if tile == WALL else WALL
    quality = assess(changed, dataset)
    assert quality.novel == 1
    assert quality.nearest == 1  # one cell away from the level it came from


def test_drawn_settings_are_in_the_space_that_is_searched():
    drawn = [drawn_settings(VAEConfig(), np.random.default_rng([0, i])) for i in range(200)]
    assert {config.graph_layers for config in drawn} == {2, 3, 4}
    assert {size for config in drawn for size in config.encoder_sizes} == set(SIZES)
    assert all(0.005 <= config.beta <= 0.5 for config in drawn)
    kept = {"edges", "batch_size", "epochs", "validation_fraction", "augment_symmetries"}
    kept |= {"threshold", "connected"}
    assert {field.name for field in fields(VAEConfig)} == kept | set(SEARCHED)
    assert all(getattr(c, name) == getattr(VAEConfig(), name) for c in drawn for name in kept)


@settings(max_examples=30)
@given(hnp.arrays(np.bool_, (2, 5, 6)))
def test_parts_agree_with_networkx(can_walk):
    ours = np.asarray(parts_of(jnp.asarray(can_walk)))
    assert ((ours > 0) == can_walk).all()
    for number, walk in zip(ours, can_walk, strict=True):
        graph = nx.grid_2d_graph(5, 6).subgraph([tuple(cell) for cell in np.argwhere(walk)])
        theirs = {frozenset(part) for part in nx.connected_components(graph)}
        found = {
            frozenset(tuple(map(int, cell)) for cell in np.argwhere(number == part))
            for part in np.unique(number[number > 0])
        }
        assert found == theirs


def test_the_part_is_chosen_where_start_and_goal_are_likeliest():
    part = jnp.array([[1, 1, 0, 4, 5, 5, 5]])  # three parts, the last is the largest
    sure = jnp.log(jnp.array([[0.3, 0.3, 0.1, 0.0, 0.1, 0.1, 0.1]]) + 1e-9)
    drawing = Drawing(jnp.zeros((1, 7, 4)), sure, sure)
    assert likeliest_part(part, drawing).tolist() == [1]
    alike = jnp.zeros((1, 7))
    assert likeliest_part(part, Drawing(drawing.layout, alike, alike)).tolist() == [5]


@settings(max_examples=20)
@given(hnp.arrays(np.float32, (4, 30, 4), elements=st.floats(-3, 3, width=32)))
def test_connected_levels_have_no_cell_that_cannot_be_reached(layout):
    random = np.random.default_rng(0)
    places = (jnp.asarray(random.normal(size=(4, 30)), jnp.float32) for _ in range(2))
    made = draw_levels(
        Drawing(jnp.asarray(layout), *places), (5, 6), connected=True, key=jax.random.key(0)
    )
    levels = Level(*(np.asarray(part) for part in made))
    can_walk = (levels.tiles == EMPTY) | (levels.tiles == MOSS)
    distances = distances_to_goal(levels)
    for index in range(4):
        if can_walk[index].sum() > 2:  # else start and goal were put somewhere
            assert (distances[index][can_walk[index]] >= 0).all()


def test_levels_are_drawn_connected_only_if_the_dataset_is():
    dataset = make("cave-escape-train", count=8, size=9)
    assert all_connected(dataset.levels)
    config = replace(SMALL, connected=True)
    model = LevelVAE(config, 49, key=jax.random.key(0))
    assert FittedVAE(model, config, dataset).space.connected
    apart = np.array(dataset.tiles)
    apart[0] = WALL
    apart[0, 0, 0] = apart[0, 6, 6] = EMPTY
    goal, start = (np.array(part) for part in (dataset.goal, dataset.start))
    goal[0], start[0] = (0, 0), (6, 6)
    split = replace(dataset, tiles=apart, goal=goal, start=start)
    assert not all_connected(split.levels)
    assert not FittedVAE(model, config, split).space.connected


def test_pairs_are_disjoint_and_points_evenly_spaced():
    first, second, share = pairs_and_shares(20, 36, 6, with_ends=True, key=jax.random.key(1))
    assert len(set(first.tolist()) | set(second.tolist())) == 12
    np.testing.assert_allclose(share, np.tile([0, 0.2, 0.4, 0.6, 0.8, 1], 6), atol=1e-6)
    assert first.reshape(6, 6).std() > 0
    assert (first.reshape(6, 6) == first.reshape(6, 6)[:, :1]).all()
    _, _, inside = pairs_and_shares(20, 4, 1, with_ends=False, key=jax.random.key(1))
    np.testing.assert_allclose(inside, [0.2, 0.4, 0.6, 0.8], atol=1e-6)
    few = pairs_and_shares(3, 5, 6, with_ends=True, key=jax.random.key(1))
    assert few[0][0] != few[1][0]  # as many pairs as there can be


def test_each_level_is_held_back_in_one_fold():
    parts = list(folds(23, 5, key=jax.random.key(0)))
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    assert [len(part) for part in parts] == [5, 5, 5, 5, 3]


def test_an_interrupted_fit_goes_on_to_the_same_weights(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("dred.tasks.gridworld.generators.folder.SAVE_EVERY", 2)
    levels = tmp_path / "levels.npz"
    dataset.save(levels)
    command = ["fit", "--levels", str(levels), "--epochs", "5", "--debug", "--out"]
    main([*command, str(tmp_path / "whole")])
    note = FitFolder.note

    def stop(self, row, fitting):
        note(self, row, fitting)
        if int(fitting.epochs) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="same command"):
        patch.setattr(FitFolder, "note", stop)
        main([*command, str(tmp_path / "cut")])
    assert not (tmp_path / "cut").exists()
    epochs = []
    monkeypatch.setattr(
        FitFolder,
        "note",
        lambda self, row, now: (epochs.append(row["epoch"]), note(self, row, now)),
    )
    main([*command, str(tmp_path / "cut")])
    assert epochs == [3, 4, 5]  # those after the last save
    for name in ("last", "best"):
        one, other = (checkpoint.read(tmp_path / w / f"{name}.npz") for w in ("whole", "cut"))
        assert all((one[key] == other[key]).all() for key in one)
    assert (tmp_path / "cut/history.jsonl").read_text() == (
        tmp_path / "whole/history.jsonl"
    ).read_text()
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {
        "generator.json",
        "levels.npz",
        "best.npz",
        "last.npz",
        "history.jsonl",
        "curves.png",
    }


def test_folds_score_each_candidate_of_a_sweep(dataset, tmp_path, capsys, monkeypatch):
    tiny = replace(SMALL, graph_layers=1, decoder_sizes=(8,), epochs=1)
    monkeypatch.setattr(
        "dred.tasks.gridworld.generators.vae.search.drawn_settings",
        lambda base, random: replace(tiny, beta=random.uniform(0.1, 1.0)),
    )
    monkeypatch.setattr("dred.commands.fit.report", lambda *anything: None)
    levels, out = tmp_path / "levels.npz", tmp_path / "vae"
    dataset.save(levels)
    command = ["fit", "--levels", str(levels), "--out", str(out), "--epochs", "1"]
    main([*command, "--sweep", "2", "--folds", "2"])
    rows = [json.loads(line) for line in (out / "sweep.jsonl").read_text().splitlines()]
    assert [(row["number"], row["fold"]) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    means = {
        number: np.mean([row["elbo/held_back"] for row in rows if row["number"] == number])
        for number in (0, 1)
    }
    best = max(means, key=lambda number: means[number])
    table = list(csv.DictReader((out / "sweep.csv").read_text().splitlines()))
    assert [int(row["number"]) for row in table] == [best, 1 - best]
    for row in table:
        assert float(row["bound"]) == pytest.approx(means[int(row["number"])])
        assert row["fits"] == "2"
    chosen = dred.generators.load(out).config
    for name, value in rows[2 * best]["settings"].items():
        assert getattr(chosen, name) == (tuple(value) if isinstance(value, list) else value)
    parts = [json.loads(line) for line in (out / "folds.jsonl").read_text().splitlines()]
    assert parts == rows[2 * best : 2 * best + 2]  # known already, and not fitted again
    assert sum(part["levels"] for part in parts) == len(dataset)
    printed = capsys.readouterr().out
    assert "2 folds: bound" in printed
    assert "| bound, held back (nats) | solvable | 2 |" in printed
    assert (out / "relations.csv").exists() and (out / "sweep.png").exists()


def row_of(number, fold, bound, **others):
    """A fit of a search as it might be."""
    parts = {f"{name}/held_back": -1.0 for name in ("layout", "goal", "start", "divergence")}
    judged = dict.fromkeys(JUDGED_BY, 0.5)
    settings = {"latent_size": 64}
    bounds = {"elbo/held_back": bound, "elbo/train": bound}
    return {
        "number": number,
        "fold": fold,
        "levels": 12,
        **parts,
        **bounds,
        **judged,
        "settings": settings,
        **others,
    }


def test_folds_score_each_candidate_of_a_sweep_by_their_mean():
    rows = [
        row_of(0, 0, -10.0, solvable=0.2),
        row_of(0, 1, -90.0, solvable=0.4),  # the best fit of all is not that of the best
        row_of(1, 0, -40.0, shift=0.1),
        row_of(1, 1, -44.0, shift=0.3),
        row_of(2, 0, -1.0),
        row_of(2, 1, None),  # came to nothing
    ]
    best, other, worst = candidates(rows)
    assert (best.number, best.fits, best.bound, best.bound_deviation) == (1, 2, -42.0, 2.0)
    assert best.shift == pytest.approx(0.2)
    assert (other.number, other.bound) == (0, -50.0)
    assert other.solvable == pytest.approx(0.3)
    assert worst.number == 2 and np.isnan(worst.bound)
    parts = {"layout": -0.3, "goal": -2.0, "start": -4.0, "divergence": 128.0}
    held_back = {f"{name}/held_back": value for name, value in parts.items()}
    assert released_bound(row_of(0, 0, -1.0, **held_back)) == pytest.approx(-6.3 / 3 - 2.0)


def test_an_interrupted_sweep_goes_on_where_it_was(dataset, tmp_path, monkeypatch, capsys):
    tried = []

    def pretend(dataset, config, held_back, held_out, *, key):
        if len(tried) == 3:
            tried.append("stop")
            raise KeyboardInterrupt
        tried.append((config.beta, len(held_back)))
        row = row_of(0, 0, -config.beta, settings=searched_settings(config))
        return {name: value for name, value in row.items() if name not in ("number", "fold")}

    monkeypatch.setattr("dred.tasks.gridworld.generators.vae.search.trial", pretend)
    drawn, key = candidates_of(SMALL, 2, seed=0), jax.random.key(0)

    def begin_or_go_on():
        folder = FitFolder(tmp_path / "vae", {"a": "task"}, dataset)
        return folder, search(folder, dataset, None, SMALL, drawn, 2, key)

    with pytest.raises(KeyboardInterrupt):
        begin_or_go_on()
    folder, chosen = begin_or_go_on()
    betas = [config.beta for config in drawn]
    assert tried == [(betas[0], 12), (betas[0], 12), (betas[1], 12), "stop", (betas[1], 12)]
    assert chosen.beta == min(betas)  # here the highest bound
    assert [row["fold"] for row in folder.rows("folds")] == [0, 1]
    assert candidates_of(SMALL, 5, seed=0)[:2] == drawn


def test_a_strip_of_interpolations_is_drawn(folder, tmp_path, capsys):
    main(["levels", "show", str(folder), "--between", "0", "5", "--out", str(tmp_path / "a.png")])
    main(["levels", "show", str(folder), "--per-row", "4", "--out", str(tmp_path / "b.png")])
    assert "12 levels between 6 pairs" in capsys.readouterr().out
    with pytest.raises(DatasetError, match="no level 24"):
        main(["levels", "show", str(folder), "--between", "0", "24", "--out", "x.png", "--debug"])


def test_large_levels_work_too(tmp_path):
    dataset = make("cave-escape-hardcore", count=6)
    config = replace(SMALL, epochs=1, connected=True)
    fitting, _ = fit(dataset.levels, config, key=jax.random.key(0))
    made = FittedVAE(fitting.model, config, dataset).sample(5, key=jax.random.key(0))
    assert made.tiles.shape == (5, 43, 43)
    assert not any(broken.any() for broken in faults(made).values())
