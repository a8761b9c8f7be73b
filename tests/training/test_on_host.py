"""The loop in a simulator on the host: which level next, what it scores, what is learned of it."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.encoders import Linear
from dred.agents.ppo import cut, estimate_advantages
from dred.agents.rewards import new_scale, scaled
from dred.config import ClassifierConfig
from dred.errors import ConfigError
from dred.host import Moment
from dred.presets import METHODS, train_config
from dred.replay.buffer import rescore
from dred.replay.distribution import probabilities
from dred.tasks.procgen.presets import PROCGEN_BUDGETS, PROCGEN_METHODS
from dred.training.classify import Seen, classify, learn_to_guess
from dred.training.on_host import draw_slots, phases_for, rollout_in_simulator
from dred.training.phases import eta_of
from dred.training.simulators import simulators_of
from dred.training.state import new_setup
from dred.training.update import update
from tests.pretend import SMOKE, PretendSlots, begun, pretend_task

KEY = jax.random.key(0)


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


def chances_of(state, setup, eta=0.0):
    return probabilities(state.buffer, setup.config.method, jnp.asarray(eta))


def test_uniform_is_uniform_from_the_first_draw():
    state, _, setup = begun("uniform")
    np.testing.assert_allclose(chances_of(state, setup), 1 / 8)


@pytest.mark.parametrize("method", ["value-l1", "mi", "value-l1+uniform", "value-l1+mi"])
def test_as_long_as_levels_are_unseen_only_they_are_drawn_and_each_alike(method):
    state, _, setup = begun(method)
    state = with_scores(state, [9.0, 5.0, 1.0])
    wanted = [0, 0, 0, 0.2, 0.2, 0.2, 0.2, 0.2]
    np.testing.assert_allclose(chances_of(state, setup), wanted, atol=1e-7)


def test_once_all_are_seen_the_best_gets_nine_tenths_at_least():
    state, _, setup = begun("value-l1")
    state = with_scores(state, [0, 1, 2, 3, 9, 5, 6, 7])
    rank = np.argsort(np.argsort(-np.array([0, 1, 2, 3, 9, 5, 6, 7]))) + 1.0
    by_score = rank**-10 / (rank**-10).sum()
    np.testing.assert_allclose(chances_of(state, setup), 0.9 * by_score + 0.1 / 8, rtol=1e-5)


def test_mixing_with_uniform_is_truly_uniform():
    """The released settings rank equal scores by their place: a fixed Zipf law."""
    state, _, setup = begun("value-l1+uniform")
    state = with_scores(state, np.arange(8.0), np.ones(8))
    np.testing.assert_allclose(chances_of(state, setup, 1.0), 1 / 8, rtol=1e-6)  # all of P_S'


def test_the_second_term_comes_in_from_half_of_training_on_up_to_a_quarter():
    state, _, setup = begun("value-l1+mi", num_updates=1525)

    def eta(updates):
        later = eqx.tree_at(lambda s: s.num_updates, state, jnp.int32(updates))
        return float(eta_of(later, setup))

    assert eta(0) == eta(762) == 0.0
    assert eta(1144) == pytest.approx(0.125, abs=1e-3)
    assert eta(1524) == pytest.approx(0.25, abs=1e-3)


def test_levels_are_drawn_as_often_as_their_chances_say():
    state, _, setup = begun("uniform", num_levels=4, ppo=replace(SMOKE.ppo, num_steps=2000))
    drawn = np.asarray(draw_slots(state, setup, KEY)[0])
    assert drawn.shape == (2000, 4)
    assert np.abs(np.bincount(drawn.reshape(-1), minlength=4) / 8000 - 0.25).max() < 0.02


def one_rollout(method):
    state, context, setup = begun(method)
    return state, setup, rollout_in_simulator(state, context=context, setup=setup, key=KEY)


def test_the_score_of_a_level_is_its_mean_absolute_advantage_in_scaled_rewards():
    _, _, played = one_rollout("value-l1")
    rollout = played.rollout
    # By hand: rewards on their scale, then advantages backwards, then means over whole episodes.
    _, reward = scaled(new_scale(4), rollout.reward, rollout.ended)
    value, reward = np.asarray(rollout.value), np.asarray(reward)
    advantage, later = np.zeros_like(reward), np.zeros(4)
    for t in reversed(range(16)):
        going_on = np.where(rollout.ended[t], 0.0, 0.999)
        later = reward[t] + going_on * value[t + 1] - value[t] + going_on * 0.95 * later
        advantage[t] = later
    np.testing.assert_allclose(played.advantage, advantage, rtol=1e-4, atol=1e-5)
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
        assert played.buffer.primary[level] == pytest.approx(np.mean(scores), rel=1e-4)
        assert played.buffer.is_scored[level]


def test_the_score_mi_is_the_sum_over_an_episode_of_how_much_the_level_is_doubted():
    state, _, played = one_rollout("mi")
    layer, rollout = state.classifier.layer, played.rollout
    features = state.learner.agent.representation(rollout.observation, rollout.begins)
    odds = np.asarray(jax.nn.log_softmax(layer(features)))
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
        assert played.buffer.primary[level] == pytest.approx(np.mean(totals), rel=1e-4)


def test_an_update_leaves_nothing_unlearned_and_counts_itself():
    state, context, setup = begun("value-l1+mi")
    after, metrics = update(state, context=context, setup=setup, key=KEY)
    assert after.num_updates == 1
    before = state.learner.agent.shared.weight
    assert not np.array_equal(after.learner.agent.shared.weight, before)
    assert not np.array_equal(after.classifier.layer.weight, state.classifier.layer.weight)
    assert metrics.episodes > 0 and metrics.information is not None
    assert np.isfinite(metrics.losses.total)


def test_two_updates_carry_on_from_each_other():
    """Sums, scales and staleness go on; the new agent plays for the classifier."""
    state, context, setup = begun("value-l1+mi")
    states, rollouts = [state], []
    from dred.training import on_host as module

    real = module.roll_out_on_host

    def remember(*given, **more):
        rollouts.append(real(*given, **more))
        return rollouts[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "roll_out_on_host", remember)
        for number in range(2):
            key = jax.random.fold_in(KEY, number)
            states.append(update(states[-1], context=context, setup=setup, key=key)[0])
    both = {
        name: np.concatenate([np.asarray(getattr(r.rollout, name)) for r in rollouts])
        for name in ("reward", "ended", "level", "begins")
    }
    so_far = np.zeros(4)
    for reward, ended in zip(both["reward"], both["ended"], strict=True):
        so_far = np.where(ended, 0.0, so_far + reward)
    np.testing.assert_allclose(states[-1].ongoing.returned, so_far)
    scale, _ = scaled(new_scale(4), jnp.asarray(both["reward"]), jnp.asarray(both["ended"]))
    np.testing.assert_allclose(states[-1].reward_scale.variance, scale.variance, rtol=1e-6)
    # Draws, in the order of time and of environments within a step.
    last, count = np.zeros(8, int), 0
    for level, begins in zip(both["level"].reshape(-1), both["begins"].reshape(-1), strict=True):
        if begins:
            count += 1
            last[level] = count
    assert int(states[-1].buffer.num_draws) == count > 0
    np.testing.assert_array_equal(states[-1].buffer.last_drawn, last)


def test_metrics_tell_raw_returns_of_whole_episodes():
    state, context, setup = begun("uniform")
    before = eqx.tree_at(lambda s: s.ongoing.returned, state, jnp.full(4, 100.0))
    _, metrics = update(before, context=context, setup=setup, key=KEY)
    state, context, setup = begun("uniform")
    _, other = update(state, context=context, setup=setup, key=KEY)
    assert metrics.episodes == other.episodes > 4
    more = float(metrics.mean_return - other.mean_return) * int(other.episodes)
    assert more == pytest.approx(400.0, rel=1e-4)  # four episodes had begun before


def test_only_episodes_begun_since_it_last_learned_tell_of_information():
    state, _, setup = begun("uniform")
    layer = Linear(jnp.zeros((16, 8)), jnp.arange(8.0))
    state = eqx.tree_at(lambda s: s.classifier.layer, state, layer)
    level = jnp.concatenate([jnp.full((5, 4), 4), jnp.full((11, 4), 7)])
    seen = Seen(jnp.ones((16, 4, 16)), level, level == 7)
    _, found = learn_to_guess(state, seen, setup, KEY)
    assert found.accuracy == 1.0  # level 7 is what it always guesses
    expected = -jax.nn.log_softmax(jnp.arange(8.0))[7]
    assert found.cross_entropy == pytest.approx(float(expected), rel=1e-5)


def test_the_classifiers_agents_play_every_level_of_the_dataset():
    state, context, setup = begun("uniform")
    for number in range(3):
        state, _ = classify(state, context=context, setup=setup, key=jax.random.key(number))
    assert set(np.asarray(state.classified.level)) <= set(range(8))
    assert len(np.unique(context.simulators["classify"].level)) > 1


def test_the_end_of_a_rollout_is_not_the_end_of_an_episode():
    assert SMOKE.ppo.bootstrap
    _, setup, played = one_rollout("value-l1")
    rollout = played.rollout
    advantage = np.asarray(estimate_advantages(rollout, setup.config.ppo))
    value, reward = np.asarray(rollout.value), np.asarray(rollout.reward)
    expected = reward[-1] + np.where(rollout.ended[-1], 0, 0.999 * value[-1]) - value[-2]
    np.testing.assert_allclose(advantage[-1], expected, rtol=1e-5)


def test_an_agent_without_a_memory_learns_from_single_steps_in_any_order():
    assert SMOKE.ppo.segment_length == 1
    _, _, played = one_rollout("uniform")
    segments = cut(played.rollout, played.advantage, 1)
    assert segments.observation.shape == (1, 64, 64, 64, 3)
    np.testing.assert_array_equal(segments.action[0], played.rollout.action.reshape(-1))
    np.testing.assert_array_equal(segments.value[0], played.rollout.value[:-1].reshape(-1))


def test_the_settings_are_those_of_the_papers_runs():
    paper = PROCGEN_BUDGETS["paper"]
    ppo = paper.ppo
    assert ppo.transitions_per_update == 16_384 and paper.num_updates == 1525
    assert (ppo.epochs, ppo.num_minibatches, ppo.learning_rate) == (3, 8, 5e-4)
    assert (ppo.discount, ppo.gae_lambda, ppo.clip, ppo.adam_epsilon) == (0.999, 0.95, 0.2, 1e-5)
    assert (ppo.entropy_coefficient, ppo.value_coefficient) == (0.01, 0.5)
    assert (ppo.max_gradient_norm, ppo.final_lr_fraction) == (0.5, 1.0)
    assert (paper.classifier.num_envs, paper.classifier.num_steps) == (8, 2048)
    for name, primary, secondary in (
        ("uniform", "uniform", None),
        ("value-l1", "value_l1", None),
        ("mi", "level_nll", None),
        ("value-l1+uniform", "value_l1", "uniform"),
        ("value-l1+mi", "value_l1", "level_nll"),
    ):
        method = METHODS[name]
        assert method.primary.score == primary
        assert (method.secondary and method.secondary.score) == secondary
        assert method.staleness == (0.0 if name == "uniform" else 0.1)
        if name != "uniform":
            assert (method.primary.transform, method.primary.temperature) == ("rank", 0.1)


def test_the_laptop_preset_is_less_sharp_unless_a_method_is_the_users_own():
    def temperatures(method):
        found = train_config(method, "laptop", PROCGEN_BUDGETS, PROCGEN_METHODS).method
        return found.primary.temperature, found.secondary and found.secondary.temperature

    assert temperatures("value-l1") == (0.7, None)
    assert temperatures("value-l1+mi") == (0.7, 0.7)
    assert temperatures("value-l1+uniform")[0] == 0.7
    assert temperatures(METHODS["mi"]) == (0.7, None)  # as a study names it
    assert temperatures(replace(METHODS["mi"], staleness=0.2)) == (0.1, None)
    assert train_config("mi", "paper", PROCGEN_BUDGETS, PROCGEN_METHODS).method == METHODS["mi"]
    rank = np.arange(1.0, 101.0)
    chances = 0.9 * rank ** (-1 / 0.7) / (rank ** (-1 / 0.7)).sum() + 0.1 / 100
    assert np.exp(-(chances * np.log(chances)).sum()) == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("method", ["vae-dred", "dr"])
def test_methods_with_generators_that_the_task_does_not_have_are_refused(method):
    config = replace(SMOKE, method=METHODS[method])
    with pytest.raises(ConfigError, match="generator"):
        new_setup(config, pretend_task())


def test_every_level_of_the_dataset_is_scored_before_the_first_replay():
    """In slots of their own: those that agents learn from are not disturbed."""
    state, context, setup = begun("plr")
    before = context.simulators["play"].level.copy()
    after = phases_for(setup).score_dataset(state, context=context, setup=setup, key=KEY)
    assert after.buffer.is_scored.all() and not state.buffer.is_scored.any()
    np.testing.assert_array_equal(context.simulators["play"].level, before)
    assert int(after.buffer.num_draws) == 0


def test_a_simulator_trains_one_seed_at_a_time():
    with pytest.raises(ConfigError, match="one seed at a time"):
        simulators_of(begun("uniform")[2], (0, 1))


FOR_BRIGHT, FOR_DARK = 3, 7  # the actions that pay


class Lights(PretendSlots):
    """Every image is bright or dark; the right action for it pays 1, and then comes another."""

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.random = np.random.default_rng(0)
        self.shine(np.zeros(num_envs))

    def reset_to(self, levels):
        return self.moment

    def shine(self, reward):
        self.bright = self.random.random(self.num_envs) < 0.5
        base = np.where(self.bright, 200, 30)[:, None, None, None]
        image = base + self.random.integers(50, size=(self.num_envs, 64, 64, 3))
        ended = np.ones(self.num_envs, np.bool_)
        nobody = np.zeros(self.num_envs, np.bool_)
        self.moment = Moment(image.astype(np.uint8), reward.astype(np.float32), ended, nobody)
        return self.moment

    def step(self, actions, next_levels):
        return self.shine(np.asarray(actions) == np.where(self.bright, FOR_BRIGHT, FOR_DARK))


@pytest.mark.long
def test_an_agent_learns_which_action_an_image_asks_for():
    laptop = PROCGEN_BUDGETS["laptop"]
    small = replace(laptop.ppo, num_envs=16, num_steps=16)
    state, context, setup = begun(
        "uniform", num_levels=2, kind=Lights, base=laptop, ppo=small, classifier=ClassifierConfig()
    )
    rates = []
    for number in range(10):
        key = jax.random.fold_in(jax.random.key(1), number)
        state, metrics = update(state, context=context, setup=setup, key=key)
        rates.append(float(metrics.mean_return))
    assert rates[0] < 0.2  # one in fifteen, by chance
    assert max(rates) > 0.6
