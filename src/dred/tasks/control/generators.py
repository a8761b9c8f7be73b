"""Where new devices come from, as vectors: the box, changes, a kernel density, the true process."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from dred.errors import ConfigError
from dred.task import Generator, GeneratorInput, LevelSet, NoSettings
from dred.tasks.control.levels import REGIONS, clipped
from dred.tasks.control.system import System

Devices = dict[str, Float[Array, " level"]]


@dataclass(frozen=True)
class NudgeConfig:
    """How devices are changed a little."""

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
    """How devices are drawn near those of the dataset."""

    bandwidth: float = 0.0
    """Of the kernel, in standard deviations of the dataset; 0 for Scott's rule."""


def in_box(system: System, unit: Float[Array, "level parameter"]) -> Devices:
    """Return devices from numbers between 0 and 1."""
    inside = jnp.clip(unit, 0.0, 1.0)
    return {
        one.name: (one.low + one.span * inside[:, place]).astype(jnp.float32)
        for place, one in enumerate(system.parameters)
    }


def in_unit(system: System, devices: Devices) -> Float[Array, "level parameter"]:
    """Return devices as numbers between 0 and 1."""
    return jnp.stack(
        [(devices[one.name] - one.low) / one.span for one in system.parameters], axis=-1
    )


def count_of(given: GeneratorInput) -> int:
    """Return how many devices are wanted."""
    return jax.tree.leaves(given.parents)[0].shape[0]


def generators_of(system: System) -> dict[str, Generator]:
    """Return where new devices of a system come from, by name."""
    width = len(system.parameters)

    def random(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Devices:
        del settings
        return in_box(system, jax.random.uniform(key, (count_of(given), width)))

    def middle(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Devices:
        del settings
        noise = 0.05 * jax.random.normal(key, (count_of(given), width))
        return in_box(system, 0.5 + noise)

    def nudged(given: GeneratorInput, settings: NudgeConfig, key: PRNGKeyArray) -> Devices:
        key_which, key_how = jax.random.split(key)
        unit = in_unit(system, given.parents)
        order = jnp.argsort(jax.random.uniform(key_which, unit.shape), axis=-1)
        changes = settings.share * jax.random.normal(key_how, unit.shape)
        return in_box(system, unit + jnp.where(order < settings.num_parameters, changes, 0.0))

    def near(given: GeneratorInput, settings: KernelConfig, key: PRNGKeyArray) -> Devices:
        return in_box(
            system, drawn_from_kernel(in_unit(system, given.dataset), given, settings, key)
        )

    def resampled(given: GeneratorInput, settings: NoSettings, key: PRNGKeyArray) -> Devices:
        del settings
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), given.parents)
        bits = jax.random.bits(key, (2,), jnp.uint32)
        return jax.pure_callback(
            lambda bits: fresh(system, np.asarray(bits), count_of(given)),
            shapes,
            bits,
            vmap_method="sequential",
        )

    return {
        "random": Generator(random),
        "empty": Generator(middle),
        "edits": Generator(nudged, settings=NudgeConfig(), uses_parents=True),
        "kernel": Generator(near, settings=KernelConfig()),
        "resample": Generator(resampled, prepare=check_made),
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
    return mean + (chosen - mean + bandwidth * noise) / jnp.sqrt(1.0 + bandwidth**2)


def fresh(system: System, bits: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return fresh devices of the process that makes the training set."""
    random = np.random.default_rng(bits)
    region = REGIONS["train"][0]
    size, quality = (random.beta(region.concentration, region.concentration, count) for _ in "sq")
    return clipped(system, system.draw(size, quality, random))


def check_made(levels: LevelSet) -> Any:  # noqa: ANN401  (no model is needed)
    """Stop if a dataset was not made by the process that would be asked for more."""
    if levels.meta.get("set") != "train":
        raise ConfigError(
            "resample draws fresh devices of the process that made the set `train`, and these are "
            f"others ({levels.meta}). Use kernel or vae, which are fitted to any dataset."
        )
