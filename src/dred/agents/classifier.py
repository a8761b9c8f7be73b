"""Guessing the level from the agent's representation: a linear classifier that learns online.

    I(L; b) ≈ log |L| − cross-entropy of the guesses

After each update agents play levels drawn uniformly. The classifier first guesses which they are,
then learns from having been told. What counts are its guesses in episodes that it
has learned nothing from. It has its own optimiser, and no gradient reaches the agent.
"""

from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.encoders import Linear, widened
from dred.agents.initialise import orthogonal
from dred.agents.optimise import moved
from dred.agents.probe import Examples, Information
from dred.config import ClassifierConfig

LONGEST_GRADIENT = 0.5


FASTEST, SLOWEST = 1.0, 0.01  # rates at which running means follow: at first, and in the end
LARGEST = 10.0  # of a standardised feature


class FeatureScale(eqx.Module):
    """Running means of features and of their squared distances from them."""

    mean: Float[Array, " feature"]
    variance: Float[Array, " feature"]
    count: Float[Array, ""]  # of batches seen

    def __call__(self, features: Float[Array, "*batch feature"]) -> Float[Array, "*batch feature"]:
        """Return features with mean 0 and spread 1, as far as is known."""
        mean, spread = self.mean, jnp.sqrt(self.variance + 1e-6)
        apart = features - widened(mean, features)
        return jnp.clip(apart / widened(spread, features), -LARGEST, LARGEST)

    def after(self, features: Float[Array, "example feature"]) -> "FeatureScale":
        """Return what is known after some more."""
        rate = jnp.maximum(FASTEST / (self.count + 1.0), SLOWEST)
        mean = self.mean + rate * (features.mean(0) - self.mean)
        squares = ((features - mean[None]) ** 2).mean(0)
        variance = self.variance + rate * (squares - self.variance)
        return FeatureScale(mean, variance, self.count + 1.0)


class Classifier(eqx.Module):
    """A linear layer from features to levels, and the state of its optimiser."""

    layer: Linear
    optimiser: optax.OptState
    scale: FeatureScale | None = None  # if features are standardised

    def guess(self, examples: Examples) -> "Guesses":
        """Guess the levels, and see."""
        return guess(self.layer, self.standardised(examples))

    def standardised(self, examples: Examples) -> Examples:
        """Return examples as the layer takes them."""
        if self.scale is None:
            return examples
        return examples._replace(features=self.scale(jax.lax.stop_gradient(examples.features)))


class Guesses(NamedTuple):
    """How good guesses were, one entry for each."""

    log_prob: Float[Array, "*batch"]  # ln p(the level it was)
    is_right: Float[Array, "*batch"]  # 1 if that was the likeliest


def make_optimiser(config: ClassifierConfig) -> optax.GradientTransformation:
    """Adam, with the gradient's norm clipped as for the agent."""
    return optax.chain(
        optax.clip_by_global_norm(LONGEST_GRADIENT), optax.adam(config.learning_rate, eps=1e-5)
    )


def new_classifier(
    config: ClassifierConfig, num_features: int, num_levels: int, *, key: PRNGKeyArray
) -> Classifier:
    """Return one that has learned nothing."""
    weight = orthogonal(num_levels, num_features, gain=0.01, key=key).T
    layer = Linear(weight, jnp.zeros(num_levels))
    nothing, one = jnp.zeros(num_features), jnp.ones(num_features)
    scale = FeatureScale(nothing, one, jnp.zeros(())) if config.standardise else None
    return Classifier(layer, make_optimiser(config).init(cast(optax.Params, layer)), scale)


def guess(layer: Linear, examples: Examples) -> Guesses:
    """Guess the levels, and see."""
    odds = jax.nn.log_softmax(layer(jax.lax.stop_gradient(examples.features)))
    right = jnp.take_along_axis(odds, examples.level[..., None], axis=-1)[..., 0]
    return Guesses(right, jnp.where(odds.argmax(-1) == examples.level, 1.0, 0.0))


def information_in(guesses: Guesses, counts: Bool[Array, "*batch"], num_levels: int) -> Information:
    """What the guesses that count say about I(L; b); NaN if none does."""

    def mean(values: Float[Array, "*batch"]) -> Float[Array, ""]:
        return jnp.where(counts, values, 0.0).sum() / counts.sum(dtype=jnp.float32)

    return information_of(mean(guesses.log_prob), mean(guesses.is_right), num_levels)


def information_of(
    log_prob: Float[Array, ""], accuracy: Float[Array, ""], num_levels: int
) -> Information:
    """What guesses with this mean of ln p(the level) say about I(L; b)."""
    nats = jnp.log(num_levels) + log_prob
    return Information(
        nats=jnp.maximum(nats, 0.0),
        unfloored=nats,  # [fidelity 104]
        accuracy=accuracy,
        cross_entropy=-log_prob,
        nats_error=jnp.full_like(nats, jnp.nan),
        accuracy_error=jnp.full_like(nats, jnp.nan),
    )


def guess_and_learn(
    classifier: Classifier,
    examples: Examples,
    config: ClassifierConfig,
    *,
    key: PRNGKeyArray,
) -> tuple[Classifier, Guesses]:
    """Guess all of the examples as it is now, then learn from each piece of them once.

    [fidelity 82] As released, a piece is guessed after the pieces before it, which come from the
    same episodes, have been learned from.
    """
    if classifier.scale is not None:
        scale = classifier.scale.after(jax.lax.stop_gradient(examples.features))
        classifier = eqx.tree_at(lambda c: c.scale, classifier, scale)
    before = classifier.guess(examples)
    examples = classifier.standardised(examples)
    optimiser = make_optimiser(config)
    order = jax.random.permutation(key, examples.level.shape[0])

    def loss(layer: Linear, some: Examples) -> Float[Array, ""]:
        return -guess(layer, some).log_prob.mean()

    def step(now: Classifier, chosen: Int[Array, " some"]) -> tuple[Classifier, None]:
        gradient = jax.grad(loss)(now.layer, jax.tree.map(lambda leaf: leaf[chosen], examples))
        return Classifier(*moved(optimiser, now.optimiser, now.layer, gradient), now.scale), None

    pieces = order.reshape(config.num_minibatches, -1)
    after, _ = jax.lax.scan(step, classifier, pieces)
    return after, before
