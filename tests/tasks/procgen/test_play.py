"""Rollouts and evaluations in a game of which everything is known."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import Linear
from dred.errors import ConfigError
from dred.presets import STRATEGIES
from dred.tasks.procgen.classifier import new_classifier
from dred.tasks.procgen.evaluate import (
    Episodes,
    as_csv,
    episodes_in,
    level_sets,
    play_each,
    scores_of_episodes,
)
from dred.tasks.procgen.play import play
from dred.tasks.procgen.resnet import new_resnet
from dred.tasks.procgen.state import new_setup, new_state
from tests.tasks.procgen.pretend import PretendLevels
from tests.tasks.procgen.test_classifier import SMOKE
from tests.tasks.procgen.test_update import with_scores

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def network():
    return new_resnet(hidden_size=16, key=KEY)


@pytest.fixture(scope="module")
def played(network):
    envs = PretendLevels(3)
    envs.reset_to(np.array([0, 2, 4]))
    next_levels = np.random.default_rng(0).integers(200, size=(12, 3)).astype(np.int32)
    return play(network, envs, next_levels, key=KEY), next_levels, envs


def test_every_level_is_that_of_its_image(played):
    rollout = played[0].rollout
    np.testing.assert_array_equal(rollout.level, rollout.observation[:, :, 0, 0, 0])


def test_an_episode_begins_where_the_last_ended_and_in_the_level_that_was_drawn(played):
    (rollout, _), next_levels, _ = played
    for t in range(11):
        for env in range(3):
            ended = bool(rollout.ended[t, env])
            assert ended == (rollout.observation[t, env, 0, 0, 1] == rollout.level[t, env] % 5)
            assert rollout.begins[t + 1, env] == ended
            expected = next_levels[t, env] if ended else rollout.level[t, env]
            assert rollout.level[t + 1, env] == expected


def test_a_reward_belongs_to_the_level_in_which_it_was_earned(played):
    rollout = played[0].rollout
    earned = np.where(rollout.ended, rollout.level + 1.0, 0.0)
    np.testing.assert_array_equal(rollout.reward, earned)


def test_features_values_and_probabilities_are_those_of_the_images(network, played):
    (rollout, features), _, envs = played
    flat = rollout.observation.reshape(-1, 64, 64, 3)
    again = network.features(flat)
    np.testing.assert_allclose(features.reshape(again.shape), again, atol=1e-5)
    output = network.heads(again)
    np.testing.assert_allclose(rollout.value[:-1].reshape(-1), output.value, atol=1e-5)
    logs = np.asarray(jax.nn.log_softmax(output.logits))
    chosen = logs[np.arange(36), np.asarray(rollout.action).reshape(-1)]
    np.testing.assert_allclose(rollout.log_prob.reshape(-1), chosen, atol=1e-5)
    np.testing.assert_array_equal(rollout.action, np.stack(envs.actions))
    last = network.heads(network.features(jnp.asarray(envs.now.image))).value
    np.testing.assert_allclose(rollout.value[-1], last, atol=1e-5)


@pytest.mark.parametrize("slots", [1, 3, 16])
def test_an_evaluation_plays_each_level_once_to_its_end_however_long_others_take(network, slots):
    levels = np.array([4, 3, 0, 1, 2, 7, 4], np.int32)
    layer = new_classifier(SMOKE, key=KEY).layer
    told = []
    found = play_each(network, layer, PretendLevels(slots), levels, key=KEY, advance=told.append)
    np.testing.assert_array_equal(found.level, levels)
    np.testing.assert_array_equal(found.returned, levels + 1)
    np.testing.assert_array_equal(found.steps, levels % 5 + 1)
    assert sum(told) == len(levels)
    assert (found.log_prob < 0).all() and (found.right <= found.steps).all()


def test_gaps_are_differences_of_mean_returns(network):
    state = new_state(new_setup(SMOKE), key=KEY)
    layer = state.classifier.layer
    levels = np.tile(np.arange(8, dtype=np.int32), 2)
    train, test, drawn = (
        play_each(network, layer, PretendLevels(4), some, key=KEY)
        for some in (levels, levels + 100, np.full(16, 6, np.int32))
    )
    scores = scores_of_episodes(state, SMOKE, train=train, test=test, drawn=drawn, seed=0)
    assert (scores.train, scores.test) == (4.5, 104.5)
    assert scores.gen_gap == -100.0
    assert scores.shift_gap == 7.0 - 4.5
    assert scores.mutual_information < 0.1


def episodes_of(level, steps, log_prob, right):
    """Episodes about which only the classifier's guesses matter."""
    returned = np.zeros(len(level))
    return Episodes(np.array(level, np.int32), returned, *map(np.array, (steps, log_prob, right)))


@pytest.mark.parametrize(("chance", "unfloored"), [(1 / 2, np.log(2) / 2), (1 / 8, -np.log(2) / 2)])
def test_the_final_information_is_the_mean_over_levels_of_each_ones_mean_over_steps(
    chance, unfloored
):
    """Level 0 is known in its one step; level 1 has this chance in each of its 1 + 2 steps.

    Mean of ln p by levels: (0 + ln p) / 2. By steps it would be (0 + 3 ln p) / 4.
    """
    config = replace(SMOKE, num_levels=2)
    state = new_state(new_setup(config), key=KEY)
    doubt = np.log(chance)
    train = episodes_of([0, 1, 1], [1, 1, 2], [0.0, doubt, 2 * doubt], [1.0, 0.0, 0.0])
    scores = scores_of_episodes(state, config, train=train, test=train, drawn=train, seed=0)
    assert scores.mutual_information == pytest.approx(max(0.0, unfloored), abs=1e-6)
    assert scores.mutual_information_unfloored == pytest.approx(unfloored, abs=1e-6)
    assert scores.probe_accuracy == pytest.approx(1 / 2)


def test_the_final_shift_gap_is_about_the_mean_of_the_distribution_over_updates():
    """The last update draws level 3 nine times in ten, the mean does not."""
    config = replace(SMOKE, strategy=STRATEGIES["value-l1"])
    state = with_scores(new_state(new_setup(config), key=KEY), [0, 0, 0, 9, 0, 0, 0, 0])
    mean = jnp.array([0.5, 0, 0, 0.25, 0, 0.25, 0, 0])
    state = eqx.tree_at(lambda s: s.buffer.average, state, mean)
    drawn = level_sets(state, config, 8000, key_test=KEY, key_drawn=KEY)["drawn"]
    np.testing.assert_allclose(np.bincount(drawn, minlength=8) / 8000, mean, atol=0.02)
    found = episodes_of(np.arange(8), np.ones(8), np.zeros(8), np.ones(8))
    scores = scores_of_episodes(state, config, train=found, test=found, drawn=found, seed=0)
    assert scores.effective_levels == pytest.approx(2.0**1.5)  # entropy: ½ ln 2 + 2 · ¼ ln 4


def test_the_sets_played_at_the_end_are_every_training_level_others_and_levels_as_drawn():
    config = replace(SMOKE, strategy=STRATEGIES["value-l1"])
    state = new_state(new_setup(config), key=KEY)
    mean = jnp.array([0, 0.05, 0.05, 0.9, 0, 0, 0, 0])
    averaged = eqx.tree_at(lambda s: s.buffer.average, state, mean)
    sets = level_sets(averaged, config, 80, key_test=KEY, key_drawn=jax.random.key(1))
    assert np.bincount(sets["train"]).tolist() == [10] * 8
    assert sets["test"].min() >= 8 and len(np.unique(sets["test"])) == 80
    assert (sets["drawn"] == 3).mean() > 0.8 and set(sets["drawn"]) <= {1, 2, 3}
    assert episodes_in(config, 9) == 16 and episodes_in(config, None) == 8
    with pytest.raises(ConfigError, match="at least 1"):
        episodes_in(config, 0)


def test_the_classifier_is_asked_about_the_level_of_the_image(network):
    size = network.shared.bias.shape[0]
    odds = np.log(np.array([0.5, 0.2, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02], np.float32))
    layer = Linear(jnp.zeros((size, 8)), jnp.asarray(odds))
    levels = np.array([0, 1, 6], np.int32)
    found = play_each(network, layer, PretendLevels(3), levels, key=KEY)
    np.testing.assert_allclose(found.log_prob, odds[levels] * found.steps, rtol=1e-5)
    np.testing.assert_array_equal(found.right, [1, 0, 0] * found.steps)


def test_the_table_of_an_evaluation_counts_the_times_a_level_was_played(network):
    layer = new_classifier(SMOKE, key=KEY).layer
    levels = np.array([2, 5, 2], np.int32)
    lines = as_csv(
        play_each(network, layer, PretendLevels(2), levels, key=KEY), "train", 7
    ).splitlines()
    assert lines[0] == "seed,suite,level,episode,solved,return,steps"
    assert lines[1:] == [
        "7,train,2,0,1,3.000000,3",
        "7,train,5,0,1,6.000000,1",
        "7,train,2,1,1,3.000000,3",
    ]
