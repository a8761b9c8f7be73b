"""Finding settings: cross-validation, and random search over the space that the paper names.

Number and sizes of layers, β, the weights of the heads and the learning rate are drawn; all else
stays as it is in the settings that the search begins with. A candidate is one such draw; it is
fitted once, or once for each fold, and judged by means over its fits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.fitting import folds, held_back_levels
from dred.tasks.gridworld.generators.quality import assess
from dred.tasks.gridworld.generators.vae.fit import fit
from dred.tasks.gridworld.generators.vae.fitted import FittedVAE
from dred.tasks.gridworld.levels.dataset import LevelDataset

SIZES = (128, 256, 512)
SEARCHED = (
    "graph_layers",
    "graph_size",
    "latent_size",
    "encoder_sizes",
    "decoder_sizes",
    "beta",
    "layout_weight",
    "place_weight",
    "learning_rate",
)
JUDGED = 256  # levels by which each fit is judged
JUDGED_BY = ("solvable", "shift", "shift_held_out", "novel")  # of a generator's quality
Row = dict[str, Any]  # of a table in JSON; what has no finite value is null


class Candidate(NamedTuple):
    """Settings that were tried: means over their fits, NaN if one of them came to nothing."""

    number: int
    fits: int
    bound: float  # on levels held back, in nats
    bound_deviation: float  # over the fits, as of a population
    bound_fitted: float  # on the levels fitted to
    bound_released: float  # on levels held back, as the released code logs it
    solvable: float
    shift: float  # Jensen–Shannon distance to the dataset
    shift_held_out: float  # the same to levels held out; NaN if there are none
    novel: float
    settings: dict[str, Any]


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


def searched_settings(config: VAEConfig) -> dict[str, Any]:
    """Return those of the settings that a search draws, as JSON has them."""
    values = {name: getattr(config, name) for name in SEARCHED}
    return {name: [*v] if isinstance(v, tuple) else v for name, v in values.items()}


def parts_held_back(
    count: int, num_folds: int, base: VAEConfig, *, key: PRNGKeyArray
) -> list[Int[np.ndarray, " held"]]:
    """Return which levels each fit of a candidate holds back: a share of them, or fold by fold."""
    if not num_folds:
        return [held_back_levels(count, base.validation_fraction, key=key)]
    return list(folds(count, -(-count // num_folds), key=key))


def trial(
    dataset: LevelDataset,
    config: VAEConfig,
    held_back: Int[np.ndarray, " held"],
    held_out: LevelDataset | None,
    *,
    key: PRNGKeyArray,
) -> Row:
    """Fit once with the settings of a candidate, and return what came of it as a row."""
    fitting, history = fit(dataset.levels, config, key=key, held_back=held_back)
    made = FittedVAE(fitting.model, config, dataset).sample(JUDGED, key=key)
    quality = assess(made, dataset, held_out).for_json()
    last = {name: value if math.isfinite(value) else None for name, value in history[-1].items()}
    judged = {name: quality[name] for name in JUDGED_BY}
    return {"levels": len(held_back), **last, **judged, "settings": searched_settings(config)}


def candidates(rows: Sequence[Row]) -> list[Candidate]:
    """Return the candidates of a search, each from all its fits; the highest bound comes first."""
    by_number: dict[int, list[Row]] = {}
    for row in rows:
        by_number.setdefault(row["number"], []).append(row)
    found = [_candidate(number, fits) for number, fits in by_number.items()]
    return sorted(found, key=lambda one: math.inf if math.isnan(one.bound) else -one.bound)


def _candidate(number: int, fits: Sequence[Row]) -> Candidate:
    def values(name: str) -> list[float]:
        return [math.nan if fit[name] is None else fit[name] for fit in fits]

    def mean(name: str) -> float:
        return float(np.mean(values(name)))

    return Candidate(
        number=number,
        fits=len(fits),
        bound=mean("elbo/held_back"),
        bound_deviation=float(np.std(values("elbo/held_back"))),
        bound_fitted=mean("elbo/train"),
        bound_released=float(np.mean([released_bound(fit) for fit in fits])),
        solvable=mean("solvable"),
        shift=mean("shift"),
        shift_held_out=mean("shift_held_out"),
        novel=mean("novel"),
        settings=fits[0]["settings"],
    )


def released_bound(row: Mapping[str, Any]) -> float:
    """Return the bound on levels held back in the form that the released code logs.

    It is the mean of the three heads, of which the layout's is a mean over cells, less the
    divergence per latent; so start and goal count far more than in nats.
    """
    parts = [row[f"{name}/held_back"] for name in ("layout", "goal", "start", "divergence")]
    if None in parts:
        return math.nan
    layout, goal, start, divergence = parts
    return (layout + goal + start) / 3 - divergence / row["settings"]["latent_size"]
