"""Playing every level of a set once, all side by side, until the last has ended."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.categorical import gumbel_noise, sample
from dred.agents.episodes import choose
from dred.agents.lstm import Memory
from dred.agents.network import ActorCritic
from dred.environment import Environment


class Episodes(eqx.Module):
    """How one episode in each level went."""

    solved: Bool[Array, " level"]  # it got a reward
    returned: Float[Array, " level"]  # the sum of its rewards
    steps: Int[Array, " level"]


class _Playing(eqx.Module):
    state: Any
    memory: Memory
    over: Bool[Array, " level"]
    returned: Float[Array, " level"]
    steps: Int[Array, " level"]
    time: Int[Array, ""]


def evaluate(
    network: ActorCritic,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    *,
    key: PRNGKeyArray,
    greedy: bool = False,
) -> Episodes:
    """One episode in each of these levels of a world, all side by side.

    Actions are sampled from the policy, or the likeliest ones.
    """
    count = len(levels)
    key_begin, key_act = jax.random.split(key)
    chance = jax.random.bits(key_begin, (count,))
    state = jax.vmap(lambda level, bits: environment.begin(world, level, chance=bits))(
        levels, chance
    )

    def go_on(now: _Playing) -> Bool[Array, ""]:
        return ~jnp.all(now.over)

    def step(now: _Playing) -> _Playing:
        view = jax.vmap(lambda one: environment.look(world, one))(now.state)
        memory, judged = network.step(now.memory, view)
        noise = gumbel_noise(judged.logits.shape, key=jax.random.fold_in(key_act, now.time))
        action = sample(judged.logits, noise * (0.0 if greedy else 1.0))
        moves = jax.vmap(lambda one, a: environment.move(world, one, a))(now.state, action)
        ended = moves.terminated | moves.truncated
        return _Playing(
            state=jax.vmap(choose)(now.over, now.state, moves.state),
            memory=memory,
            over=now.over | ended,
            returned=now.returned + jnp.where(now.over, 0.0, moves.reward),
            steps=now.steps + jnp.where(now.over, 0, 1),
            time=now.time + 1,
        )

    nothing = jnp.zeros(count)
    start = _Playing(
        state=state,
        memory=network.lstm.empty(count),
        over=jnp.zeros(count, jnp.bool_),
        returned=nothing,
        steps=jnp.zeros(count, jnp.int32),
        time=jnp.zeros((), jnp.int32),
    )
    end = jax.lax.while_loop(go_on, step, start)
    return Episodes(end.returned > 0, end.returned, end.steps)


evaluate_compiled = eqx.filter_jit(evaluate)
