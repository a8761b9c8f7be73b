"""A model of levels as people use it, whatever kind it is."""

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from dred.errors import DatasetError, lookup
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level, size_words


@runtime_checkable
class FittedModel(Protocol):
    """A model with the levels it was fitted to: what `dred.fit` and `dred.generators.load` return.

    Such a model is made from its folder by the `open` of the generator that is called as its kind.
    """

    @property
    def kind(self) -> str:
        """Return by which name its generator is known: `--model`."""
        ...

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the ways in which it makes levels, the usual one first."""
        ...

    @property
    def path(self) -> Path | None:
        """Return the folder from which it was loaded."""
        ...

    @property
    def dataset(self) -> LevelDataset:
        """Return the levels it was fitted to."""
        ...

    def sample(
        self,
        count: int,
        *,
        mode: str = ...,
        key: PRNGKeyArray,
        temperature: float = 1.0,
        shape: tuple[int, int] | None = None,
    ) -> Level:
        """Return so many levels, as NumPy arrays; of another size, without the wall, if given."""
        ...

    def words(self) -> str:
        """Return how its fit went, for `dred fit` to print; may be empty."""
        ...


@runtime_checkable
class HasLikelihood(Protocol):
    """A model that can tell how probable levels are."""

    def log_likelihood(
        self, levels: Level, *, key: PRNGKeyArray, samples: int = ...
    ) -> Float[np.ndarray, " level"]:
        """Return a lower bound on the log-likelihood of each level, in nats."""
        ...


def mode_of(model: FittedModel, mode: str) -> str:
    """Return one of the ways in which a model makes levels; stops at others."""
    return lookup(dict(zip(model.modes, model.modes, strict=True)), mode, what="mode")


def check_own_size(model: FittedModel, shape: tuple[int, int] | None) -> None:
    """Stop at any other size than that of the levels that a model was fitted to."""
    if shape not in (None, model.dataset.shape):
        raise DatasetError(
            f"A generator of kind {model.kind} makes levels of the size it was fitted to, "
            f"{size_words(model.dataset.shape)}, and of no other."
        )
