"""Where new levels come from if they are vectors: the box, changes, a kernel density."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from dred.errors import ConfigError
from dred.task import Generator, GeneratorInput, NoSettings
from dred.tasks.vectors.box import Box

Vectors = dict[str, Float[Array, " level"]]


@dataclass(frozen=True)
class NudgeConfig:
    """How levels are changed a little."""

    num_parameters: int = 2
    """Parameters that change."""
    share: float = 0.1
    """Standard deviation of a change, as a share of the box."""

    def __post_init__(self) -> None:
        if self.num_parameters < 1 or not self.share > 0.0:
            raise ConfigError(
                f"num_parameters (={self.num_parameters}) must be at least 1, and share "
                f"(={self.share}) greater than 0."
            )


@dataclass(frozen=True)
class KernelConfig:
    """How levels are drawn near those of the dataset."""

    bandwidth: float = 0.0
    """Of the kernel, in standard deviations of the dataset; 0 for Scott's rule."""


def in_box(box: Box, unit: Float[Array, "level parameter"]) -> Vectors:
    """Return levels from numbers between 0 and 1."""
    inside = jnp.clip(unit, 0.0, 1.0)
    return {
        one.name: (one.low + one.span * inside[:, place]).astype(jnp.float32)
        for place, one in enumerate(box.parameters)
    }


def in_unit(box: Box, levels: Vectors) -> Float[Array, "level parameter"]:
    """Return levels as numbers between 0 and 1."""
    return jnp.stack([(levels[one.name] - one.low) / one.span for one in box.parameters], axis=-1)


def count_of(given: GeneratorInput) -> int:
    """Return how many levels are wanted."""
    return jax.tree.leaves(given.parents)[0].shape[0]


def vector_generators(box: Box) -> dict[str, Generator]:
    """Return where new levels in a box come from, by name."""
    width = len(box.parameters)

    def random(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Vectors:
        del settings
        return in_box(box, jax.random.uniform(key, (count_of(given), width)))

    def middle(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Vectors:
        del settings
        noise = 0.05 * jax.random.normal(key, (count_of(given), width))
        return in_box(box, 0.5 + noise)

    def nudged(given: GeneratorInput, settings: NudgeConfig, key: PRNGKeyArray) -> Vectors:
        key_which, key_how = jax.random.split(key)
        unit = in_unit(box, given.parents)
        order = jnp.argsort(jax.random.uniform(key_which, unit.shape), axis=-1)
        changes = settings.share * jax.random.normal(key_how, unit.shape)
        return in_box(box, unit + jnp.where(order < settings.num_parameters, changes, 0.0))

    def near(given: GeneratorInput, settings: KernelConfig, key: PRNGKeyArray) -> Vectors:
        return in_box(box, drawn_from_kernel(in_unit(box, given.dataset), given, settings, key))

    return {
        "random": Generator(random),
        "empty": Generator(middle),
        "edits": Generator(nudged, settings=NudgeConfig(), uses_parents=True),
        "kernel": Generator(near, settings=KernelConfig()),
    }


def drawn_from_kernel(
    unit: Float[Array, "level parameter"],
    given: GeneratorInput,
    settings: KernelConfig,
    key: PRNGKeyArray,
) -> Float[Array, "new parameter"]:
    """Return draws from a kernel density estimate of the dataset.

    The kernel is a Gaussian with the covariance of the dataset, scaled by a bandwidth: by Scott's
    rule n^(−1/(d + 4)). Draws are shrunk towards the mean so that their covariance is that of the
    dataset (the smoothed bootstrap of Silverman and Young 1987).
    """
    count, (number, width) = count_of(given), unit.shape
    bandwidth = settings.bandwidth or number ** (-1.0 / (width + 4))
    mean, covariance = unit.mean(axis=0), jnp.cov(unit, rowvar=False) + 1e-8 * jnp.eye(width)
    key_which, key_noise = jax.random.split(key)
    chosen = unit[jax.random.randint(key_which, (count,), 0, number)]
    noise = jax.random.normal(key_noise, (count, width)) @ jnp.linalg.cholesky(covariance).T
    centre = mean[None]
    return centre + (chosen - centre + bandwidth * noise) / jnp.sqrt(1.0 + bandwidth**2)
