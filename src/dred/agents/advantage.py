"""How much better things went than expected."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def advantages(
    reward: Float[Array, "time env"],
    discount: Float[Array, "time env"],
    value: Float[Array, "time+1 env"],
    *,
    gae_lambda: float,
) -> Float[Array, "time env"]:
    """How much better each action turned out than the critic expected.

        δₜ = rₜ₊₁ + γₜ₊₁ v(sₜ₊₁) − v(sₜ)
        Âₜ = δₜ + γₜ₊₁ λ Âₜ₊₁

    `discount` is γ, or 0 where nothing after this step counts. `gae_lambda` is λ.
    Schulman et al. (2016), "High-Dimensional Continuous Control Using GAE".
    """
    surprise = reward + discount * value[1:] - value[:-1]

    def backwards(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        surprise_t, discount_t = step
        advantage_t = surprise_t + discount_t * gae_lambda * later
        return advantage_t, advantage_t

    nothing_after = jnp.zeros(reward.shape[1:])
    return jax.lax.scan(backwards, nothing_after, (surprise, discount), reverse=True)[1]
