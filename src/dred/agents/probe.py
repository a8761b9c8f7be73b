"""How much a representation tells about the level: a linear classifier that guesses which it is.

    I(L; b) ≈ log |L| − cross-entropy of the guesses, on data that the classifier has not seen

For levels that are equally likely this is a lower bound of the mutual information between the
level and the representation b, and the better the classifier, the nearer. The classifier has its
own optimiser; no gradient reaches the agent. It is fitted anew for each measurement, so that a
measurement depends on nothing but the agent and a key.
"""

from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.config import ProbeConfig


class Information(NamedTuple):
    """What a representation tells about the level."""

    nats: Float[Array, ""]  # I(L; b), at least 0 and at most log |L|
    accuracy: Float[Array, ""]  # share of right guesses
    cross_entropy: Float[Array, ""]  # in nats


class Examples(NamedTuple):
    """Representations, and the levels in which they arose."""

    features: Float[Array, "*example feature"]
    level: Int[Array, "*example"]


def information(
    seen: Examples, unseen: Examples, num_levels: int, config: ProbeConfig, *, key: PRNGKeyArray
) -> Information:
    """Fit the classifier to some examples, and judge it by others."""
    mean, spread = seen.features.mean(0), seen.features.std(0) + 1e-6
    train, test = (
        Examples(jax.lax.stop_gradient((some.features - mean) / spread), some.level)
        for some in (seen, unseen)
    )
    count, size = train.features.shape
    batch = min(config.batch_size, count)
    steps_each = count // batch
    steps = config.epochs * steps_each
    optimiser = optax.adam(optax.cosine_decay_schedule(config.learning_rate, max(1, steps)))
    weight = jnp.zeros((size + 1, num_levels))  # with the bias as a last row

    def odds(weight: Array, features: Array) -> Array:
        return features @ weight[:-1] + weight[-1]

    def loss(weight: Array, some: Examples) -> Array:
        log_p = jax.nn.log_softmax(odds(weight, some.features))
        right = jnp.take_along_axis(log_p, some.level[:, None], axis=1)
        return -right.mean()

    def step(
        now: tuple[Array, optax.OptState], chosen: Int[Array, " batch"]
    ) -> tuple[tuple[Array, optax.OptState], None]:
        weight, state = now
        some = Examples(train.features[chosen], train.level[chosen])
        changes, state = optimiser.update(jax.grad(loss)(weight, some), state)
        return (cast(Array, optax.apply_updates(weight, changes)), state), None

    keys = jax.random.split(key, config.epochs)
    order = jax.vmap(lambda key: jax.random.permutation(key, count)[: steps_each * batch])(keys)
    (weight, _), _ = jax.lax.scan(
        step, (weight, optimiser.init(weight)), order.reshape(steps, batch)
    )
    cross_entropy = loss(weight, test)
    guess = odds(weight, test.features).argmax(axis=1)
    return Information(
        nats=jnp.maximum(jnp.log(num_levels) - cross_entropy, 0.0),
        accuracy=(guess == test.level).mean(),
        cross_entropy=cross_entropy,
    )
