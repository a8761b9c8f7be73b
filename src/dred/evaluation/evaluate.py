"""Playing every level of a set once, all side by side, until the last has ended."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.choices import chosen, noise_for
from dred.agents.episodes import Start, begin, where
from dred.agents.protocol import Agent
from dred.environment import Environment
from dred.host import HostEnvironment, play_each


class Episodes(eqx.Module):
    """How one episode in each level went."""

    returned: Float[Array, " level"]  # the sum of its rewards
    steps: Int[Array, " level"]


class _Playing(eqx.Module):
    state: Any
    memory: Any
    over: Bool[Array, " level"]
    returned: Float[Array, " level"]
    steps: Int[Array, " level"]
    time: Int[Array, ""]


def evaluate(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any],
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    *,
    key: PRNGKeyArray,
    greedy: bool = False,
) -> Episodes:
    """One episode in each of these levels of a world, all side by side.

    Actions are sampled from the policy, or the most probable ones.
    """
    count = len(levels)
    key_begin, key_act = jax.random.split(key)
    start = Start(levels, jax.random.bits(key_begin, (count,)))

    def go_on(now: _Playing) -> Bool[Array, ""]:
        return ~jnp.all(now.over)

    def step(now: _Playing) -> _Playing:
        seen = jax.vmap(lambda one: environment.observe(world, one))(now.state)
        memory, output = agent.step(now.memory, seen)
        noise = noise_for(output, key=jax.random.fold_in(key_act, now.time))
        action = chosen(output, noise * (0.0 if greedy else 1.0))
        after = jax.vmap(lambda one, a: environment.step(world, one, a))(now.state, action)
        ended = after.terminated | after.truncated
        return _Playing(
            state=where(now.over, now.state, after.state),
            memory=memory,
            over=now.over | ended,
            returned=now.returned + jnp.where(now.over, 0.0, after.reward),
            steps=now.steps + jnp.where(now.over, 0, 1),
            time=now.time + 1,
        )

    nothing = jnp.zeros(count)
    first = _Playing(
        state=begin(environment, world, start),
        memory=agent.initial_memory(count),
        over=jnp.zeros(count, jnp.bool_),
        returned=nothing,
        steps=jnp.zeros(count, jnp.int32),
        time=jnp.zeros((), jnp.int32),
    )
    end = jax.lax.while_loop(go_on, step, first)
    return Episodes(end.returned, end.steps)


_evaluate_in_one_program = eqx.filter_jit(evaluate)


def evaluate_compiled(
    agent: Agent,
    environment: Environment[Any, Any, Any, Any] | HostEnvironment,
    world: Any,  # noqa: ANN401  (any environment's)
    levels: Int[Array, " level"],
    *,
    key: PRNGKeyArray,
    greedy: bool = False,
) -> Episodes:
    """Evaluate in one compiled program, or in a simulator on the host."""
    if not isinstance(environment, HostEnvironment):
        return _evaluate_in_one_program(agent, environment, world, levels, key=key, greedy=greedy)
    found = play_each(agent, environment, world, np.asarray(levels), key=key, greedy=greedy)
    returned = jnp.asarray(found.returned, jnp.float32)
    return Episodes(returned, jnp.asarray(found.steps, jnp.int32))
