"""Scores, against plain loops over episodes."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dred.agents.ppo import advantage_for_scores, estimate_advantages
from dred.agents.rollout import Rollout
from dred.config import MethodConfig, PPOConfig
from dred.replay.buffer import new_buffer, rescore
from dred.replay.scores import SCORES, score_levels
from dred.task import is_positive
from tests.replay.test_cut_episodes import an_episode

DISCOUNT = 0.9


def a_rollout(seed, *, length=12, envs=3, levels=4, share_ended=0.25):
    """Random numbers in the shape of a rollout; each episode has a level of its own."""
    random = np.random.default_rng(seed)
    terminated = random.random((length, envs)) < share_ended
    begins = np.vstack([np.ones((1, envs), bool), terminated[:-1]])
    level = np.zeros((length, envs), int)
    for env in range(envs):
        for t in range(length):
            level[t, env] = random.integers(levels) if begins[t, env] else level[t - 1, env]
    reward = np.where(terminated & (random.random((length, envs)) < 0.6), random.random(), 0.0)
    rollout = Rollout(
        observation=None,
        begins=jnp.asarray(begins),
        level=jnp.asarray(level),
        action=jnp.zeros((length, envs), int),
        log_prob=jnp.zeros((length, envs)),
        entropy=jnp.asarray(random.random((length, envs)), jnp.float32),
        reward=jnp.asarray(reward, jnp.float32),
        terminated=jnp.asarray(terminated),
        truncated=jnp.zeros((length, envs), bool),
        value=jnp.asarray(random.normal(size=(length + 1, envs)), jnp.float32),
        end_value=jnp.zeros((length, envs)),
    )
    return rollout, jnp.asarray(random.normal(size=(length, envs)), jnp.float32)


def episodes_of(rollout):
    """(level, env, first step, last step, ended) of every episode, in a loop."""
    length, envs = rollout.level.shape
    for env in range(envs):
        first = 0
        for t in range(length):
            if rollout.ended[t, env] or t == length - 1:
                yield int(rollout.level[t, env]), env, first, t, bool(rollout.ended[t, env])
                first = t + 1


def level_nll_in(rollout):
    """Any number for each step will do."""
    return 2.0 * rollout.entropy + 0.1


def oracle(rollout, advantage, best, optimal, name):
    """The score of each level, said slowly."""
    value, reward = np.asarray(rollout.value), np.asarray(rollout.reward)
    found = list(episodes_of(rollout))
    scores = {}
    for level in {episode[0] for episode in found}:
        mine = [e for e in found if e[0] == level and e[4]]
        mine = mine or [e for e in found if e[0] == level]
        returns = [reward[a : b + 1, env].sum() for _, env, a, b, _ in mine]
        highest = max(best[level], *returns)
        p = np.mean([r > 0 for r in returns])
        each = []
        for (_, env, a, b, ended), returned in zip(mine, returns, strict=True):
            gains = np.asarray(advantage)[a : b + 1, env]
            v = value[a : b + 1, env]
            v_next = value[a + 1 : b + 2, env].copy()
            v_next[-1] *= not ended
            each.append(
                {
                    "uniform": 1.0,
                    "value_l1": np.abs(gains).mean(),
                    "positive_value_loss": np.maximum(gains, 0).mean(),
                    "signed_value_loss": gains.mean(),
                    "one_step_td_error": np.abs(
                        reward[a : b + 1, env] + DISCOUNT * v_next - v
                    ).mean(),
                    "maxmc": np.maximum(highest - v, 0).mean(),
                    "grounded_value_l1": np.abs(gains).mean() if highest > 0 else 0.0,
                    "policy_entropy": np.asarray(rollout.entropy)[a : b + 1, env].mean(),
                    "true_regret": optimal[level] - returned,
                    "learnability": p * (1 - p),
                    "level_nll": level_nll_in(rollout)[a : b + 1, env].sum(),
                }[name]
            )
        scores[level] = np.mean(each)
    return scores


@pytest.mark.parametrize("name", SCORES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), share_ended=st.sampled_from([0.0, 0.1, 0.5]))
def test_scores_agree_with_a_loop_over_episodes(name, seed, share_ended):
    rollout, advantage = a_rollout(seed, share_ended=share_ended)
    best = np.array([-np.inf, 0.0, 0.5, -np.inf], np.float32)
    optimal = np.array([0.9, 0.8, 0.7, 0.0], np.float32)
    results = score_levels(
        rollout,
        advantage,
        best=jnp.asarray(best),
        optimal=jnp.asarray(optimal),
        scores=(name, "uniform"),
        discount=DISCOUNT,
        is_solved=is_positive,
        level_nll=level_nll_in(rollout),
    )
    expected = oracle(rollout, advantage, best, optimal, name)
    for level in range(4):
        assert (int(results.episodes[level]) > 0) == (level in expected)
        if level in expected:
            assert float(results.primary[level]) == pytest.approx(expected[level], abs=1e-4)
            assert float(results.secondary[level]) == pytest.approx(1.0)


def test_an_episode_cut_by_the_end_counts_only_where_no_other_ended():
    rollout, advantage = a_rollout(0, length=4, envs=1, share_ended=0.0)
    given = {"best": jnp.full(4, -jnp.inf), "optimal": jnp.ones(4)}
    results = score_levels(
        rollout,
        advantage,
        **given,
        scores=("value_l1", "uniform"),
        discount=DISCOUNT,
        is_solved=is_positive,
    )
    level = int(rollout.level[0, 0])
    assert int(results.episodes[level]) == 1  # nothing ended, yet the level has a score
    assert float(results.primary[level]) == pytest.approx(
        float(jnp.abs(advantage).mean()), abs=1e-5
    )


def test_a_grounded_score_is_zero_until_the_level_was_solved_once():
    rollout, advantage = a_rollout(3, share_ended=0.3)
    never = Rollout(**{**vars(rollout), "reward": jnp.zeros_like(rollout.reward)})
    for best, is_zero in ((-jnp.inf, True), (0.0, True), (0.4, False)):
        results = score_levels(
            never,
            advantage,
            best=jnp.full(4, best),
            optimal=jnp.ones(4),
            scores=("grounded_value_l1", "value_l1"),
            discount=DISCOUNT,
            is_solved=is_positive,
        )
        played = np.asarray(results.episodes) > 0
        assert (np.asarray(results.primary)[played] == 0).all() == is_zero


def test_an_unsolved_level_after_a_solved_one_has_a_return_of_exactly_zero():
    length, envs = 1024, 36
    ends = np.zeros((length, envs), bool)
    ends[6::7] = True
    begins = np.vstack([np.ones((1, envs), bool), ends[:-1]])
    level = (np.cumsum(begins, axis=0) - 1) % 2  # solved and unsolved in turns
    reward = np.where(ends & (level == 0), 0.9137, 0.0)
    nothing = jnp.zeros((length, envs))
    rollout = Rollout(
        observation=None,
        begins=jnp.asarray(begins),
        level=jnp.asarray(level),
        action=nothing.astype(int),
        log_prob=nothing,
        entropy=nothing,
        reward=jnp.asarray(reward, jnp.float32),
        terminated=jnp.asarray(ends),
        truncated=jnp.zeros((length, envs), bool),
        value=jnp.zeros((length + 1, envs)),
        end_value=nothing,
    )
    results = score_levels(
        rollout,
        nothing,
        best=jnp.full(2, -jnp.inf),
        optimal=jnp.ones(2),
        scores=("value_l1", "uniform"),
        discount=DISCOUNT,
        is_solved=is_positive,
    )
    assert np.asarray(results.solved).tolist() == [True, False]
    assert float(results.best[1]) == 0.0


@pytest.mark.parametrize(
    ("steps", "as_released", "by_returns"), [(5, 0.63, 0.69), (20, 0.42, 0.65), (80, 0.14, 0.52)]
)
def test_with_a_trace_of_its_own_a_score_shrinks_less_with_the_length_of_an_episode(
    steps, as_released, by_returns
):
    ppo = PPOConfig()
    value = np.append(np.full(steps, 0.3), 0.0)
    rollout = an_episode(0, steps=steps, ended=True, value=value, reward=1.0)
    usual = estimate_advantages(rollout, ppo)
    for trace, expected in ((None, as_released), (1.0, by_returns)):
        method = MethodConfig("plr", score_gae_lambda=trace)
        advantage = advantage_for_scores(rollout, usual, method, ppo)
        assert float(jnp.abs(advantage).mean()) == pytest.approx(expected, abs=0.01)
    to_come = ppo.discount ** np.arange(steps - 1, -1, -1.0)  # λ = 1: return minus expectation
    np.testing.assert_allclose(advantage[:, 0], to_come - 0.3, atol=1e-5)


def test_smoothing_keeps_a_share_of_a_score_but_not_of_a_first_one():
    buffer = new_buffer(jnp.arange(2), jnp.ones(2), 2)

    def scored(buffer, value, smoothing):
        found = jnp.array([value])
        return rescore(
            buffer,
            jnp.array([1]),
            primary=found,
            secondary=2 * found,
            best=found,
            smoothing=smoothing,
        )

    buffer = scored(buffer, 0.8, 0.75)
    assert (float(buffer.primary[1]), float(buffer.secondary[1])) == pytest.approx((0.8, 1.6))
    buffer = scored(buffer, 0.4, 0.75)
    assert (float(buffer.primary[1]), float(buffer.secondary[1])) == pytest.approx((0.7, 1.4))
    assert float(buffer.best[1]) == pytest.approx(0.8)  # of the best, nothing is forgotten
    assert float(scored(buffer, 0.4, 0.0).primary[1]) == pytest.approx(0.4)
    assert bool(buffer.is_scored[1]) and not bool(buffer.is_scored[0])
