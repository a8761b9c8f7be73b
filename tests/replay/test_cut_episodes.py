"""An episode that the rollout's end cuts off must not overwrite what is known of a level.

The story: a level is mastered, and its score is low. Then its only episode in a rollout is cut off.
What it would still have got counts as nothing (or as the critic guesses), so the mean |advantage|
is near V, and the level would come out on top of all that are really badly judged.
"""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.ppo import estimate_advantages
from dred.agents.rollout import Rollout
from dred.config import MethodConfig, TermConfig
from dred.presets import BUDGETS
from dred.replay.admission import Candidates, admit
from dred.replay.buffer import new_buffer
from dred.replay.distribution import probabilities
from dred.replay.scores import record, score_levels
from dred.task import is_positive

MASTERED, HARD, UNSEEN = 0, 1, 2
LENGTH = 30  # steps of an episode in the mastered level
PRESETS = ("paper", "laptop")


def an_episode(level, *, steps, ended, value, reward=0.9):
    """A rollout of one agent: so many steps of an episode in which the critic expects `value`."""
    shape = (steps, 1)
    last = np.arange(steps)[:, None] == steps - 1
    ends = last & ended
    return Rollout(
        observation=None,
        begins=jnp.asarray(np.arange(steps)[:, None] == 0),
        level=jnp.full(shape, level),
        action=jnp.zeros(shape, int),
        log_prob=jnp.zeros(shape),
        entropy=jnp.zeros(shape),
        reward=jnp.asarray(np.where(ends, reward, 0.0), jnp.float32),
        terminated=jnp.asarray(ends),
        truncated=jnp.zeros(shape, bool),
        value=jnp.asarray(value, jnp.float32)[:, None],
        end_value=jnp.zeros(shape),
    )


def mastered(preset, steps):
    """The critic knows just what the mastered level pays; the episode is cut before its end."""
    discount = BUDGETS[preset].ppo.discount
    expected = 0.9 * discount ** np.arange(LENGTH - 1, -1, -1.0)
    value = np.append(expected, 0.0)[: steps + 1]
    return an_episode(MASTERED, steps=steps, ended=steps == LENGTH, value=value)


def results_of(rollout, preset, score="value_l1"):
    ppo = BUDGETS[preset].ppo
    return score_levels(
        rollout,
        estimate_advantages(rollout, ppo),
        best=jnp.full(3, -jnp.inf),
        optimal=jnp.ones(3),
        scores=(score, score),
        discount=ppo.discount,
        is_solved=is_positive,
    )


def a_buffer(preset, score="value_l1"):
    """A mastered level and a badly judged one, each scored by an episode that ended."""
    buffer = new_buffer(jnp.arange(3), jnp.ones(3), 3)
    hard = an_episode(HARD, steps=20, ended=True, value=np.append(np.full(20, 0.3), 0.0))
    for rollout in (mastered(preset, LENGTH), hard):
        buffer = record(buffer, results_of(rollout, preset, score))
    return buffer


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("cut_after", [1, 5, 10, 20])
def test_a_cut_episode_does_not_overwrite_a_score(preset, cut_after):
    before = a_buffer(preset)
    assert float(before.primary[MASTERED]) < 0.03 < float(before.primary[HARD])
    results = results_of(mastered(preset, cut_after), preset)
    if preset == "paper":  # the cut is worth 0, so the score would be near V
        assert float(results.primary[MASTERED]) > 0.5
    after = record(before, results)
    assert float(after.primary[MASTERED]) == float(before.primary[MASTERED])
    assert float(after.best[MASTERED]) == float(before.best[MASTERED])
    method = MethodConfig("plr", staleness=0.0)
    likeliest = int(probabilities(after, method, jnp.zeros(())).argmax())
    assert likeliest == HARD


@pytest.mark.parametrize("preset", PRESETS)
def test_positive_value_loss_does_not_collapse_by_cuts(preset):
    before = a_buffer(preset, "positive_value_loss")
    assert float(before.primary[HARD]) > 0.1
    cut = an_episode(HARD, steps=5, ended=False, value=np.append(np.full(5, 0.3), 0.3))
    results = results_of(cut, preset, "positive_value_loss")
    assert float(results.primary[HARD]) < 0.01  # nothing good is seen to happen in a cut episode
    after = record(before, results)
    assert float(after.primary[HARD]) == float(before.primary[HARD])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_cut_episode_may_give_a_level_its_first_score(preset):
    cut = an_episode(UNSEEN, steps=5, ended=False, value=np.append(np.full(5, 0.3), 0.3))
    results = results_of(cut, preset)
    assert (int(results.episodes[UNSEEN]), int(results.completed[UNSEEN])) == (1, 0)
    after = record(a_buffer(preset), results)
    assert bool(after.is_scored[UNSEEN])
    assert float(after.primary[UNSEEN]) == float(results.primary[UNSEEN])


def test_an_episode_that_ended_replaces_a_score_also_one_by_a_cut():
    cut = an_episode(UNSEEN, steps=5, ended=False, value=np.append(np.full(5, 0.3), 0.3))
    buffer = record(a_buffer("paper"), results_of(cut, "paper"))
    whole = an_episode(UNSEEN, steps=5, ended=True, value=np.append(np.full(5, 0.8), 0.0))
    results = results_of(whole, "paper")
    assert float(record(buffer, results).primary[UNSEEN]) == float(results.primary[UNSEEN])


def test_a_cut_episode_of_a_proposed_level_does_not_overwrite_the_score_of_its_twin():
    buffer = a_buffer("paper")
    for is_complete in (False, True):
        candidates = Candidates(
            levels=jnp.array([MASTERED, UNSEEN]),
            primary=jnp.array([0.9, 0.8]),
            secondary=jnp.array([0.9, 0.8]),
            best=jnp.zeros(2),
            optimal=jnp.ones(2),
            is_scored=jnp.ones(2, bool),
            is_complete=jnp.full(2, is_complete),
            may_enter=jnp.zeros(2, bool),
            parent=jnp.full(2, -1),
            generation=jnp.zeros(2, int),
            made_by=jnp.int32(2),
            birth=jnp.int32(0),
        )
        after, _ = admit(buffer, candidates, worth=lambda b: b.primary, by="primary")
        assert (float(after.primary[MASTERED]) == pytest.approx(0.9)) == is_complete
        assert float(after.primary[UNSEEN]) == pytest.approx(0.8)  # which had none


METHOD = MethodConfig("plr", staleness=0.0)
SECOND = replace(METHOD, name="two", secondary=TermConfig(transform="power", temperature=1.0))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("method", [METHOD, SECOND], ids=lambda method: method.name)
def test_a_score_that_is_not_finite_counts_as_never_scored(bad, method):
    buffer = a_buffer("paper")
    stored = eqx.tree_at(lambda b: b.primary, buffer, buffer.primary.at[MASTERED].set(bad))
    found = np.asarray(probabilities(stored, method, jnp.full((), 0.5)))
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0], atol=1e-6)  # the third was never scored

    results = results_of(mastered("paper", LENGTH), "paper")
    broken = eqx.tree_at(lambda r: r.secondary, results, results.secondary.at[MASTERED].set(bad))
    after = record(buffer, broken)
    assert float(after.primary[MASTERED]) == float(buffer.primary[MASTERED])  # the old one stays
    assert int(after.num_unusable) == 1
    fresh = record(new_buffer(jnp.arange(3), jnp.ones(3), 3), broken)
    assert not fresh.is_scored.any()


def test_a_level_whose_score_is_not_finite_is_not_admitted():
    buffer = new_buffer(jnp.arange(2), jnp.ones(2), 6)
    candidates = Candidates(
        levels=jnp.array([7, 8, 9]),
        primary=jnp.array([jnp.nan, 0.5, jnp.inf]),
        secondary=jnp.array([jnp.nan, 0.5, jnp.inf]),
        best=jnp.zeros(3),
        optimal=jnp.ones(3),
        is_scored=jnp.ones(3, bool),
        is_complete=jnp.ones(3, bool),
        may_enter=jnp.ones(3, bool),
        parent=jnp.full(3, -1),
        generation=jnp.zeros(3, int),
        made_by=jnp.int32(2),
        birth=jnp.int32(0),
    )
    after, _ = admit(buffer, candidates, worth=lambda b: b.primary, by="primary")
    assert set(np.asarray(after.levels)[np.asarray(after.is_used)]) == {0, 1, 8}
    assert int(after.num_unusable) == 2


def test_cut_episodes_may_be_let_to_replace_scores_as_they_once_did():
    before = a_buffer("paper")
    results = results_of(mastered("paper", 5), "paper")
    after = record(before, results, cuts="any")
    assert float(after.primary[MASTERED]) == float(results.primary[MASTERED])
    method = MethodConfig("plr", staleness=0.0)
    assert int(probabilities(after, method, jnp.zeros(())).argmax()) == MASTERED  # upside down
