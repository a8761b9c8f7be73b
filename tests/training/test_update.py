"""The loop, with numbered levels: which are played, scored, edited and kept."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dred.generators
from dred.config import MethodConfig, TermConfig
from dred.errors import ConfigError
from dred.levels import make
from dred.presets import METHODS, train_config
from dred.replay.distribution import probabilities
from dred.replay.scores import SCORES, LevelScores
from dred.task import Generator, RunContext
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.phases import explore, mutate, rollout_from_buffer, score_dataset, select_parents
from dred.training.state import new_setup, new_state
from dred.training.update import update

DATASET = Level(*(jnp.asarray(p) for p in make("cave-escape-train", count=12, size=9).levels))
GIVEN = RunContext(DATASET)
KEY = jax.random.key(0)


def begin(method, **changes):
    config = train_config("uniform", "smoke", GRIDWORLD.budgets)
    method = METHODS[method] if isinstance(method, str) else method
    setup = new_setup(replace(config, method=replace(method, **changes)), GRIDWORLD)
    return setup, new_state(setup, DATASET, key=KEY)


def after(setup, state, count):
    step = jax.jit(lambda state, key: update(state, context=GIVEN, setup=setup, key=key)[0])
    for index in range(count):
        state = step(state, jax.random.fold_in(KEY, index))
    return state


def warmed(setup, state):
    score = jax.jit(lambda state: score_dataset(state, context=GIVEN, setup=setup, key=KEY))
    return score(state)


def test_every_level_of_the_dataset_is_scored_before_the_first_replay():
    setup, state = begin("plr")
    assert not state.buffer.is_scored.any()
    warm = warmed(setup, state)
    assert warm.buffer.is_scored.all()
    assert warm.buffer.num_draws == 0  # nothing was drawn yet
    for one, other in zip(
        jax.tree.leaves(state.learner), jax.tree.leaves(warm.learner), strict=True
    ):
        np.testing.assert_array_equal(one, other)  # and nothing was learned


def test_a_replayed_level_is_followed_by_another_draw_never_by_a_random_level():
    # minimax #6: after the first episode agents went on in levels that were in no buffer.
    setup, state = begin("plr", staleness=0.0)
    warm = warmed(setup, state)
    supported = {3, 5}
    scored = jnp.isin(jnp.arange(12), jnp.array(sorted(supported)))
    buffer = replace_leaf(warm.buffer, is_scored=scored)
    state = replace(state, buffer=buffer)
    played = jax.jit(
        lambda state: rollout_from_buffer(state, context=GIVEN, setup=setup, key=jax.random.key(5))
    )(state)
    rollout = played.rollout
    assert int(rollout.begins.sum()) > setup.config.ppo.num_envs  # some episodes ended
    assert set(np.unique(rollout.level)) <= supported
    assert int(played.buffer.num_draws) == int(rollout.begins.sum())
    for slot in range(12):  # the level played is the level scored
        was_played = bool((rollout.level == slot).any())
        assert (int(played.scores.episodes[slot]) > 0) == was_played
        changed = float(played.buffer.primary[slot]) != float(buffer.primary[slot])
        assert was_played or not changed
    drawn = np.asarray(played.buffer.last_drawn) > 0
    assert set(np.flatnonzero(drawn)) == set(np.unique(rollout.level[rollout.begins]))


def replace_leaf(buffer, **changes):
    names = list(changes)
    return eqx.tree_at(
        lambda b: [getattr(b, name) for name in names], buffer, list(changes.values())
    )


def test_uniform_draws_every_level_equally_often():
    setup, state = begin("uniform")
    p = probabilities(state.buffer, setup.config.method, jnp.zeros(()))
    np.testing.assert_allclose(p, 1 / 12, rtol=1e-6)
    later = after(setup, state, 2)
    p = probabilities(later.buffer, setup.config.method, jnp.ones(()))
    np.testing.assert_allclose(p, 1 / 12, rtol=1e-6)


def test_dataset_levels_stay_for_ever_and_only_solved_levels_join_them():
    setup, state = begin("accel-d", capacity=20)
    later = after(setup, state, 6)
    buffer = later.buffer
    np.testing.assert_array_equal(buffer.number[:12], np.arange(12))
    np.testing.assert_array_equal(buffer.levels.level.tiles[:12], DATASET.tiles)
    assert buffer.from_dataset[:12].all()
    assert not buffer.from_dataset[12:].any()
    generated = np.asarray(buffer.is_used & ~buffer.from_dataset)
    assert generated.any()
    assert (np.asarray(buffer.best)[generated] > 0).all()
    assert (np.asarray(buffer.optimal)[generated] > 0).all()


def test_children_name_their_parents():
    setup, state = begin("accel", capacity=40)
    buffer = after(setup, state, 8).buffer
    number, parent = np.asarray(buffer.number), np.asarray(buffer.parent)
    generation = np.asarray(buffer.generation)
    children = np.flatnonzero((number >= 0) & (parent >= 0))
    assert len(children)
    assert (generation[children] >= 1).all()
    assert (number[children] > parent[children]).all()  # parents are older
    for child in children:
        for found in np.flatnonzero(number == parent[child]):
            assert generation[child] == generation[found] + 1
    orphans = np.flatnonzero((number >= 0) & (parent < 0))
    assert (generation[orphans] == 0).all()


def test_the_easiest_replayed_levels_are_edited_not_the_hardest_and_not_the_first():
    # The released code takes the hardest; an earlier one (dcd #11) always took level 0.
    count = 9
    returns = jnp.array([0.0, 0.9, 0.0, 0.8, 0.99, 0.1, 0.0, 0.0, 0.0])
    loss = jnp.array([0.0, 0.0, 0.9, 0.1, 0.5, 0.0, 0.9, 0.9, 0.9])
    played = jnp.array([0, 1, 1, 2, 1, 1, 1, 0, 0])
    results = LevelScores(
        episodes=played,
        completed=played,
        primary=loss,
        secondary=loss,
        best=returns,
        mean_return=returns,
        value_loss=loss,
        solved=returns > 0,
    )
    assert np.asarray(select_parents(results, 3, 6)).tolist() == [1, 3, 4, 1, 3, 4]
    few = LevelScores(**{**vars(results), "episodes": jnp.zeros(count, int).at[5].set(1)})
    assert np.asarray(select_parents(few, 3, 6)).tolist() == [5] * 6


def test_new_levels_fill_the_buffer_before_the_first_replay_and_nothing_is_learned():
    setup, state = begin("rplr", capacity=40)
    ready = jax.jit(lambda state: explore(state, context=GIVEN, setup=setup, key=KEY))(state)
    assert float(ready.buffer.share_full) >= 0.5
    assert ready.buffer.is_scored[np.asarray(ready.buffer.is_used)].all()
    for one, other in zip(
        jax.tree.leaves(state.learner), jax.tree.leaves(ready.learner), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_replay_happens_about_as_often_as_the_method_says():
    setup, state = begin("rplr", capacity=12, admit="all")
    full = jax.jit(lambda state: explore(state, context=GIVEN, setup=setup, key=KEY))(state)
    full = replace(full, buffer=replace_leaf(full.buffer, number=jnp.arange(12)))

    @jax.jit
    def step(key):
        buffer = explore(full, context=GIVEN, setup=setup, key=key).buffer
        return buffer.num_refused + buffer.num_admitted

    before = int(full.buffer.num_refused + full.buffer.num_admitted)
    rounds = [(int(step(jax.random.key(seed))) - before) // 6 for seed in range(60)]
    assert np.mean([count == 0 for count in rounds]) == pytest.approx(0.5, abs=0.2)


def test_a_known_level_is_scored_with_all_that_is_known_of_it(monkeypatch):
    same = Generator(lambda given, settings, key: given.parents)
    monkeypatch.setitem(dred.generators.GENERATORS, "same", same)
    setup, state = begin(MethodConfig("mine", capacity=30, mutation_generator="same"))
    buffer = replace_leaf(
        state.buffer, best=jnp.full(30, 0.9), is_scored=jnp.zeros(30, bool), primary=jnp.ones(30)
    )
    grounded = replace(setup.config.method, primary=TermConfig("grounded_value_l1"))
    setup = new_setup(replace(setup.config, method=grounded), GRIDWORLD)
    state = replace(state, buffer=buffer)
    proposed = mutate(state, jnp.arange(6), context=GIVEN, setup=setup, key=KEY)
    scores = np.asarray(proposed.buffer.primary[:6])
    assert ((scores > 0) & (scores < 1)).all()  # scored anew, and not as never solved
    assert int(proposed.buffer.is_used.sum()) == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learn_on": "new"}, "needs a generator"),
        (
            {"learn_on": "new", "new_level_generator": "random", "mutation_generator": "edits"},
            "no replay after which",
        ),
        (
            {"initial_buffer": "empty", "new_level_generator": "random", "capacity": 9},
            "admits only solved",
        ),
        ({"initial_buffer": "empty", "admit": "all"}, "begins with an empty buffer"),
        ({"staleness": 1.5}, "between 0 and 1"),
        ({"num_parents": 0}, "at least 1"),
    ],
)
def test_a_method_that_cannot_work_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        MethodConfig("mine", **changes)


@pytest.mark.parametrize("what", ["score", "generator"])
def test_a_new_score_or_generator_is_a_function_and_a_name(what, monkeypatch):
    if what == "score":
        monkeypatch.setitem(SCORES, "longing", lambda trace: trace.optimal - trace.value)
        method = MethodConfig("mine", primary=TermConfig("longing"))
    else:
        monkeypatch.setitem(
            dred.generators.GENERATORS,
            "mirror",
            Generator(
                lambda given, settings, key: given.parents._replace(
                    tiles=given.parents.tiles[:, :, ::-1],
                    goal=mirrored(given.parents.goal),
                    start=mirrored(given.parents.start),
                ),
                uses_parents=True,
            ),
        )
        method = MethodConfig("mine", capacity=30, mutation_generator="mirror", admit="all")
    setup, state = begin(method)
    buffer = after(setup, state, 2).buffer
    if what == "score":
        assert float(buffer.primary.max()) > 0
    else:
        made = np.flatnonzero(np.asarray(buffer.generation) == 1)
        slot = int(made[0])
        parent = int(np.flatnonzero(np.asarray(buffer.number) == int(buffer.parent[slot]))[0])
        np.testing.assert_array_equal(
            buffer.levels.level.tiles[slot], buffer.levels.level.tiles[parent][:, ::-1]
        )


def mirrored(place):
    return place.at[:, 1].set(6 - place[:, 1])
