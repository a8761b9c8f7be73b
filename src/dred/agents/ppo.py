"""Proximal policy optimisation (Schulman et al. 2017), for whole sequences.

For an agent without a memory, a rollout may also be given as that of many agents for one step.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.advantage import advantages
from dred.agents.categorical import entropy, log_prob
from dred.agents.network import Judgement
from dred.agents.play import Rollout
from dred.config import PPOConfig

NetworkT = TypeVar("NetworkT", bound="Judge")


@runtime_checkable
class Judge(Protocol):
    """A network that can learn: it judges all steps of a batch of agents."""

    def over_time(self, views: Any, begins: Bool[Array, "time env"]) -> Judgement:  # noqa: ANN401
        """Policy and value at each step, from what was seen; `begins` is where episodes begin."""
        ...


class Learner(eqx.Module, Generic[NetworkT]):
    """A network and the state of its optimiser."""

    network: NetworkT
    optimiser: optax.OptState


class Losses(eqx.Module):
    """What was minimised, and how far the policy moved."""

    total: Float[Array, ""]
    policy: Float[Array, ""]
    value: Float[Array, ""]
    entropy: Float[Array, ""]
    clipped: Float[Array, ""]  # share of steps whose ratio was outside the clip range
    divergence: Float[Array, ""]  # of the new policy from the old, roughly: mean of r − 1 − ln r
    gradient_norm: Float[Array, ""]  # before clipping


def make_optimiser(config: PPOConfig, num_updates: int) -> optax.GradientTransformation:
    """Adam with the gradient's norm clipped; its learning rate falls linearly if asked to."""
    steps = num_updates * config.epochs * config.num_minibatches
    rate = optax.linear_schedule(
        config.learning_rate, config.learning_rate * config.final_learning_rate, max(steps, 1)
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
    return advantages(reward, discount, rollout.value, trace=config.trace)


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


def loss_of(
    network: Judge,
    rollout: Rollout[Any],
    advantage: Float[Array, "time env"],
    target: Float[Array, "time env"],
    config: PPOConfig,
) -> tuple[Float[Array, ""], Losses]:
    """The whole loss on some of the agents: policy + c_v · value − c_e · entropy."""
    judged = network.over_time(rollout.view, rollout.begins)
    log_ratio = log_prob(judged.logits, rollout.action) - rollout.log_prob
    policy = policy_loss(log_ratio, advantage, clip=config.clip)
    value = value_loss(judged.value, rollout.value[:-1], target, clip=config.clip)
    randomness = entropy(judged.logits).mean()
    total = policy + config.value_coefficient * value - config.entropy_coefficient * randomness
    ratio = jnp.exp(log_ratio)
    outside = jnp.where(jnp.abs(ratio - 1.0) > config.clip, 1.0, 0.0).mean()
    divergence = (ratio - 1.0 - log_ratio).mean()
    losses = Losses(total, policy, value, randomness, outside, divergence, jnp.zeros(()))
    return total, losses


def learn(
    learner: Learner[NetworkT],
    rollout: Rollout[Any],
    advantage: Float[Array, "time env"],
    config: PPOConfig,
    optimiser: optax.GradientTransformation,
    *,
    key: PRNGKeyArray,
) -> tuple[Learner[NetworkT], Losses]:
    """Several passes over a rollout, each in pieces of whole sequences; the last pass's losses."""
    target = advantage + rollout.value[:-1]
    weighed = normalise(advantage)
    num_envs = advantage.shape[1]
    piece = config.cpu_piece if jax.default_backend() == "cpu" else 0

    def gradient_on(network: NetworkT, envs: Int[Array, " some"]) -> tuple[NetworkT, Losses]:
        def pick(part: Array) -> Array:
            return part if envs.shape[0] == num_envs else jnp.take(part, envs, axis=1)

        some = jax.tree.map(pick, rollout)
        grad = jax.grad(loss_of, has_aux=True)
        return grad(network, some, pick(weighed), pick(target), config)

    def on_some(
        learner: Learner[NetworkT], envs: Int[Array, " some"]
    ) -> tuple[Learner[NetworkT], Losses]:
        gradient, losses = in_pieces(lambda part: gradient_on(learner.network, part), envs, piece)
        norm = optax.tree.norm(gradient)
        parameters = cast(Any, learner.network)  # any pytree, though optax's types say otherwise
        changes, state = optimiser.update(gradient, learner.optimiser, parameters)
        network = cast(NetworkT, optax.apply_updates(parameters, changes))
        losses = eqx.tree_at(lambda losses: losses.gradient_norm, losses, norm)
        return Learner(network, state), losses

    def epoch(learner: Learner[NetworkT], key: PRNGKeyArray) -> tuple[Learner[NetworkT], Losses]:
        order = jax.random.permutation(key, num_envs).reshape(config.num_minibatches, -1)
        learner, losses = jax.lax.scan(on_some, learner, order)
        return learner, jax.tree.map(lambda loss: loss.mean(), losses)

    learner, losses = jax.lax.scan(epoch, learner, jax.random.split(key, config.epochs))
    return learner, jax.tree.map(lambda loss: loss[-1], losses)


def in_pieces(
    function: Callable[[Int[Array, " part"]], Any], envs: Int[Array, " some"], size: int
) -> Any:  # noqa: ANN401  (what the function gives)
    """The mean of what a function gives for parts of this size, one after the other; 0: for all."""
    if size in (0, envs.shape[0]):
        return function(envs)
    parts = envs.reshape(-1, size)
    zero = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(function, parts[0])
    )

    def add(total: Any, part: Array) -> tuple[Any, None]:  # noqa: ANN401
        return jax.tree.map(jnp.add, total, function(part)), None

    total, _ = jax.lax.scan(add, zero, parts)
    return jax.tree.map(lambda leaf: leaf / parts.shape[0], total)
