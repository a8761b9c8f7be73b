"""Playing: a batch of agents in their levels for a number of steps."""

from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from dred.agents.categorical import entropy, gumbel_noise, log_prob, sample
from dred.agents.episodes import Restart, choose
from dred.agents.lstm import Memory
from dred.agents.network import ActorCritic
from dred.devices import BY_AGENT, BY_TIME_AND_AGENT, SHARED, gathered, spread
from dred.environment import Environment

WorldT = TypeVar("WorldT")
StateT = TypeVar("StateT")
ViewT = TypeVar("ViewT")


class Rollout(eqx.Module, Generic[ViewT]):
    """What a batch of agents saw, did and received. Row t is step t."""

    view: ViewT  # leaves [time, env, …]
    begins: Bool[Array, "time env"]  # an episode begins with this view
    level: Int[Array, "time env"]  # of the world
    action: Int[Array, "time env"]
    log_prob: Float[Array, "time env"]  # of the action, when it was chosen
    entropy: Float[Array, "time env"]  # of the policy, in nats
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    value: Float[Array, "time+1 env"]  # expected at each view, and after the last step
    end_value: Float[Array, "time env"]
    """Expected of the view in which an episode ran out of time; 0 elsewhere, or if not asked."""
    memory: Any = None
    """What agents remembered when each segment began, leaves [segment, env, …]; or nothing."""

    @property
    def ended(self) -> Bool[Array, "time env"]:
        """Where an episode ended."""
        return self.terminated | self.truncated


def play(
    network: ActorCritic,
    environment: Environment[Any, WorldT, StateT, Any],
    world: WorldT,
    state: StateT,
    *,
    length: int,
    segment_length: int = 0,
    restart: Restart[WorldT, StateT],
    value_ends: bool,
    mesh: Mesh | None = None,
    key: PRNGKeyArray,
) -> Rollout[Any]:
    """Play from the given states, which must be those of new episodes, with empty memories.

    Memories are kept where each segment of this length begins; 0 for one segment.

    With `value_ends`, the critic also judges the last view of episodes that run out of time, which
    costs a second look and a second pass of the network at steps where there is one.
    """
    num_envs = jax.tree.leaves(state)[0].shape[0]
    key_action, key_chance = jax.random.split(key)
    noise = gumbel_noise((length, num_envs, environment.num_actions), key=key_action)
    chance = jax.random.bits(key_chance, (length, num_envs, 2))
    game = Game(environment, restart, segment_length or length, value_ends)
    some = spread(
        partial(play_some, game),
        mesh,
        takes=(SHARED, SHARED, BY_AGENT, BY_TIME_AND_AGENT, BY_TIME_AND_AGENT),
        gives=BY_TIME_AND_AGENT,
    )
    return gathered(some(network, world, state, noise, chance), mesh)


class Game(NamedTuple):
    """What is played, and what is kept of it."""

    environment: Environment[Any, Any, Any, Any]
    restart: Restart[Any, Any]
    segment_length: int
    value_ends: bool


def play_some(
    game: Game,
    network: ActorCritic,
    world: Any,  # noqa: ANN401  (any environment's)
    state: Any,  # noqa: ANN401  (any environment's)
    noise: Float[Array, "time env action"],
    chance: UInt32[Array, "time env 2"],
) -> Rollout[Any]:
    """Some of the agents: those whose states and random numbers these are."""
    environment, (length, num_envs, _) = game.environment, noise.shape

    def look(state: Any) -> Any:  # noqa: ANN401  (whatever the environment shows)
        return jax.vmap(lambda one: environment.look(world, one))(state)

    def step(
        carry: tuple[Any, Any, Memory, Array], drawn: tuple[Array, Array]
    ) -> tuple[tuple[Any, Any, Memory, Array], tuple[Any, ...]]:
        state, view, memory, begins = carry
        noise_t, chance_t = drawn
        memory = forget(memory, begins)
        memory, judged = network.step(memory, view)
        action = sample(judged.logits, noise_t)
        moves = jax.vmap(lambda one, a: environment.move(world, one, a))(state, action)
        ended = moves.terminated | moves.truncated
        end_value = jnp.zeros_like(judged.value)
        if game.value_ends:
            ran_out = moves.truncated & ~moves.terminated

            def value_last_views(memory: Memory = memory, state: Any = moves.state) -> Array:  # noqa: ANN401
                return jnp.where(ran_out, network.step(memory, look(state))[1].value, 0.0)

            # Rare, so the second pass of the network is skipped where nobody ran out of time.
            end_value = jax.lax.cond(ran_out.any(), value_last_views, lambda: end_value)
        begun = jax.vmap(lambda one, c: game.restart(world, one, c))(moves.state, chance_t)
        after = jax.vmap(choose)(ended, begun, moves.state)
        row = (
            view,
            begins,
            level_of(state),
            action,
            log_prob(judged.logits, action),
            entropy(judged.logits),
            moves.reward,
            moves.terminated,
            moves.truncated,
            judged.value,
            end_value,
        )
        return (after, look(after), memory, ended), row

    def segment(
        carry: tuple[Any, Any, Memory, Array], drawn: tuple[Array, Array]
    ) -> tuple[tuple[Any, Any, Memory, Array], tuple[Memory, Any]]:
        after, rows = jax.lax.scan(step, carry, drawn)
        return after, (carry[2], rows)

    start = (state, look(state), network.lstm.empty(num_envs), jnp.ones(num_envs, jnp.bool_))
    pieces = jax.tree.map(
        lambda leaf: leaf.reshape(-1, game.segment_length, *leaf.shape[1:]), (noise, chance)
    )
    (_, view, memory, begins), (memories, rows) = jax.lax.scan(segment, start, pieces)
    rows = jax.tree.map(lambda leaf: leaf.reshape(length, *leaf.shape[2:]), rows)
    _, judged = network.step(forget(memory, begins), view)
    value = jnp.concatenate([rows[9], judged.value[None]])
    return Rollout(*rows[:9], value=value, end_value=rows[10], memory=memories)


def forget(memory: Memory, begins: Bool[Array, " env"]) -> Memory:
    """An empty memory where an episode begins."""
    keep = jnp.where(begins, 0.0, 1.0)[:, None]
    return Memory(memory.hidden * keep, memory.cell * keep)


def level_of(state: Any) -> Int[Array, " env"]:  # noqa: ANN401  (any environment's state)
    """Which level each agent is in."""
    return state.level
