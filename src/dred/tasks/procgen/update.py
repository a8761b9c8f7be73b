"""One pass round the loop in Procgen: draw levels, play them, score them, learn, watch."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray

from dred.agents.ppo import Losses, advantage_for_scores, estimate_advantages, learn
from dred.agents.probe import Examples, Information
from dred.agents.rollout import Rollout
from dred.config import TEST_LEVELS_END, ProcgenConfig
from dred.replay.buffer import Buffer, note_draws
from dred.replay.distribution import (
    drawn_from,
    effective_number,
    normalise,
    note_distribution,
    probabilities,
    scheduled,
)
from dred.replay.scores import LevelScores, record, score_levels, scores_of
from dred.task import is_positive
from dred.tasks.procgen.classifier import guess, guess_and_learn, information_in
from dred.tasks.procgen.levels import ProcgenLevels
from dred.tasks.procgen.play import Played, play
from dred.tasks.procgen.rewards import returns, scaled
from dred.tasks.procgen.state import Setup, State


class Returns(NamedTuple):
    """Episodes that ended, and the sum of their returns."""

    episodes: Int[Array, ""]
    total: Float[Array, ""]


class Learned(NamedTuple):
    """What learning tells about itself."""

    losses: Losses
    returned: Returns
    value_loss: Float[Array, ""]  # mean |advantage| of the levels that were played
    eta: Float[Array, ""]
    effective_levels: Float[Array, ""]
    unseen: Int[Array, ""]  # levels without a score


class Watched(NamedTuple):
    """What watching the agent tells."""

    train: Returns
    test: Returns
    information: Information


class Metrics(NamedTuple):
    """What an update tells about itself."""

    learned: Learned
    watched: Watched


def update(
    state: State,
    envs: ProcgenLevels,
    watched: ProcgenLevels,
    *,
    setup: Setup,
    key: PRNGKeyArray,
) -> tuple[State, Metrics]:
    """Play levels drawn from P_Λ, score them, learn; then watch the agent in other environments."""
    key_draw, key_play, key_learn, key_levels, key_watch, key_probe = jax.random.split(key, 6)

    next_levels = draw_levels(state, setup, key=key_draw)
    played = play(state.learner.agent, envs, np.asarray(next_levels), key=key_play)
    state, learned = score_and_learn(state, played, setup, key=key_learn)

    next_levels = draw_watched_levels(setup.config, key=key_levels)
    network = state.learner.agent
    seen = play(network, watched, np.asarray(next_levels), key=key_watch, keep_images=False)
    state, found = look_at(state, seen, setup, key=key_probe)
    return state, Metrics(learned, found)


def level_chances(buffer: Buffer, config: ProcgenConfig, eta: Array) -> Float[Array, " level"]:
    """P_Λ; but as long as some levels have no score, those, each as likely as the others."""
    unseen = buffer.is_used & ~buffer.is_scored
    known = probabilities(buffer, config.strategy, eta)
    return jnp.where(unseen.any(), normalise(jnp.zeros_like(known), unseen), known)


def eta_of(state: State, config: ProcgenConfig) -> Float[Array, ""]:
    """η, by its schedule over training."""
    return scheduled(config.strategy.eta, state.num_updates / config.num_updates)


@eqx.filter_jit
def draw_levels(state: State, setup: Setup, *, key: PRNGKeyArray) -> Int32[Array, "time env"]:
    """A level for each place in a rollout where an episode might end."""
    config = setup.config
    draw = drawn_from(level_chances(state.buffer, config, eta_of(state, config)))
    bits = jax.random.bits(key, (config.ppo.num_steps, config.ppo.num_envs))
    slots = jax.vmap(jax.vmap(draw))(bits)
    return state.buffer.levels[slots]


@eqx.filter_jit
def draw_watched_levels(
    config: ProcgenConfig, *, key: PRNGKeyArray
) -> Int32[Array, "time watched"]:
    """The same where the agent is only watched: training levels first, then test levels."""
    shape = (config.watch_steps, config.watch_envs)
    key_train, key_test = jax.random.split(key)
    train = jax.random.randint(key_train, shape, 0, config.num_levels)
    test = jax.random.randint(key_test, shape, config.num_levels, TEST_LEVELS_END)
    return jnp.concatenate([train, test], axis=1)


@eqx.filter_jit
def score_and_learn(
    state: State, played: Played, setup: Setup, *, key: PRNGKeyArray
) -> tuple[State, Learned]:
    """New scores for the levels that were played, and a better agent."""
    config, rollout = setup.config, played.rollout
    so_far, ends = returns(state.returned, rollout.reward, rollout.ended)
    scale, reward = scaled(state.scale, rollout.reward, rollout.ended)
    rollout = eqx.tree_at(lambda r: r.reward, rollout, reward)
    advantage = estimate_advantages(rollout, config.ppo)
    eta = eta_of(state, config)
    chances = level_chances(state.buffer, config, eta)
    results = judged(state, played, rollout, advantage, config)
    buffer = note_draws(state.buffer, rollout.level.reshape(-1), rollout.begins.reshape(-1))
    strategy = config.strategy
    buffer = record(buffer, results, smoothing=strategy.smoothing, cuts=strategy.cut_scores)
    num_updates = state.num_updates + 1
    buffer = note_distribution(buffer, chances, count=num_updates, window=config.average_window)
    was_played = results.episodes > 0
    learner, losses = learn(
        state.learner,
        as_one_step(rollout),
        advantage.reshape(1, -1),
        config.ppo,
        setup.optimiser,
        key=key,
    )
    after = State(
        learner=learner,
        classifier=state.classifier,
        buffer=buffer,
        scale=scale,
        returned=so_far,
        watched=state.watched,
        num_updates=num_updates,
    )
    learned = Learned(
        losses=losses,
        returned=Returns(rollout.ended.sum(), ends.sum()),
        value_loss=jnp.where(was_played, results.value_loss, 0.0).sum() / was_played.sum(),
        eta=eta,
        effective_levels=effective_number(chances),
        unseen=(buffer.is_used & ~buffer.is_scored).sum(),
    )
    return after, learned


def judged(
    state: State,
    played: Played,
    rollout: Rollout[Array],
    advantage: Float[Array, "time env"],
    config: ProcgenConfig,
) -> LevelScores:
    """How it went in each level, by the critic and the classifier as they were then."""
    guesses = guess(state.classifier.layer, Examples(played.features, rollout.level))
    return score_levels(
        rollout,
        advantage_for_scores(rollout, advantage, config.strategy, config.ppo),
        best=state.buffer.best,
        optimal=state.buffer.optimal,
        scores=scores_of(config.strategy),
        discount=config.ppo.discount,
        is_solved=is_positive,
        level_nll=-guesses.log_prob,
    )


def as_one_step(rollout: Rollout[Array]) -> Rollout[Array]:
    """The same steps as if of many agents for one step.

    An agent without a memory may learn from them in any order.
    """
    length, num_envs = rollout.reward.shape
    steps = eqx.tree_at(lambda r: r.value, rollout, rollout.value[:-1])
    flat = jax.tree.map(lambda leaf: leaf.reshape(1, length * num_envs, *leaf.shape[2:]), steps)
    return eqx.tree_at(lambda r: r.value, flat, jnp.concatenate([flat.value, flat.value]))


@eqx.filter_jit
def look_at(
    state: State, seen: Played, setup: Setup, *, key: PRNGKeyArray
) -> tuple[State, Watched]:
    """Returns where the agent was watched, and a better classifier."""
    config, half = setup.config, setup.config.watch_envs
    so_far, ends = returns(state.watched, seen.rollout.reward, seen.rollout.ended)
    features = seen.features[:, :half]
    examples = Examples(
        features.reshape(-1, features.shape[-1]), seen.rollout.level[:, :half].reshape(-1)
    )
    classifier, guesses = guess_and_learn(state.classifier, examples, config, key=key)
    state = eqx.tree_at(lambda s: (s.classifier, s.watched), state, (classifier, so_far))
    is_new = jnp.cumsum(seen.rollout.begins[:, :half], axis=0) > 0  # begun since the last look
    found = Watched(
        *(
            Returns(seen.rollout.ended[:, part].sum(), ends[:, part].sum())
            for part in (slice(None, half), slice(half, None))
        ),
        information=information_in(guesses, is_new.reshape(-1), config.num_levels),
    )
    return state, found
