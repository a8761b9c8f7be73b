"""Data-regularised environment design, with levels that can be told apart and a scripted agent."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred.generators
from dred.errors import ConfigError
from dred.generation import models_for
from dred.generators import GENERATORS
from dred.levels import make
from dred.presets import METHODS, train_config
from dred.replay.distribution import probabilities
from dred.task import Generator, RunContext
from dred.tasks.gridworld.generators.vae.fitted import FittedVAE
from dred.tasks.gridworld.generators.vae.model import LevelVAE
from dred.tasks.gridworld.levels.level import EMPTY, WALL, Level
from dred.tasks.gridworld.presets import VAES
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.phases import eta_of, makers_of, mutate, score_dataset
from dred.training.state import new_setup, new_state
from dred.training.update import update

KEY = jax.random.key(0)
SIDE = 7
FORWARD = 2
FILE = make("cave-escape-train", count=12, size=9)
DATASET = Level(*(jnp.asarray(part) for part in FILE.levels))


def walks_forwards(network):
    return eqx.tree_at(lambda n: n.actor.bias, network, network.actor.bias.at[FORWARD].set(1e3))


def begin(method="vae-dred", num_steps=32, **changes):
    config = train_config(method, "smoke", GRIDWORLD.budgets)
    setup = new_setup(
        replace(
            config,
            method=replace(config.method, **changes),
            ppo=replace(config.ppo, num_steps=num_steps),
        ),
        GRIDWORLD,
    )
    state = new_state(setup, DATASET, key=KEY)
    learner = state.learner
    scripted = eqx.tree_at(lambda part: part.agent, learner, walks_forwards(learner.agent))
    return setup, replace(state, learner=scripted)


def corridor(length, *, is_open=True):
    """A level of one corridor, whose goal is so many steps ahead of the start; or behind a wall."""
    tiles = np.full((SIDE, SIDE), WALL, np.uint8)
    tiles[0] = EMPTY
    if not is_open:
        tiles[0, length - 1] = WALL
    goal, start = np.array([0, length], np.int32), np.array([0, 0], np.int32)
    return Level(tiles, goal, start, np.int8(0))


def generator_of(levels):
    batch = Level(*(jnp.asarray(np.stack(parts)) for parts in zip(*levels, strict=True)))
    return Generator(lambda given, settings, key: batch)


def proposing(setup, state, levels, monkeypatch):
    monkeypatch.setitem(GENERATORS, "vae", generator_of(levels))
    parents = jnp.arange(len(levels))
    return mutate(state, parents, context=RunContext(DATASET), setup=setup, key=KEY)


def warmed(setup, state):
    return score_dataset(state, context=RunContext(DATASET), setup=setup, key=KEY)


def return_of(setup, state, steps):
    return 1 - 0.9 * steps / setup.environment.time_limit(state.buffer.levels.world)


def test_a_level_is_admitted_only_if_it_was_solved(monkeypatch):
    setup, state = begin()
    levels = [corridor(2), corridor(3, is_open=False), corridor(4), corridor(5, is_open=False)]
    levels += [corridor(6), corridor(6, is_open=False)]
    buffer = proposing(setup, warmed(setup, state), levels, monkeypatch).buffer
    generated = np.flatnonzero(np.asarray(buffer.is_used & ~buffer.from_dataset))
    goals = {int(buffer.levels.level.goal[slot, 1]) for slot in generated}
    assert goals == {2, 4, 6}
    assert (int(buffer.num_admitted), int(buffer.num_refused)) == (3, 3)


def test_a_level_that_can_be_solved_may_be_admitted_before_it_was(monkeypatch):
    setup, state = begin(num_steps=4, admit="solvable")
    levels = [
        corridor(2),
        corridor(3, is_open=False),
        corridor(6),
    ]  # six steps are not done in four
    buffer = proposing(setup, warmed(setup, state), levels * 2, monkeypatch).buffer
    generated = np.flatnonzero(np.asarray(buffer.is_used & ~buffer.from_dataset))
    assert {int(buffer.levels.level.goal[slot, 1]) for slot in generated} == {2, 6}


def test_no_levels_are_proposed_while_eta_is_below_a_threshold(monkeypatch):
    setup, state = begin(mutation_min_eta=0.5)
    state = warmed(setup, state)
    levels = [corridor(length) for length in (1, 2, 3, 4, 5, 6)]
    half = setup.config.num_updates // 2
    for num_updates, admitted in ((0, 0), (half - 1, 0), (half, 6)):
        now = replace(state, num_updates=jnp.int32(num_updates))
        after = proposing(setup, now, levels, monkeypatch)
        assert int(after.buffer.num_admitted) == admitted


def test_the_level_played_is_the_level_scored(monkeypatch):
    setup, state = begin()
    levels = [corridor(length) for length in (5, 1, 3, 6, 2, 4)]
    after = proposing(setup, warmed(setup, state), levels, monkeypatch)
    buffer = after.buffer
    for slot in np.flatnonzero(np.asarray(buffer.is_used & ~buffer.from_dataset)):
        steps = int(buffer.levels.level.goal[slot, 1])
        expected = return_of(setup, after, steps)
        assert float(buffer.best[slot]) == pytest.approx(expected, abs=1e-5)
        assert makers_of(setup.config.method)[int(buffer.made_by[slot])] == "vae"
        assert int(buffer.parent[slot]) == -1


def test_a_full_buffer_gives_up_its_lowest_generated_score_and_never_a_dataset_level(monkeypatch):
    setup, state = begin(capacity=18)
    state = warmed(setup, state)
    first = [corridor(length) for length in (1, 2, 3, 4, 5, 6)]
    state = proposing(setup, state, first, monkeypatch)
    assert int(state.buffer.is_used.sum()) == 18
    low = state.buffer.secondary.at[12:].set(jnp.array([5.0, 0.0, 5.0, 5.0, 5.0, 0.0]))
    worthless = eqx.tree_at(lambda b: b.secondary, state.buffer, low)
    lowest = {int(worthless.levels.level.goal[slot, 1]) for slot in (13, 17)}
    state = replace(state, buffer=worthless)
    tiles = [level.tiles.copy() for level in first]
    for tile in tiles:
        tile[6, 6] = EMPTY  # so that they are other levels
    second = [level._replace(tiles=tile) for level, tile in zip(first, tiles, strict=True)]
    after = proposing(setup, state, second, monkeypatch)
    buffer = after.buffer
    assert int(buffer.is_used.sum()) == 18
    assert int(buffer.num_evicted) == 2
    old = {
        int(buffer.levels.level.goal[slot, 1])
        for slot in range(12, 18)
        if int(buffer.levels.level.tiles[slot, 6, 6]) == WALL
    }
    assert old == {1, 2, 3, 4, 5, 6} - lowest
    for one, other in zip(
        jax.tree.leaves(buffer.levels.level), jax.tree.leaves(DATASET), strict=True
    ):
        np.testing.assert_array_equal(one[:12], other)


def space_of():
    config = replace(VAES["default"], latent_size=8, encoder_sizes=(8,), decoder_sizes=(8,))
    model = LevelVAE(config, SIDE * SIDE, key=KEY)
    return FittedVAE(model, config, FILE).space


def given_for(method):
    if method == "vae-dred":
        return RunContext(DATASET, {"vae": space_of()})
    return RunContext(DATASET, models_for(METHODS[method], GRIDWORLD, FILE, None))


@pytest.mark.parametrize(
    "method", ["vae-dred", "el-dred", pytest.param("resample-dred", marks=pytest.mark.long)]
)
def test_no_level_is_generated_before_every_dataset_level_has_a_score(method):
    setup, state = begin(method, capacity=30)
    given = given_for(method)
    step = jax.jit(lambda state, key: update(state, context=given, setup=setup, key=key)[0])
    assert int(state.buffer.num_admitted + state.buffer.num_refused) == 0
    for number in range(4):
        state = step(state, jax.random.fold_in(KEY, number))
        buffer = state.buffer
        assert buffer.is_scored[:12].all()
        tried = int(buffer.num_admitted + buffer.num_refused)
        assert tried == 6 * (number + 1)  # one batch after each replay
        assert int(buffer.is_used.sum()) <= 30
        generated = np.asarray(buffer.is_used & ~buffer.from_dataset)
        assert (np.asarray(buffer.best)[generated] > 0).all()
        assert (np.asarray(buffer.birth)[generated] >= 1).all()
        np.testing.assert_array_equal(buffer.levels.level.tiles[:12], DATASET.tiles)
        np.testing.assert_array_equal(buffer.number[:12], np.arange(12))


def test_eta_rises_from_0_to_1_and_decides_how_often_generated_levels_are_drawn(monkeypatch):
    setup, state = begin()
    levels = [corridor(length) for length in (1, 2, 3, 4, 5, 6)]
    state = proposing(setup, warmed(setup, state), levels, monkeypatch)
    method, last = setup.config.method, setup.config.num_updates
    masses = []
    for number in (0, last // 2, last):
        now = replace(state, num_updates=jnp.int32(number))
        eta = eta_of(now, setup)
        assert float(eta) == pytest.approx(number / last)
        p = probabilities(now.buffer, method, eta)
        masses.append(float(p[12:].sum()))
        at_one = probabilities(now.buffer, method, jnp.ones(()))
        assert float(p[12:].sum()) == pytest.approx(float(eta) * float(at_one[12:].sum()), rel=1e-5)
    assert masses[0] == 0.0  # P_S and P_R know the dataset alone
    assert 0 < masses[1] < masses[2] < 1 - method.staleness
    held = replace(state, num_updates=jnp.int32(last), eta_scale=jnp.float32(0.25))
    assert float(eta_of(held, setup)) == pytest.approx(0.25)


def test_fresh_levels_are_like_those_of_the_dataset_but_others():
    source = dred.tasks.gridworld.generators.resample.Source(FILE)
    bits = np.array([1, 2], np.uint32)
    made = source(bits, DATASET)
    again = source(bits, DATASET)
    other = source(np.array([1, 3], np.uint32), DATASET)
    assert all((one == two).all() for one, two in zip(made, again, strict=True))
    known = {tile.tobytes() for tile in FILE.tiles}
    for levels in (made, other):
        assert levels.tiles.shape == (12, SIDE, SIDE)
        assert not known & {tile.tobytes() for tile in levels.tiles}
    assert {t.tobytes() for t in made.tiles}.isdisjoint(t.tobytes() for t in other.tiles)
    with pytest.raises(ConfigError, match="do not say how they were made"):
        dred.tasks.gridworld.generators.resample.Source(replace(FILE, meta={}))
