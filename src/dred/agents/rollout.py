"""Rollouts: a batch of agents in their levels for a number of steps."""

from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, UInt32

from dred.agents.choices import chosen, entropy_of, log_prob_of, noise_for
from dred.agents.episodes import NextStart, Start, begin, where
from dred.agents.memory import forget
from dred.agents.protocol import Agent, PolicyOutput
from dred.devices import BY_AGENT, BY_TIME_AND_AGENT, SHARED, gathered, spread
from dred.environment import Environment

ObservationT = TypeVar("ObservationT")


class Rollout(eqx.Module, Generic[ObservationT]):
    """What a batch of agents saw, did and received. Row t is step t."""

    observation: ObservationT  # leaves [time, env, …]
    begins: Bool[Array, "time env"]  # an episode begins with this observation
    level: Int[Array, "time env"]  # of the world
    action: Num[Array, "time env *numbers"]  # the number of one, or the numbers of it
    log_prob: Float[Array, "time env"]  # of the action, when it was chosen
    entropy: Float[Array, "time env"]  # of the policy, in nats
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    value: Float[Array, "time+1 env"]  # expected at each observation, and after the last step
    end_value: Float[Array, "time env"]
    """Expected of the state in which an episode ran out of time; 0 elsewhere, or if not asked."""
    memory: Any = None
    """What agents remembered when each segment began, leaves [segment, env, …]; or nothing."""

    @property
    def ended(self) -> Bool[Array, "time env"]:
        """Return where an episode ended."""
        return self.terminated | self.truncated


def roll_out(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    start: Start,
    *,
    length: int,
    segment_length: int = 0,
    next_start: NextStart,
    value_ends: bool,
    mesh: Mesh | None = None,
    key: PRNGKeyArray,
) -> Rollout[Any]:
    """Play from these starts, with empty memories; where an episode ends, go on at the next start.

    Memories are kept where each segment of this length begins; 0 for one segment.

    With `value_ends`, the critic also judges the last state of episodes that run out of time, which
    costs a second observation and a second pass of the network at steps where there is one.
    """
    num_envs = start.level.shape[0]
    key_action, key_start = jax.random.split(key)
    output = jax.eval_shape(partial(first_output, agent, environment, world, start))
    noise = noise_for(output, lead=(length,), key=key_action)
    bits = jax.random.bits(key_start, (length, num_envs, 2))
    game = Game(environment, next_start, segment_length or length, value_ends)
    some = spread(
        partial(roll_out_some, game),
        mesh,
        takes=(SHARED, SHARED, BY_AGENT, BY_TIME_AND_AGENT, BY_TIME_AND_AGENT),
        gives=BY_TIME_AND_AGENT,
    )
    return gathered(some(agent, world, start, noise, bits), mesh)


def first_output(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    start: Start,
) -> PolicyOutput:
    """Return what a batch of agents makes of its first observations."""
    state = begin(environment, world, start)
    seen = jax.vmap(lambda one: environment.observe(world, one))(state)
    return agent.step(agent.initial_memory(start.level.shape[0]), seen)[1]


class Game(NamedTuple):
    """What is played, and what is kept of it."""

    environment: Environment[Any, Any, Any, Any]
    next_start: NextStart
    segment_length: int
    value_ends: bool


class Playing(NamedTuple):
    """A batch of agents between two steps."""

    start: Start  # of the episode that each is in
    state: Any
    observation: Any
    memory: Any
    begins: Bool[Array, " env"]


def roll_out_some(
    game: Game,
    agent: Agent,
    world: Any,  # noqa: ANN401  (any environment's)
    start: Start,
    noise: Float[Array, "time env action"],
    bits: UInt32[Array, "time env 2"],
) -> Rollout[Any]:
    """Roll out some of the agents: those whose starts and random numbers these are."""
    length, num_envs, _ = noise.shape

    def segment(now: Playing, drawn: tuple[Array, Array]) -> tuple[Playing, tuple[Any, Any]]:
        after, rows = jax.lax.scan(partial(play_step, game, agent, world), now, drawn)
        return after, (now.memory, rows)

    state = begin(game.environment, world, start)
    memory, begins = agent.initial_memory(num_envs), jnp.ones(num_envs, jnp.bool_)
    first = Playing(start, state, observe(game, world, state), memory, begins)
    pieces = jax.tree.map(
        lambda leaf: leaf.reshape(-1, game.segment_length, *leaf.shape[1:]), (noise, bits)
    )
    last, (memories, rows) = jax.lax.scan(segment, first, pieces)
    rows = jax.tree.map(lambda leaf: leaf.reshape(length, *leaf.shape[2:]), rows)
    _, output = agent.step(forget(last.memory, last.begins), last.observation)
    value = jnp.concatenate([rows[9], output.value[None]])
    return Rollout(*rows[:9], value=value, end_value=rows[10], memory=memories)


def observe(game: Game, world: Any, state: Any) -> Any:  # noqa: ANN401  (any environment's)
    """Return what a batch of agents sees."""
    return jax.vmap(lambda one: game.environment.observe(world, one))(state)


def play_step(
    game: Game,
    agent: Agent,
    world: Any,  # noqa: ANN401  (any environment's)
    now: Playing,
    drawn: tuple[Array, Array],
) -> tuple[Playing, tuple[Any, ...]]:
    """Let each agent act once; where that ends an episode, begin the next."""
    environment, (noise_t, bits_t) = game.environment, drawn
    memory, output = agent.step(forget(now.memory, now.begins), now.observation)
    action = chosen(output, noise_t)
    after = jax.vmap(lambda one, a: environment.step(world, one, a))(now.state, action)
    ended = after.terminated | after.truncated
    end_value = jnp.zeros_like(output.value)
    if game.value_ends:
        ran_out = after.truncated & ~after.terminated

        def value_last_states() -> Array:
            last = observe(game, world, after.state)
            return jnp.where(ran_out, agent.step(memory, last)[1].value, 0.0)

        # Rare, so the second pass of the network is skipped where nobody ran out of time.
        end_value = jax.lax.cond(ran_out.any(), value_last_states, lambda: end_value)
    start = where(ended, jax.vmap(game.next_start)(now.start, bits_t), now.start)
    state = where(ended, begin(environment, world, start), after.state)
    row = (
        now.observation,
        now.begins,
        now.start.level,
        action,
        log_prob_of(output, action),
        entropy_of(output),
        after.reward,
        after.terminated,
        after.truncated,
        output.value,
        end_value,
    )
    return Playing(start, state, observe(game, world, state), memory, ended), row
