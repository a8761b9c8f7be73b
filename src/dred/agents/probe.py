"""How much a representation tells about the level: a linear classifier that guesses which it is.

    Î(L; b) = log |L| − cross-entropy of the guesses, on data that the classifier has not seen

For levels that are equally likely this estimates, from below, the mutual information between the
level and the representation b: no classifier guesses better than the information allows, and this
one may guess worse. A classifier that is often right, but too sure when it is wrong, has a large
cross-entropy all the same. What is certain is then what its share a of right guesses needs, by
Fano's inequality, and the larger of both is the estimate:

    I(L; b) ≥ log |L| + a log a + (1 − a) log((1 − a) / (|L| − 1)),   0 if a is at most 1 / |L|

It is fitted anew for each measurement, so that a measurement depends on
nothing but the agent and a key; no gradient reaches the agent.

Three sets of episodes share the work. The first fits, the second chooses how much to trust the
first (regularisation, and when to stop), the third judges. Without the second, a classifier with
as many weights as there are levels × features learns the first set by heart: on Gaussians with
2.74 nats it then measured −2.

The fit begins with a linear discriminant in closed form. With features in which the spread within
levels is 1, the mean of level l is taken to be drawn from N(0, τ²), and known from n steps:

    μ_l = τ² / (τ² + 1/n) · mean of l        v = 1 + μ's own uncertainty
    log p(l | x) = x · μ_l / v − ½ μ_l² / v + constant

Steps of an episode resemble each other, so they count for fewer: n is the number of steps times a
share that the second set chooses. Then all weights follow the gradient of the cross-entropy, for
as many passes as the second set gains from. docs/metrics.md has what was measured with it.
"""

from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import xlogy
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.optimise import moved
from dred.config import ProbeConfig

SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-6)  # of the steps, that may count as independent
RIDGE = 1e-3  # added to the spread within levels, where features have a spread of 1


class Information(NamedTuple):
    """What a representation tells about the level."""

    nats: Float[Array, ""]  # Î(L; b), at least 0 and at most log |L|
    unfloored: Float[Array, ""]  # log |L| − cross-entropy: below 0 if guesses are worse than none
    accuracy: Float[Array, ""]  # share of right guesses
    cross_entropy: Float[Array, ""]  # in nats
    nats_error: Float[Array, ""]  # standard error over levels; NaN if it is not known
    accuracy_error: Float[Array, ""]  # likewise


class Examples(NamedTuple):
    """Representations, and the levels in which they arose."""

    features: Float[Array, "*example feature"]
    level: Int[Array, "*example"]


class Linear(NamedTuple):
    """A linear classifier."""

    weight: Float[Array, "feature level"]
    bias: Float[Array, " level"]

    def log_odds(self, features: Float[Array, "example feature"]) -> Float[Array, "example level"]:
        """The log-odds of each level."""
        return features @ self.weight + self.bias[None]


class Scale(NamedTuple):
    """Where features are and how far apart, so that they can be put on a common scale."""

    mean: Float[Array, " feature"]
    spread: Float[Array, " feature"]

    def __call__(self, some: Examples) -> Examples:
        """Examples on the common scale, without a gradient to where they arose."""
        features = (some.features - self.mean[None]) / self.spread[None]
        return Examples(jax.lax.stop_gradient(features), some.level)


class Guesser(NamedTuple):
    """A linear classifier of representations, once they are on a common scale."""

    scale: Scale
    classifier: Linear


def information(
    fit: Examples,
    choose: Examples,
    judge: Examples,
    num_levels: int,
    config: ProbeConfig,
    *,
    key: PRNGKeyArray,
) -> Information:
    """Fit a classifier to some examples, choose its settings by others, and judge it by a third."""
    return judged(fitted(fit, choose, num_levels, config, key=key), judge, num_levels)


def fitted(
    fit: Examples, choose: Examples, num_levels: int, config: ProbeConfig, *, key: PRNGKeyArray
) -> Guesser:
    """A classifier that is fitted to some examples, with settings chosen by others."""
    scale = Scale(fit.features.mean(0), fit.features.std(0) + 1e-6)
    fit, choose = scale(fit), scale(choose)
    start = discriminant(fit, choose, num_levels)
    return Guesser(scale, refined(start, fit, choose, config, key=key))


def judged(guesser: Guesser, judge: Examples, num_levels: int) -> Information:
    """What a classifier's guesses about examples that it has not seen tell of the level."""
    classifier, judge = guesser.classifier, guesser.scale(judge)
    cross_entropy = mean_loss(classifier, judge)
    right = classifier.log_odds(judge.features).argmax(axis=1) == judge.level
    accuracy = right.mean()
    unfloored = jnp.log(num_levels) - cross_entropy
    return Information(
        jnp.maximum(unfloored, needed_for(accuracy, num_levels)),
        unfloored,
        accuracy,
        cross_entropy,
        nats_error=error_over_levels(losses(classifier, judge), judge.level, num_levels),
        accuracy_error=error_over_levels(right.astype(jnp.float32), judge.level, num_levels),
    )


def needed_for(accuracy: Float[Array, ""] | float, num_levels: int) -> Float[Array, ""]:
    """The least I(L; b), in nats, with which so many guesses can be right: Fano's inequality.

    0 for a share that is no higher than that of chance, 1 / |L|.
    """
    others = max(num_levels - 1, 1)
    wrong = 1.0 - jnp.asarray(accuracy)
    least = jnp.log(num_levels) + xlogy(accuracy, accuracy) + xlogy(wrong, wrong / others)
    return jnp.where(accuracy * num_levels > 1.0, jnp.maximum(least, 0.0), 0.0)


def error_over_levels(
    values: Float[Array, " example"], level: Int[Array, " example"], num_levels: int
) -> Float[Array, ""]:
    """The standard error of the mean of values, whose means in each level are independent."""
    counts = jnp.zeros(num_levels).at[level].add(1.0)
    means = jnp.zeros(num_levels).at[level].add(values) / jnp.maximum(counts, 1.0)
    return means.std() / jnp.sqrt(max(num_levels - 1, 1))


def losses(classifier: Linear, some: Examples) -> Float[Array, " example"]:
    """The cross-entropy of each of the classifier's guesses, in nats."""
    odds = classifier.log_odds(some.features)
    return optax.losses.softmax_cross_entropy_with_integer_labels(odds, some.level)


def mean_loss(classifier: Linear, some: Examples) -> Float[Array, ""]:
    """The cross-entropy of the classifier's guesses, in nats."""
    return losses(classifier, some).mean()


def discriminant(fit: Examples, choose: Examples, num_levels: int) -> Linear:
    """The linear discriminant whose share of independent steps suits the second set best."""
    counts = jnp.zeros(num_levels).at[fit.level].add(1.0)
    sums = jnp.zeros((num_levels, fit.features.shape[1])).at[fit.level].add(fit.features)
    means = sums / jnp.maximum(counts, 1.0)[:, None]
    apart = fit.features - means[fit.level]
    within = apart.T @ apart / fit.level.shape[0] + RIDGE * jnp.eye(apart.shape[1])
    _, turn = jnp.linalg.eigh(within)
    variance = jnp.diagonal(turn.T @ within @ turn)
    whiten = turn / jnp.sqrt(variance)[None]  # spread within levels: 1
    white = means @ whiten
    values, axes = jnp.linalg.eigh(white.T @ white / num_levels)
    whiten, white = whiten @ axes, white @ axes
    steps = counts.mean()

    def with_share(share: Array) -> Linear:
        noise = 1.0 / (share * steps)
        signal = jnp.maximum(values - noise, 0.0)
        trust = (signal / (signal + noise))[None]
        centre, spread = white * trust, 1.0 + noise * trust
        return Linear(whiten @ (centre / spread).T, -0.5 * (centre**2 / spread).sum(axis=1))

    candidates = jax.lax.map(with_share, jnp.array(SHARES))
    each = jax.lax.map(lambda one: mean_loss(one, choose), candidates)
    return jax.tree.map(lambda leaf: leaf[each.argmin()], candidates)


def refined(
    start: Linear, fit: Examples, choose: Examples, config: ProbeConfig, *, key: PRNGKeyArray
) -> Linear:
    """The classifier after as many passes over the examples as the second set gains most from."""
    count = fit.level.shape[0]
    batch = min(config.batch_size, count)
    steps_each = count // batch
    schedule = optax.cosine_decay_schedule(config.learning_rate, config.epochs * steps_each)
    optimiser = optax.adam(schedule)

    def step(
        now: tuple[Linear, optax.OptState], chosen: Int[Array, " batch"]
    ) -> tuple[tuple[Linear, optax.OptState], None]:
        classifier, state = now
        some = Examples(fit.features[chosen], fit.level[chosen])
        gradient = jax.grad(mean_loss)(classifier, some)
        return moved(optimiser, state, classifier, gradient), None

    def epoch(
        now: tuple[Linear, optax.OptState, Linear, Array], key: PRNGKeyArray
    ) -> tuple[tuple[Linear, optax.OptState, Linear, Array], None]:
        classifier, state, best, least = now
        order = jax.random.permutation(key, count)[: steps_each * batch]
        (classifier, state), _ = jax.lax.scan(
            step, (classifier, state), order.reshape(steps_each, batch)
        )
        loss = mean_loss(classifier, choose)
        is_better = loss < least
        best = jax.tree.map(lambda new, old: jnp.where(is_better, new, old), classifier, best)
        return (classifier, state, best, jnp.minimum(loss, least)), None

    begun = (start, optimiser.init(cast(optax.Params, start)), start, mean_loss(start, choose))
    (_, _, best, _), _ = jax.lax.scan(epoch, begun, jax.random.split(key, config.epochs))
    return best
