"""Rollouts and evaluations in a game of which everything is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.procgen.classifier import new_classifier
from dred.procgen.evaluate import as_csv, play_each, scores_of_episodes
from dred.procgen.play import play
from dred.procgen.resnet import new_resnet
from dred.procgen.state import new_setup, new_state
from tests.procgen.pretend import PretendLevels
from tests.procgen.test_classifier import SMOKE

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
    np.testing.assert_array_equal(rollout.level, rollout.view[:, :, 0, 0, 0])


def test_an_episode_begins_where_the_last_ended_and_in_the_level_that_was_drawn(played):
    (rollout, _), next_levels, _ = played
    for t in range(11):
        for env in range(3):
            ended = bool(rollout.ended[t, env])
            assert ended == (rollout.view[t, env, 0, 0, 1] == rollout.level[t, env] % 5)
            assert rollout.begins[t + 1, env] == ended
            expected = next_levels[t, env] if ended else rollout.level[t, env]
            assert rollout.level[t + 1, env] == expected


def test_a_reward_belongs_to_the_level_in_which_it_was_earned(played):
    rollout = played[0].rollout
    earned = np.where(rollout.ended, rollout.level + 1.0, 0.0)
    np.testing.assert_array_equal(rollout.reward, earned)


def test_features_values_and_probabilities_are_those_of_the_images(network, played):
    (rollout, features), _, envs = played
    flat = rollout.view.reshape(-1, 64, 64, 3)
    again = network.features(flat)
    np.testing.assert_allclose(features.reshape(again.shape), again, atol=1e-5)
    judged = network.judge(again)
    np.testing.assert_allclose(rollout.value[:-1].reshape(-1), judged.value, atol=1e-5)
    logs = np.asarray(jax.nn.log_softmax(judged.logits))
    chosen = logs[np.arange(36), np.asarray(rollout.action).reshape(-1)]
    np.testing.assert_allclose(rollout.log_prob.reshape(-1), chosen, atol=1e-5)
    np.testing.assert_array_equal(rollout.action, np.stack(envs.actions))
    last = network.judge(network.features(jnp.asarray(envs.now.image))).value
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


def test_scores_weigh_training_levels_alike_and_the_shift_gap_by_their_chances(network):
    setup = new_setup(SMOKE)
    state = new_state(setup, key=KEY)
    layer = state.classifier.layer
    levels = np.tile(np.arange(8, dtype=np.int32), 2)
    train = play_each(network, layer, PretendLevels(4), levels, key=KEY)
    test = play_each(network, layer, PretendLevels(4), levels + 100, key=KEY)
    scores = scores_of_episodes(state, SMOKE, train, test, seed=0)
    assert scores.train == pytest.approx(4.5)
    assert scores.test == pytest.approx(104.5)
    assert scores.gen_gap == pytest.approx(-100.0, rel=1e-5)
    assert scores.shift_gap == pytest.approx(0.0, abs=1e-5)  # uniform
    assert scores.mutual_information < 0.1


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
