"""Rewards on a common scale.

Problems differ in how much they reward. With `ppo.scale_rewards`, rewards are divided by the spread
of discounted sums of them, as OpenAI Baselines do. Returns are always sums of rewards as they were.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

DISCOUNT = 0.99  # not that of the agent
LARGEST = 10.0
ALMOST_NOTHING = 1e-8

Steps = Float[Array, "time env"]


class RewardScale(eqx.Module):
    """How much discounted sums of rewards vary, over all that was seen."""

    running: Float[Array, " env"]  # the discounted sum up to now, in each environment
    mean: Float[Array, ""]
    variance: Float[Array, ""]
    count: Float[Array, ""]


def new_scale(num_envs: int) -> RewardScale:
    """Before anything was seen."""
    return RewardScale(jnp.zeros(num_envs), jnp.zeros(()), jnp.ones(()), jnp.full((), 1e-4))


def scaled(
    scale: RewardScale, reward: Steps, ended: Bool[Array, "time env"]
) -> tuple[RewardScale, Steps]:
    """Rewards divided by the spread that was known at each step, that step included."""

    def step(scale: RewardScale, now: tuple[Array, Array]) -> tuple[RewardScale, Array]:
        reward_t, ended_t = now
        running = DISCOUNT * scale.running + reward_t
        mean, variance, count = merged(scale, running)
        shown = jnp.clip(reward_t / jnp.sqrt(variance + ALMOST_NOTHING), -LARGEST, LARGEST)
        return RewardScale(jnp.where(ended_t, 0.0, running), mean, variance, count), shown

    return jax.lax.scan(step, scale, (reward, ended))


def merged(scale: RewardScale, more: Float[Array, " env"]) -> tuple[Array, Array, Array]:
    """Mean, variance and count after some more numbers (Chan et al. 1979)."""
    size = more.shape[0]
    total = scale.count + size
    apart = more.mean() - scale.mean
    squares = (
        scale.variance * scale.count + more.var() * size + apart**2 * scale.count * size / total
    )
    return scale.mean + apart * size / total, squares / total, total
