"""Proximal policy optimisation (Schulman et al. 2017), for sequences.

A rollout is cut along time into segments; each begins with the memory that its agent had there
when it played, as a constant, and minibatches are drawn from all segments. With one segment for
each agent, sequences stay whole, as in the paper. For an agent without a memory, a rollout may also
be given as that of many agents for one step.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Generic

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from dred.agents.advantage import advantages
from dred.agents.choices import entropy_of, log_prob_of
from dred.agents.optimise import moved
from dred.agents.protocol import Agent, AgentT
from dred.agents.rollout import Rollout
from dred.config import MethodConfig, PPOConfig
from dred.devices import BY_AGENT, SHARED, averaged_over_devices, spread


class Learner(eqx.Module, Generic[AgentT]):
    """An agent and the state of its optimiser."""

    agent: AgentT
    optimiser: optax.OptState


class Losses(eqx.Module):
    """What was minimised, and how far the policy moved."""

    total: Float[Array, ""]
    policy: Float[Array, ""]
    value: Float[Array, ""]
    entropy: Float[Array, ""]
    clip_fraction: Float[Array, ""]  # share of steps whose ratio was outside the clip range
    approx_kl: Float[Array, ""]  # of the new policy from the old: mean of r − 1 − ln r
    gradient_norm: Float[Array, ""]  # before clipping


@cache  # as programs are compiled for one optimiser, and another of the same settings is another
def make_optimiser(config: PPOConfig, num_updates: int) -> optax.GradientTransformation:
    """Adam with the gradient's norm clipped; its learning rate falls linearly if asked to."""
    steps = num_updates * config.epochs * config.num_minibatches
    rate = optax.linear_schedule(
        config.learning_rate, config.learning_rate * config.final_lr_fraction, max(steps, 1)
    )
    return optax.chain(
        optax.clip_by_global_norm(config.max_gradient_norm),
        optax.adam(rate, eps=config.adam_epsilon),
    )


def estimate_advantages(rollout: Rollout[Any], config: PPOConfig) -> Float[Array, "time env"]:
    """Advantages of a rollout.

    [fidelity 41] As released, time-outs and the end of the rollout count as ends: nothing after
    them is worth anything. With `bootstrap`, the critic's expectation stands for what would have
    come.
    """
    if config.bootstrap:
        discount = jnp.where(rollout.ended, 0.0, config.discount)
        reward = rollout.reward + config.discount * rollout.end_value
    else:
        is_last = jnp.arange(rollout.reward.shape[0])[:, None] == rollout.reward.shape[0] - 1
        discount = jnp.where(rollout.ended | is_last, 0.0, config.discount)
        reward = rollout.reward
    return advantages(reward, discount, rollout.value, gae_lambda=config.gae_lambda)


def advantage_for_scores(
    rollout: Rollout[Any],
    advantage: Float[Array, "time env"],
    method: MethodConfig,
    config: PPOConfig,
) -> Float[Array, "time env"]:
    """The advantages by which levels are scored: the agent's own, or with a λ of their own."""
    if method.score_gae_lambda is None:
        return advantage
    return estimate_advantages(rollout, replace(config, gae_lambda=method.score_gae_lambda))


def normalise(advantage: Float[Array, "time env"]) -> Float[Array, "time env"]:
    """Mean 0 and standard deviation 1 over the whole batch (unbiased, as released)."""
    return (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-5)


def policy_loss(
    log_ratio: Float[Array, "*batch"], advantage: Float[Array, "*batch"], *, clip: float
) -> Float[Array, ""]:
    """−mean min(r Â, clip(r, 1 − ε, 1 + ε) Â),  r = π(a) / π_old(a)."""
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip, 1.0 + clip)
    return -jnp.minimum(ratio * advantage, clipped * advantage).mean()


def value_loss(
    value: Float[Array, "*batch"],
    old_value: Float[Array, "*batch"],
    target: Float[Array, "*batch"],
    *,
    clip: float,
) -> Float[Array, ""]:
    """½ mean max((v − G)², (v_clipped − G)²), v_clipped within ±ε of the old value."""
    near = old_value + jnp.clip(value - old_value, -clip, clip)
    return 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).mean()


class Segments(eqx.Module):
    """What there is to learn from: pieces of sequences, each with the memory before it."""

    observation: Any  # leaves [time, segment, …]
    begins: Bool[Array, "time segment"]
    action: Num[Array, "time segment *numbers"]
    log_prob: Float[Array, "time segment"]  # when the action was chosen
    value: Float[Array, "time segment"]  # expected then
    advantage: Float[Array, "time segment"]  # normalised
    target: Float[Array, "time segment"]  # of the value
    memory: Any  # leaves [segment, …]

    @property
    def count(self) -> int:
        """How many there are."""
        return self.begins.shape[1]

    def pick(self, some: Int[Array, " some"]) -> "Segments":
        """Some of them, in this order."""
        if some.shape[0] == self.count:
            return self  # order does not matter in a mean over all
        over_time = jax.tree.map(
            lambda leaf: jnp.take(leaf, some, axis=1), replace(self, memory=None)
        )
        memory = jax.tree.map(lambda leaf: leaf[some], self.memory)
        return replace(over_time, memory=memory)


def cut(
    rollout: Rollout[Any], advantage: Float[Array, "time env"], segment_length: int
) -> Segments:
    """A rollout as segments of this length, 0 for one for each agent."""
    length = segment_length or advantage.shape[0]

    def fold(leaf: Array) -> Array:
        """[time, env, …] as [time of a segment, segment, …]."""
        pieces = leaf.reshape(-1, length, *leaf.shape[1:]).swapaxes(0, 1)
        return pieces.reshape(length, -1, *leaf.shape[2:])

    value = rollout.value[:-1]
    over_time = (
        rollout.observation,
        rollout.begins,
        rollout.action,
        rollout.log_prob,
        value,
        normalise(advantage),
        advantage + value,
    )
    memory = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), rollout.memory)
    return Segments(*jax.tree.map(fold, over_time), memory=jax.lax.stop_gradient(memory))


def loss_of(agent: Agent, some: Segments, config: PPOConfig) -> tuple[Float[Array, ""], Losses]:
    """The whole loss on some segments: policy + c_v · value − c_e · entropy."""
    output = agent.unroll(some.observation, some.begins, some.memory)
    log_ratio = log_prob_of(output, some.action) - some.log_prob
    policy = policy_loss(log_ratio, some.advantage, clip=config.clip)
    value = value_loss(output.value, some.value, some.target, clip=config.clip)
    randomness = entropy_of(output).mean()
    total = policy + config.value_coefficient * value - config.entropy_coefficient * randomness
    ratio = jnp.exp(log_ratio)
    outside = jnp.where(jnp.abs(ratio - 1.0) > config.clip, 1.0, 0.0).mean()
    approx_kl = (ratio - 1.0 - log_ratio).mean()
    losses = Losses(total, policy, value, randomness, outside, approx_kl, jnp.zeros(()))
    return total, losses


@partial(jax.jit, static_argnames=("config", "optimiser", "mesh"))
def learn(
    learner: Learner[AgentT],
    rollout: Rollout[Any],
    advantage: Float[Array, "time env"],
    config: PPOConfig,
    optimiser: optax.GradientTransformation,
    *,
    mesh: Mesh | None = None,
    key: PRNGKeyArray,
) -> tuple[Learner[AgentT], Losses]:
    """Several passes over a rollout, each in minibatches of segments; the last pass's losses."""
    segments = cut(rollout, advantage, config.segment_length)
    piece = config.cpu_microbatch_size if jax.default_backend() == "cpu" else 0

    def gradient_on(
        agent: AgentT, segments: Segments, some: Int[Array, " some"]
    ) -> tuple[AgentT, Losses]:
        def on_part(part: Int[Array, " part"]) -> tuple[AgentT, Losses]:
            return jax.grad(loss_of, has_aux=True)(agent, segments.pick(part), config)

        return averaged_over_devices(in_pieces(on_part, some, piece), mesh)

    gradient_by_all = spread(gradient_on, mesh, takes=(SHARED, SHARED, BY_AGENT), gives=SHARED)

    def on_some(
        learner: Learner[AgentT], some: Int[Array, " some"]
    ) -> tuple[Learner[AgentT], Losses]:
        gradient, losses = gradient_by_all(learner.agent, segments, some)
        norm = optax.tree.norm(gradient)
        agent, state = moved(optimiser, learner.optimiser, learner.agent, gradient)
        losses = eqx.tree_at(lambda losses: losses.gradient_norm, losses, norm)
        return Learner(agent, state), losses

    def epoch(learner: Learner[AgentT], key: PRNGKeyArray) -> tuple[Learner[AgentT], Losses]:
        order = jax.random.permutation(key, segments.count).reshape(config.num_minibatches, -1)
        learner, losses = jax.lax.scan(on_some, learner, order)
        return learner, jax.tree.map(lambda loss: loss.mean(), losses)

    learner, losses = jax.lax.scan(epoch, learner, jax.random.split(key, config.epochs))
    return learner, jax.tree.map(lambda loss: loss[-1], losses)


def in_pieces(
    function: Callable[[Int[Array, " part"]], Any], some: Int[Array, " some"], size: int
) -> Any:  # noqa: ANN401  (what the function gives)
    """The mean of what a function gives for parts of this size, one after the other; 0: for all."""
    if size in (0, some.shape[0]):
        return function(some)
    parts = some.reshape(-1, size)
    zero = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(function, parts[0])
    )

    def add(total: Any, part: Array) -> tuple[Any, None]:  # noqa: ANN401
        return jax.tree.map(jnp.add, total, function(part)), None

    total, _ = jax.lax.scan(add, zero, parts)
    return jax.tree.map(lambda leaf: leaf / parts.shape[0], total)
