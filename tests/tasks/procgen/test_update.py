"""The loop in Procgen: which level next, what it scores, and what learning makes of it."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import Linear
from dred.agents.ppo import estimate_advantages
from dred.config import TEST_LEVELS_END
from dred.presets import STRATEGIES
from dred.replay.buffer import rescore
from dred.tasks.procgen.play import play
from dred.tasks.procgen.presets import PROCGEN_BUDGETS, procgen_config
from dred.tasks.procgen.state import new_setup, new_state
from dred.tasks.procgen.update import (
    as_one_step,
    draw_levels,
    draw_watched_levels,
    eta_of,
    level_chances,
    look_at,
    score_and_learn,
    update,
)
from tests.tasks.procgen.pretend import PretendLevels

KEY = jax.random.key(0)
SMOKE = PROCGEN_BUDGETS["smoke"]


def begun(strategy, **changes):
    config = replace(SMOKE, strategy=STRATEGIES[strategy], **changes)
    setup = new_setup(config)
    return new_state(setup, key=KEY), setup


def with_scores(state, primary, secondary=None):
    primary = jnp.asarray(primary, jnp.float32)
    secondary = primary if secondary is None else jnp.asarray(secondary, jnp.float32)
    buffer = rescore(
        state.buffer,
        jnp.arange(primary.shape[0]),
        primary=primary,
        secondary=secondary,
        best=jnp.zeros_like(primary),
    )
    return eqx.tree_at(lambda s: s.buffer, state, buffer)


def test_uniform_is_uniform_from_the_first_draw():
    state, setup = begun("uniform")
    np.testing.assert_allclose(level_chances(state.buffer, setup.config, jnp.zeros(())), 1 / 8)


@pytest.mark.parametrize("strategy", ["value-l1", "mi", "value-l1+uniform", "value-l1+mi"])
def test_as_long_as_levels_are_unseen_only_they_are_drawn_and_each_alike(strategy):
    state, setup = begun(strategy)
    state = with_scores(state, [9.0, 5.0, 1.0])
    chances = level_chances(state.buffer, setup.config, jnp.zeros(()))
    np.testing.assert_allclose(chances, [0, 0, 0, 0.2, 0.2, 0.2, 0.2, 0.2], atol=1e-7)


def test_once_all_are_seen_the_best_gets_nine_tenths_at_least():
    state, setup = begun("value-l1")
    state = with_scores(state, [0, 1, 2, 3, 9, 5, 6, 7])
    chances = level_chances(state.buffer, setup.config, jnp.zeros(()))
    rank = np.argsort(np.argsort(-np.array([0, 1, 2, 3, 9, 5, 6, 7]))) + 1.0
    by_score = rank**-10 / (rank**-10).sum()
    np.testing.assert_allclose(chances, 0.9 * by_score + 0.1 / 8, rtol=1e-5)


def test_mixing_with_uniform_is_truly_uniform():
    """The released settings rank equal scores by their place: a fixed Zipf law."""
    state, setup = begun("value-l1+uniform")
    state = with_scores(state, np.arange(8.0), np.ones(8))
    chances = level_chances(state.buffer, setup.config, jnp.ones(()))  # all of P_S'
    np.testing.assert_allclose(chances, 1 / 8, rtol=1e-6)


def test_the_second_term_comes_in_from_half_of_training_on_up_to_a_quarter():
    state, setup = begun("value-l1+mi", num_updates=1525)

    def eta(updates):
        later = eqx.tree_at(lambda s: s.num_updates, state, jnp.int32(updates))
        return float(eta_of(later, setup.config))

    assert eta(0) == eta(762) == 0.0
    assert eta(1144) == pytest.approx(0.125, abs=1e-3)
    assert eta(1524) == pytest.approx(0.25, abs=1e-3)


def test_levels_are_drawn_as_often_as_their_chances_say():
    state, setup = begun("uniform", num_levels=4, ppo=replace(SMOKE.ppo, num_steps=2000))
    drawn = np.asarray(draw_levels(state, setup, key=KEY))
    assert drawn.shape == (2000, 4)
    assert np.abs(np.bincount(drawn.reshape(-1), minlength=4) / 8000 - 0.25).max() < 0.02


def test_the_agent_is_watched_half_in_training_levels_and_half_in_others():
    levels = np.asarray(draw_watched_levels(SMOKE, key=KEY))
    train, test = levels[:, :4], levels[:, 4:]
    assert train.min() >= 0 and train.max() < 8
    assert test.min() >= 8 and test.max() < TEST_LEVELS_END
    assert len(np.unique(test)) == test.size


def one_rollout(strategy):
    state, setup = begun(strategy)
    envs = PretendLevels(4)
    envs.reset_to(np.arange(4))
    next_levels = np.asarray(draw_levels(state, setup, key=KEY))
    return state, setup, play(state.learner.agent, envs, next_levels, key=KEY)


def test_the_score_of_a_level_is_its_mean_absolute_advantage():
    state, setup, played = one_rollout("value-l1")
    after, _ = score_and_learn(state, played, setup, key=KEY)
    rollout = played.rollout
    # By hand: rewards on their scale, then advantages backwards, then means over whole episodes.
    from dred.tasks.procgen.rewards import new_scale, scaled

    _, reward = scaled(new_scale(4), rollout.reward, rollout.ended)
    value, reward = np.asarray(rollout.value), np.asarray(reward)
    advantage, later = np.zeros_like(reward), np.zeros(4)
    for t in reversed(range(16)):
        going_on = np.where(rollout.ended[t], 0.0, 0.999)
        later = reward[t] + going_on * value[t + 1] - value[t] + going_on * 0.95 * later
        advantage[t] = later
    episodes = {}
    for env in range(4):
        start = 0
        for t in range(16):
            if rollout.ended[t, env]:
                level = int(rollout.level[t, env])
                size = np.abs(advantage[start : t + 1, env]).mean()
                episodes.setdefault(level, []).append(size)
                start = t + 1
    for level, scores in episodes.items():
        assert after.buffer.primary[level] == pytest.approx(np.mean(scores), rel=1e-4)
        assert after.buffer.is_scored[level]


def test_the_score_mi_is_the_sum_over_an_episode_of_how_much_the_level_is_doubted():
    state, setup, played = one_rollout("mi")
    after, _ = score_and_learn(state, played, setup, key=KEY)
    layer, rollout = state.classifier.layer, played.rollout
    odds = np.asarray(jax.nn.log_softmax(played.features @ layer.weight + layer.bias))
    episodes = {}
    for env in range(4):
        total = 0.0
        for t in range(16):
            level = int(rollout.level[t, env])
            total -= odds[t, env, level]
            if rollout.ended[t, env]:
                episodes.setdefault(level, []).append(total)
                total = 0.0
    assert len(episodes) > 2
    for level, totals in episodes.items():
        assert after.buffer.primary[level] == pytest.approx(np.mean(totals), rel=1e-4)


def test_an_update_leaves_nothing_unlearned_and_counts_itself():
    state, setup = begun("value-l1+mi")
    envs, watched = PretendLevels(4), PretendLevels(8)
    envs.reset_to(np.arange(4))
    watched.reset_to(np.arange(8))
    after, metrics = update(state, envs, watched, setup=setup, key=KEY)
    assert after.num_updates == 1
    before = state.learner.agent.shared.weight
    assert not np.array_equal(after.learner.agent.shared.weight, before)
    assert not np.array_equal(after.classifier.layer.weight, state.classifier.layer.weight)
    assert metrics.learned.returned.episodes > 0 and metrics.watched.test.episodes > 0
    assert np.isfinite(metrics.learned.losses.total)


@pytest.mark.parametrize(("window", "newest"), [(100, 1 / 3), (2, 1 / 2)])
def test_the_distribution_is_averaged_over_a_window_of_updates(window, newest):
    """Three updates: the third counts a third, or as much as one in the window."""
    state, setup = begun("value-l1", average_window=window)
    state, (envs, watched) = (
        with_scores(state, np.arange(8.0)),
        (PretendLevels(4), PretendLevels(8)),
    )
    envs.reset_to(np.arange(4))
    watched.reset_to(np.arange(8))
    drawn_from = []
    for number in range(3):
        drawn_from.append(level_chances(state.buffer, setup.config, eta_of(state, setup.config)))
        state, _ = update(state, envs, watched, setup=setup, key=jax.random.key(number))
    first_two = (drawn_from[0] + drawn_from[1]) / 2
    wanted = (1 - newest) * first_two + newest * drawn_from[2]
    assert np.abs(drawn_from[2] - first_two).max() > 0.1  # one snapshot is quite unlike the others
    np.testing.assert_allclose(state.buffer.average, wanted, atol=1e-6)
    assert state.buffer.average.sum() == pytest.approx(1.0)


def test_two_updates_carry_on_from_each_other():
    """Sums, scales and staleness go on; the new agent is watched."""
    state, setup = begun("value-l1", num_levels=8)
    envs, watched = PretendLevels(4), PretendLevels(8)
    envs.reset_to(np.arange(4))
    watched.reset_to(np.arange(8))
    states, seen = [state], {"play": [], "watch": []}
    from dred.tasks.procgen import update as module

    real = module.play

    def remember(network, which, *args, **more):
        played = real(network, which, *args, **more)
        seen["play" if which is envs else "watch"].append((network, played))
        return played

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "play", remember)
        for number in range(2):
            key = jax.random.fold_in(KEY, number)
            after, _ = update(states[-1], envs, watched, setup=setup, key=key)
            states.append(after)
    assert np.isfinite(jax.tree.leaves(states[-1].classifier.layer)[0]).all()
    rollouts = [played.rollout for _, played in seen["play"]]
    both = {
        name: np.concatenate([np.asarray(getattr(r, name)) for r in rollouts])
        for name in ("reward", "ended", "level", "begins")
    }
    # Returns in progress, said slowly.
    so_far = np.zeros(4)
    for reward, ended in zip(both["reward"], both["ended"], strict=True):
        so_far = np.where(ended, 0.0, so_far + reward)
    np.testing.assert_allclose(states[-1].returned, so_far)
    from dred.tasks.procgen.rewards import new_scale, scaled

    scale, _ = scaled(new_scale(4), jnp.asarray(both["reward"]), jnp.asarray(both["ended"]))
    np.testing.assert_allclose(states[-1].scale.variance, scale.variance, rtol=1e-6)
    # Draws, in the order of time and of environments within a step.
    last, count = np.zeros(8, int), 0
    for level, begins in zip(both["level"].reshape(-1), both["begins"].reshape(-1), strict=True):
        if begins:
            count += 1
            last[level] = count
    assert int(states[-1].buffer.num_draws) == count > 0
    np.testing.assert_array_equal(states[-1].buffer.last_drawn, last)
    for number in range(2):  # who played, and who was watched
        for which, network in (("play", states[number]), ("watch", states[number + 1])):
            np.testing.assert_array_equal(
                seen[which][number][0].shared.weight, network.learner.agent.shared.weight
            )
        levels = np.asarray(seen["watch"][number][1].rollout.level)
        assert levels[:, :4].max() < 8 and levels[4:, 4:].min() >= 4


def test_the_classifier_never_learns_from_test_levels():
    state, setup = begun("uniform")
    watched = PretendLevels(8)
    watched.reset_to(np.arange(8))
    levels = np.asarray(draw_watched_levels(setup.config, key=KEY))
    seen = play(state.learner.agent, watched, levels, key=KEY, keep_images=False)
    other = eqx.tree_at(lambda s: s.features, seen, seen.features.at[:, 4:].set(99.0))
    one, _ = look_at(state, seen, setup, key=KEY)
    two, _ = look_at(state, other, setup, key=KEY)
    np.testing.assert_array_equal(one.classifier.layer.weight, two.classifier.layer.weight)
    changed = eqx.tree_at(lambda s: s.features, seen, seen.features.at[:, :4].add(1.0))
    three, _ = look_at(state, changed, setup, key=KEY)
    assert not np.array_equal(one.classifier.layer.weight, three.classifier.layer.weight)


def test_only_episodes_begun_since_the_last_look_tell_of_information():
    state, setup = begun("uniform")
    watched = PretendLevels(8)
    watched.reset_to(np.full(8, 4))  # five steps each
    levels = np.full((16, 8), 7, np.int32)  # then three steps each
    seen = play(state.learner.agent, watched, levels, key=KEY, keep_images=False)
    layer = Linear(jnp.zeros((16, 8)), jnp.arange(8.0))
    state = eqx.tree_at(lambda s: s.classifier.layer, state, layer)
    _, found = look_at(state, seen, setup, key=KEY)
    assert found.information.accuracy == 1.0  # level 7 is what it always guesses
    expected = -jax.nn.log_softmax(jnp.arange(8.0))[7]
    assert found.information.cross_entropy == pytest.approx(float(expected), rel=1e-5)


def test_the_end_of_a_rollout_is_not_the_end_of_an_episode():
    assert SMOKE.ppo.bootstrap
    _, setup, played = one_rollout("value-l1")
    rollout = played.rollout
    advantage = np.asarray(estimate_advantages(rollout, setup.config.ppo))
    value, reward = np.asarray(rollout.value), np.asarray(rollout.reward)
    expected = reward[-1] + np.where(rollout.ended[-1], 0, 0.999 * value[-1]) - value[-2]
    np.testing.assert_allclose(advantage[-1], expected, rtol=1e-5)


def test_the_settings_are_those_of_the_papers_runs():
    paper = procgen_config("bigfish", "value-l1", "paper")
    ppo = paper.ppo
    assert ppo.transitions_per_update == 16_384 and paper.num_updates == 1525
    assert (ppo.epochs, ppo.num_minibatches, ppo.learning_rate) == (3, 8, 5e-4)
    assert (ppo.discount, ppo.gae_lambda, ppo.clip, ppo.adam_epsilon) == (0.999, 0.95, 0.2, 1e-5)
    assert (ppo.entropy_coefficient, ppo.value_coefficient) == (0.01, 0.5)
    assert (ppo.max_gradient_norm, ppo.final_lr_fraction) == (0.5, 1.0)
    assert (paper.num_levels, paper.watch_envs, paper.watch_steps) == (200, 8, 2048)
    assert paper.evaluate_episodes == 1000 and paper.difficulty == "easy"
    for name, primary, secondary in (
        ("uniform", "uniform", None),
        ("value-l1", "value_l1", None),
        ("mi", "level_nll", None),
        ("value-l1+uniform", "value_l1", "uniform"),
        ("value-l1+mi", "value_l1", "level_nll"),
    ):
        strategy = STRATEGIES[name]
        assert strategy.primary.score == primary
        assert (strategy.secondary and strategy.secondary.score) == secondary
        assert strategy.staleness == (0.0 if name == "uniform" else 0.1)
        if name != "uniform":
            assert (strategy.primary.transform, strategy.primary.temperature) == ("rank", 0.1)


def test_raw_returns_are_told_not_scaled_ones():
    state, setup, played = one_rollout("uniform")
    _, learned = score_and_learn(state, played, setup, key=KEY)
    assert learned.returned.total == pytest.approx(float(played.rollout.reward.sum()))
    assert learned.returned.episodes == int(played.rollout.ended.sum())


def test_steps_may_be_learned_from_in_any_order():
    _, _, played = one_rollout("uniform")
    flat = as_one_step(played.rollout)
    assert flat.observation.shape == (1, 64, 64, 64, 3)
    np.testing.assert_array_equal(flat.reward[0], played.rollout.reward.reshape(-1))
    np.testing.assert_array_equal(flat.value[0], played.rollout.value[:-1].reshape(-1))
