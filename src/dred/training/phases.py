"""The phases of an update: score the dataset, explore, roll out, generate and score."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.episodes import NextStart, Start, next_level, same_start
from dred.agents.ppo import advantage_for_scores, estimate_advantages
from dred.agents.probe import Examples
from dred.agents.rewards import RewardScale, scaled
from dred.agents.rollout import Rollout, roll_out
from dred.config import MethodConfig
from dred.generation import settings_of
from dred.host import Ongoing
from dred.replay.admission import Candidates, admit
from dred.replay.buffer import EMPTY, MUTATED, NEVER, NEW, Buffer, locate, note_draws
from dred.replay.distribution import drawn_from, note_distribution, probabilities, scheduled
from dred.replay.scores import LevelScores, is_final, record, score_levels
from dred.task import GeneratorInput, RunContext
from dred.training.state import Setup, Stored, TrainState, store


class Played(eqx.Module):
    """A rollout, its advantages, how it went in each level, and the buffer before or after it."""

    rollout: Rollout[Any]
    advantage: Float[Array, "time env"]
    scores: LevelScores
    buffer: Buffer
    reward_scale: RewardScale | None = None
    ongoing: Ongoing | None = None


def rollout_from_buffer(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Played:
    """Play levels of the buffer, a new draw from P_Λ for each episode."""
    del context
    key_begin, key_play = jax.random.split(key)
    chances = probabilities(state.buffer, setup.config.method, eta_of(state, setup))
    buffer, draw = with_distribution(state, chances, setup), drawn_from(chances)
    slots = jax.vmap(draw)(jax.random.bits(key_begin, (setup.config.ppo.num_envs,)))
    played = play_and_score(
        state,
        buffer.levels.world,
        slots,
        next_level(draw),
        best=buffer.best,
        optimal=buffer.optimal,
        setup=setup,
        key=key_play,
    )
    return recorded(played, buffer, setup)


def recorded(played: Played, buffer: Buffer, setup: Setup) -> Played:
    """Return a rollout in levels of the buffer, with the buffer that knows how it went."""
    rollout, method = played.rollout, setup.config.method
    buffer = note_draws(buffer, rollout.level.reshape(-1), rollout.begins.reshape(-1))
    buffer = record(buffer, played.scores, smoothing=method.smoothing, cuts=method.cut_scores)
    return replace(played, buffer=buffer)


def rollout_on_new_levels(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Played:
    """Play new levels, one for each agent for the whole rollout."""
    no_parents = jnp.zeros(setup.config.ppo.num_envs, jnp.int32)
    played = generate_and_score(state, NEW, no_parents, context=context, setup=setup, key=key)
    return noted(state, played, setup)


def noted(state: TrainState, played: Played, setup: Setup) -> Played:
    """Return a rollout whose buffer has taken P_Λ as it is then into its running mean."""
    after = replace(state, buffer=played.buffer)
    chances = probabilities(after.buffer, setup.config.method, eta_of(after, setup))
    return replace(played, buffer=with_distribution(after, chances, setup))


class Phases(NamedTuple):
    """The phases of an update, where the task's levels are played."""

    score_dataset: Callable[..., TrainState]
    explore: Callable[..., TrainState]
    roll_out: Callable[..., Played]
    mutate: Callable[..., TrainState]


ROLLOUTS: dict[str, Callable[..., Played]] = {
    "replay": rollout_from_buffer,
    "new": rollout_on_new_levels,
}


def is_waiting(buffer: Buffer, tried: Bool[Array, " slot"]) -> Bool[Array, " slot"]:
    """Return which levels of the dataset have no score yet, of those that were not tried now."""
    return buffer.from_dataset & ~buffer.is_scored & ~tried


def next_waiting(waiting: Bool[Array, " slot"], count: int) -> Int[Array, " env"]:
    """Return so many slots whose levels wait to be scored, taking turns if there are fewer."""
    order = jnp.argsort(~waiting, stable=True)  # those that wait come first
    return order[jnp.arange(count) % jnp.maximum(waiting.sum(), 1)]


def score_dataset(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> TrainState:
    """Score those levels of the dataset that have no score yet, without learning."""
    del context
    num_envs = setup.config.ppo.num_envs

    def is_due(now: tuple[Buffer, Array]) -> Array:
        return is_waiting(*now).any()

    def score_some(now: tuple[Buffer, Array]) -> tuple[Buffer, Array]:
        buffer, tried = now
        slots = next_waiting(is_waiting(buffer, tried), num_envs)
        played = play_and_score(
            state,
            buffer.levels.world,
            slots,
            same_start,
            best=buffer.best,
            optimal=buffer.optimal,
            setup=setup,
            key=jax.random.fold_in(key, buffer.is_scored.sum()),
        )
        return record(buffer, played.scores), tried.at[slots].set(True)

    # Each is tried once, as a score that is not finite leaves a level without one.
    start = (state.buffer, jnp.zeros(state.buffer.capacity, jnp.bool_))
    buffer, _ = jax.lax.while_loop(is_due, score_some, start)
    return replace(state, buffer=buffer)


def explore(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> TrainState:
    """Score new levels without learning, again and again, until it is time to replay."""
    num_envs = setup.config.ppo.num_envs
    most = 2 * state.buffer.capacity // num_envs  # new levels may all be known already
    no_parents = jnp.zeros(num_envs, jnp.int32)

    def is_due(now: tuple[TrainState, Array]) -> Array:
        return ~is_time_to_replay(now[0], now[1], setup, key) & (now[1] < most)

    def score_some(now: tuple[TrainState, Array]) -> tuple[TrainState, Array]:
        state, count = now
        key_now = jax.random.fold_in(key, 2 * count + 1)
        played = generate_and_score(
            state, NEW, no_parents, context=context, setup=setup, key=key_now
        )
        return replace(state, buffer=played.buffer), count + 1

    return jax.lax.while_loop(is_due, score_some, (state, jnp.zeros((), jnp.int32)))[0]


def is_time_to_replay(
    state: TrainState, count: Int[Array, ""] | int, setup: Setup, key: PRNGKeyArray
) -> Bool[Array, ""]:
    """Return whether chance says to replay, after so many times of scoring new levels."""
    method, full = setup.config.method, state.buffer.share_full
    chance = jnp.where(full >= method.min_fill_fraction, jnp.minimum(full, method.replay_prob), 0.0)
    return jax.random.uniform(jax.random.fold_in(key, 2 * count)) < chance


def mutate(
    state: TrainState,
    parents: Int[Array, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> TrainState:
    """Make levels from these slots, score them without learning, and admit the good ones."""

    def try_some(state: TrainState) -> Buffer:
        return generate_and_score(
            state, MUTATED, parents, context=context, setup=setup, key=key
        ).buffer

    least = setup.config.method.mutation_min_eta
    if least == 0.0:
        return replace(state, buffer=try_some(state))
    is_time = eta_of(state, setup) >= least
    return replace(state, buffer=jax.lax.cond(is_time, try_some, lambda now: now.buffer, state))


def generate_and_score(
    state: TrainState,
    made_by: int,
    parents: Int[Array, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> Played:
    """Make levels, play each for a whole rollout, and admit those that may enter."""
    key_make, key_play = jax.random.split(key)
    made = generate(state, made_by, parents, context=context, setup=setup, key=key_make)
    played = play_and_score(
        state,
        made.stored.world,
        jnp.arange(parents.shape[0]),
        same_start,
        best=made.best,
        optimal=made.optimal,
        setup=setup,
        key=key_play,
    )
    return admit_generated(state, made, played, made_by, parents, setup=setup)


class Generated(eqx.Module):
    """New levels, and what is known of them before they are played."""

    stored: Stored
    best: Float[Array, " level"]  # return so far, of those that the buffer has already
    optimal: Float[Array, " level"]


def generate(
    state: TrainState,
    made_by: int,
    parents: Int[Array, " env"],
    *,
    context: RunContext,
    setup: Setup,
    key: PRNGKeyArray,
) -> Generated:
    """Make as many levels as there are parents, by the generator that the method names."""
    buffer, method = state.buffer, setup.config.method
    name = makers_of(method)[made_by]
    generator = setup.task.generators[name]
    given = GeneratorInput(
        dataset=context.dataset,
        parents=jax.tree.map(lambda leaf: leaf[parents], buffer.levels.level),
        model=context.models.get(name),
    )
    settings = settings_of(method, name, generator)
    made = store(setup, generator.propose(given, settings, key), beside=buffer.levels)
    best = buffer.best.at[locate(buffer, made)].get(mode="fill", fill_value=NEVER)
    return Generated(made, best, setup.task.optimal_of(made.level, made.world))


def admit_generated(
    state: TrainState,
    made: Generated,
    played: Played,
    made_by: int,
    parents: Int[Array, " env"],
    *,
    setup: Setup,
) -> Played:
    """Return a rollout in new levels, with the buffer to which the good ones are admitted."""
    buffer, method, optimal = state.buffer, setup.config.method, made.optimal
    generator = setup.task.generators[makers_of(method)[made_by]]
    has_parents = made_by == MUTATED and generator.uses_parents
    scores = played.scores
    candidates = Candidates(
        levels=made.stored,
        primary=scores.primary,
        secondary=scores.secondary,
        best=scores.best,
        optimal=optimal,
        is_scored=scores.episodes > 0,
        is_complete=is_final(scores, method.cut_scores),
        may_enter=MAY_ENTER[method.admit](scores, optimal),
        parent=jnp.where(has_parents, buffer.number[parents], EMPTY),
        generation=jnp.where(has_parents, buffer.generation[parents] + 1, 0),
        made_by=jnp.int32(made_by),
        birth=state.num_updates,
    )
    eta = eta_of(state, setup)
    worth = WORTH[method.evict]
    buffer, _ = admit(
        buffer,
        candidates,
        worth=lambda buffer: worth(buffer, method, eta),
        by=deciding_score(method),
    )
    return replace(played, buffer=buffer)


def play_and_score(
    state: TrainState,
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " env"],
    next_start: NextStart,
    *,
    best: Float[Array, " level"],
    optimal: Float[Array, " level"],
    setup: Setup,
    key: PRNGKeyArray,
) -> Played:
    """One rollout from the start of these levels of a world, and how it went."""
    key_begin, key_play = jax.random.split(key)
    ppo = setup.config.ppo
    rollout = roll_out(
        state.learner.agent,
        setup.environment,
        world,
        Start(levels, jax.random.bits(key_begin, levels.shape)),
        length=ppo.num_steps,
        segment_length=ppo.segment_length,
        next_start=next_start,
        value_ends=ppo.bootstrap,
        mesh=setup.mesh,
        key=key_play,
    )
    return score(state, rollout, best=best, optimal=optimal, setup=setup)


def score(
    state: TrainState,
    rollout: Rollout[Any],
    *,
    best: Float[Array, " level"],
    optimal: Float[Array, " level"],
    setup: Setup,
    features: Float[Array, "time env feature"] | None = None,
) -> Played:
    """Say how a rollout went, by the critic and the classifier as they are.

    `features` are the agent's representations in it, if they are known already.
    """
    method, ppo = setup.config.method, setup.config.ppo
    scale, paid = state.reward_scale, rollout
    if scale is not None:
        begun = replace(scale, running=jnp.where(rollout.begins[0], 0.0, scale.running))
        scale, reward = scaled(begun, rollout.reward, rollout.ended)
        paid = replace(rollout, reward=reward)
    advantage = estimate_advantages(paid, ppo)
    level_nll = None
    if state.classifier is not None and "level_nll" in method.scores:
        if features is None:
            features = state.learner.agent.representation(rollout.observation, rollout.begins)
        level_nll = -state.classifier.guess(Examples(features, rollout.level)).log_prob
    scores = score_levels(
        paid,
        advantage_for_scores(paid, advantage, method, ppo),
        best=best,
        optimal=optimal,
        scores=method.scores,
        discount=ppo.discount,
        is_solved=setup.task.is_solved,
        level_nll=level_nll,
    )
    return Played(rollout, advantage, scores, state.buffer, scale)


def select_parents(scores: LevelScores, num_parents: int, count: int) -> Int[Array, " env"]:
    """Return the slots in which return minus value loss was highest, taking turns."""
    ease = jnp.where(scores.episodes > 0, scores.mean_return - scores.value_loss, -jnp.inf)
    best, slots = jax.lax.top_k(ease, min(num_parents, ease.shape[0]))
    num_played = jnp.maximum((best > -jnp.inf).sum(), 1)
    return slots[jnp.arange(count) % num_played]


def makers_of(method: MethodConfig) -> tuple[str, str, str]:
    """What the numbers in `made_by` mean, in the order of FROM_DATASET, NEW and MUTATED."""
    return ("dataset", method.new_level_generator, method.mutation_generator)


def with_distribution(state: TrainState, chances: Float[Array, " slot"], setup: Setup) -> Buffer:
    """The buffer of a state, with P_Λ as it is now taken into its running mean."""
    count, window = state.num_updates + 1, setup.config.average_window
    return note_distribution(state.buffer, chances, count=count, window=window)


def eta_of(state: TrainState, setup: Setup) -> Float[Array, ""]:
    """η: by its schedule over training, unless the drift guard holds it back."""
    progress = state.num_updates / setup.config.num_updates
    return scheduled(setup.config.method.eta, progress) * state.eta_scale


def deciding_score(method: MethodConfig) -> str:
    """Which of the two scores decides who is admitted."""
    return "primary" if method.secondary is None else "secondary"


MAY_ENTER: dict[str, Callable[[LevelScores, Float[Array, " level"]], Bool[Array, " level"]]] = {
    "all": lambda scores, _: jnp.ones_like(scores.solved),
    "solved": lambda scores, _: scores.solved,
    "solvable": lambda _, optimal: optimal > 0,
}

WORTH: dict[str, Callable[[Buffer, MethodConfig, Float[Array, ""]], Float[Array, " slot"]]] = {
    "least likely": probabilities,
    "lowest score": lambda buffer, method, _: getattr(buffer, deciding_score(method)),
    "oldest": lambda buffer, _, __: buffer.birth.astype(jnp.float32),
}
