"""Finding settings: cross-validation, and random search over the space that the paper names.

Number and sizes of layers, β, the weights of the heads and the learning rate are drawn; all else
stays as it is in the settings that the search begins with.
"""

import math
from dataclasses import asdict, replace

import numpy as np

from dred.config import VAEConfig

SIZES = (128, 256, 512)


def drawn_settings(base: VAEConfig, random: np.random.Generator) -> VAEConfig:
    """Settings drawn at random."""

    def between(low: float, high: float) -> float:
        """A number whose logarithm is uniform, to three digits."""
        return float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.3g}")

    def layers(low: int, high: int) -> tuple[int, ...]:
        count = int(random.integers(low, high + 1))
        return (int(random.choice(SIZES)),) * count

    return replace(
        base,
        graph_layers=int(random.integers(2, 5)),
        graph_size=int(random.choice((8, 12, 24))),
        latent_size=int(random.choice((64, 256, 1024))),
        encoder_sizes=layers(1, 2),
        decoder_sizes=layers(1, 3),
        beta=between(0.005, 0.5),
        layout_weight=between(0.02, 2.0),
        place_weight=between(0.005, 0.2),
        learning_rate=between(1e-4, 2e-3),
    )


def changed_settings(config: VAEConfig, base: VAEConfig) -> dict[str, object]:
    """The settings in which one differs from the other."""
    before = asdict(base)
    return {name: value for name, value in asdict(config).items() if value != before[name]}
