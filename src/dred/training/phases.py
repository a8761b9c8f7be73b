"""The phases of an update: warm up, explore, replay or try new levels, propose."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.episodes import Restart, next_level, same_level
from dred.agents.play import Rollout, play
from dred.agents.ppo import advantage_for_scores, estimate_advantages
from dred.config import MethodConfig
from dred.replay.buffer import (
    EMPTY,
    MUTATED,
    NEVER,
    NEW,
    Buffer,
    Candidates,
    admit,
    locate,
    note_draws,
)
from dred.replay.distribution import drawn_from, note_distribution, probabilities, scheduled
from dred.replay.scores import Results, is_final, judge, record, scores_of
from dred.tasks.gridworld.generators import GENERATORS, WITHOUT_PARENTS, Given, Material
from dred.tasks.gridworld.view import World
from dred.training.state import Setup, TrainState, optimal_returns_of, store


class Played(eqx.Module):
    """A rollout, its advantages, how it went in each level, and the buffer before or after it."""

    rollout: Rollout[Any]
    advantage: Float[Array, "time env"]
    results: Results
    buffer: Buffer


def replay(state: TrainState, *, given: Given, setup: Setup, key: PRNGKeyArray) -> Played:
    """Play levels of the buffer, a new draw from P_Λ for each episode."""
    del given
    key_begin, key_play = jax.random.split(key)
    environment = setup.environment
    chances = probabilities(state.buffer, setup.config.method, eta_of(state, setup))
    buffer, draw = with_distribution(state, chances, setup), drawn_from(chances)
    slots = jax.vmap(draw)(jax.random.bits(key_begin, (setup.config.ppo.num_envs,)))
    world = buffer.levels.world
    played = play_and_judge(
        state,
        world,
        slots,
        next_level(environment, draw),
        best=buffer.best,
        optimal=buffer.optimal,
        setup=setup,
        key=key_play,
    )
    rollout, results = played.rollout, played.results
    buffer = note_draws(buffer, rollout.level.reshape(-1), rollout.begins.reshape(-1))
    method = setup.config.method
    buffer = record(buffer, results, smoothing=method.smoothing, cuts=method.cut_scores)
    return replace(played, buffer=buffer)


def try_new(state: TrainState, *, given: Given, setup: Setup, key: PRNGKeyArray) -> Played:
    """Play new levels, one for each agent for the whole rollout."""
    nobody = jnp.zeros(setup.config.ppo.num_envs, jnp.int32)
    played = try_out(state, NEW, nobody, given=given, setup=setup, key=key)
    after = replace(state, buffer=played.buffer)
    chances = probabilities(after.buffer, setup.config.method, eta_of(after, setup))
    return replace(played, buffer=with_distribution(after, chances, setup))


LEARN_ON: dict[str, Callable[..., Played]] = {"replay": replay, "new": try_new}


def warm_up(state: TrainState, *, setup: Setup, key: PRNGKeyArray) -> TrainState:
    """Score those levels of the dataset that have no score yet, without learning."""
    num_envs, environment = setup.config.ppo.num_envs, setup.environment

    def is_waiting(buffer: Buffer, tried: Array) -> Array:
        return buffer.from_dataset & ~buffer.is_scored & ~tried

    def is_due(now: tuple[Buffer, Array]) -> Array:
        return is_waiting(*now).any()

    def score_some(now: tuple[Buffer, Array]) -> tuple[Buffer, Array]:
        buffer, tried = now
        waiting = is_waiting(buffer, tried)
        order = jnp.argsort(~waiting, stable=True)  # those that wait come first
        slots = order[jnp.arange(num_envs) % jnp.maximum(waiting.sum(), 1)]
        played = play_and_judge(
            state,
            buffer.levels.world,
            slots,
            same_level(environment),
            best=buffer.best,
            optimal=buffer.optimal,
            setup=setup,
            key=jax.random.fold_in(key, buffer.is_scored.sum()),
        )
        return record(buffer, played.results), tried.at[slots].set(True)

    # Each is tried once, as a score that is not finite leaves a level without one.
    start = (state.buffer, jnp.zeros(state.buffer.capacity, jnp.bool_))
    buffer, _ = jax.lax.while_loop(is_due, score_some, start)
    return replace(state, buffer=buffer)


def explore(state: TrainState, *, given: Given, setup: Setup, key: PRNGKeyArray) -> TrainState:
    """Score new levels without learning, again and again, until it is time to replay."""
    method, num_envs = setup.config.method, setup.config.ppo.num_envs
    most = 2 * state.buffer.capacity // num_envs  # new levels may all be known already
    nobody = jnp.zeros(num_envs, jnp.int32)

    def is_due(now: tuple[TrainState, Array]) -> Array:
        full = now[0].buffer.share_full
        chance = jnp.where(full >= method.least_full, jnp.minimum(full, method.replay), 0.0)
        coin = jax.random.uniform(jax.random.fold_in(key, 2 * now[1]))
        return (coin >= chance) & (now[1] < most)

    def score_some(now: tuple[TrainState, Array]) -> tuple[TrainState, Array]:
        state, count = now
        key_now = jax.random.fold_in(key, 2 * count + 1)
        played = try_out(state, NEW, nobody, given=given, setup=setup, key=key_now)
        return replace(state, buffer=played.buffer), count + 1

    return jax.lax.while_loop(is_due, score_some, (state, jnp.zeros((), jnp.int32)))[0]


def propose(
    state: TrainState,
    parents: Int[Array, " env"],
    *,
    given: Given,
    setup: Setup,
    key: PRNGKeyArray,
) -> TrainState:
    """Make levels from these slots, score them without learning, and admit the good ones."""

    def try_some(state: TrainState) -> Buffer:
        return try_out(state, MUTATED, parents, given=given, setup=setup, key=key).buffer

    least = setup.config.method.after_eta
    if least == 0.0:
        return replace(state, buffer=try_some(state))
    is_time = eta_of(state, setup) >= least
    return replace(state, buffer=jax.lax.cond(is_time, try_some, lambda now: now.buffer, state))


def try_out(
    state: TrainState,
    made_by: int,
    parents: Int[Array, " env"],
    *,
    given: Given,
    setup: Setup,
    key: PRNGKeyArray,
) -> Played:
    """Make levels, play each for a whole rollout, and admit those that may enter."""
    key_make, key_play = jax.random.split(key)
    buffer, method = state.buffer, setup.config.method
    generator = makers_of(method)[made_by]
    has_parents = made_by == MUTATED and generator not in WITHOUT_PARENTS
    material = Material(given, jax.tree.map(lambda leaf: leaf[parents], buffer.levels.level))
    made = store(setup, GENERATORS[generator](material, method, key_make))
    optimal = optimal_returns_of(setup, made)
    played = play_and_judge(
        state,
        made.world,
        jnp.arange(parents.shape[0]),
        same_level(setup.environment),
        best=buffer.best.at[locate(buffer, made)].get(mode="fill", fill_value=NEVER),
        optimal=optimal,
        setup=setup,
        key=key_play,
    )
    results = played.results
    candidates = Candidates(
        levels=made,
        primary=results.primary,
        secondary=results.secondary,
        best=results.best,
        optimal=optimal,
        is_scored=results.episodes > 0,
        is_complete=is_final(results, method.cut_scores),
        may_enter=MAY_ENTER[method.admit](results, optimal),
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


def play_and_judge(
    state: TrainState,
    world: World,
    levels: Int[Array, " env"],
    restart: Restart[Any, Any],
    *,
    best: Float[Array, " level"],
    optimal: Float[Array, " level"],
    setup: Setup,
    key: PRNGKeyArray,
) -> Played:
    """One rollout from the start of these levels of a world, and how it went."""
    key_begin, key_play = jax.random.split(key)
    ppo, environment = setup.config.ppo, setup.environment
    chance = jax.random.bits(key_begin, levels.shape)
    begun = jax.vmap(lambda level, bits: environment.begin(world, level, chance=bits))(
        levels, chance
    )
    rollout = play(
        state.learner.network,
        environment,
        world,
        begun,
        length=ppo.num_steps,
        segment_length=ppo.segment_length,
        restart=restart,
        value_ends=ppo.bootstrap,
        mesh=setup.mesh,
        key=key_play,
    )
    advantage = estimate_advantages(rollout, ppo)
    results = judge(
        rollout,
        advantage_for_scores(rollout, advantage, setup.config.method, ppo),
        best=best,
        optimal=optimal,
        scores=scores_of(setup.config.method),
        discount=ppo.discount,
    )
    return Played(rollout, advantage, results, state.buffer)


def easiest(results: Results, num_parents: int, count: int) -> Int[Array, " env"]:
    """The slots in which return minus value loss was highest, taking turns."""
    ease = jnp.where(results.episodes > 0, results.mean_return - results.value_loss, -jnp.inf)
    best, slots = jax.lax.top_k(ease, min(num_parents, ease.shape[0]))
    num_played = jnp.maximum((best > -jnp.inf).sum(), 1)
    return slots[jnp.arange(count) % num_played]


def makers_of(method: MethodConfig) -> tuple[str, str, str]:
    """What the numbers in `made_by` mean, in the order of FROM_DATASET, NEW and MUTATED."""
    return ("dataset", method.new, method.after)


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


MAY_ENTER: dict[str, Callable[[Results, Float[Array, " level"]], Bool[Array, " level"]]] = {
    "all": lambda results, _: jnp.ones_like(results.solved),
    "solved": lambda results, _: results.solved,
    "solvable": lambda _, optimal: optimal > 0,
}

WORTH: dict[str, Callable[[Buffer, MethodConfig, Float[Array, ""]], Float[Array, " slot"]]] = {
    "least likely": probabilities,
    "lowest score": lambda buffer, method, _: getattr(buffer, deciding_score(method)),
    "oldest": lambda buffer, _, __: buffer.birth.astype(jnp.float32),
}
