"""Replay for any trainer: which level next, from a few plain numbers.

buffer = LevelBuffer(200)
level = buffer.draw()
buffer.report(level, score)

Levels are whole numbers; what they stand for is the trainer's. The distribution is that of a
method, `plr` if none is named: P_Λ of its scores and of the time since levels were drawn.
"""

from typing import SupportsFloat

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dred.config import MethodConfig, check_seed
from dred.errors import ConfigError, lookup
from dred.presets import METHODS
from dred.replay.buffer import Buffer, new_buffer, note_draws, rescore
from dred.replay.distribution import probabilities, scheduled


class LevelBuffer:
    """So many levels, and what is known of them."""

    def __init__(
        self, num_levels: int, method: str | MethodConfig = "plr", *, seed: int = 0
    ) -> None:
        if num_levels < 1:
            raise ConfigError(f"num_levels (={num_levels}) must be at least 1.")
        named = isinstance(method, str)
        self.method = lookup(METHODS, method, what="method") if named else method
        self.num_levels = num_levels
        self.random = np.random.default_rng(check_seed(seed))
        numbers = jnp.arange(num_levels, dtype=jnp.int32)
        self.state: Buffer = new_buffer(numbers, jnp.zeros(num_levels), num_levels)

    def probabilities(self, progress: float = 0.0) -> Float[np.ndarray, " level"]:
        """Return how probable each level is, at a share of training."""
        found = _probabilities(self.state, self.method, jnp.float32(progress))
        exact = np.asarray(found, np.float64)
        return exact / exact.sum()

    def draw(self, progress: float = 0.0) -> int:
        """Draw a level, at a share of training; first those without a score, if so is the method.

        Levels of which a score is awaited are not drawn again while others have none.
        """
        unscored = ~np.asarray(self.state.is_scored)
        first = self.method.warm_up or self.method.unseen_first
        if first and unscored.any():
            age = np.where(unscored, np.asarray(self.state.staleness), -1)
            chosen = int(self.random.choice(np.flatnonzero(age == age.max())))
        else:
            chosen = int(self.random.choice(self.num_levels, p=self.probabilities(progress)))
        self.state = note_draws(self.state, jnp.array([chosen]), jnp.array([True]))
        return chosen

    def report(
        self, level: int, score: SupportsFloat, secondary: SupportsFloat | None = None
    ) -> None:
        """Say what a level scored when it was played; a second score if the method has two terms.

        A score that is not finite is not taken. To a term whose score is "uniform", all are alike.
        """
        if not 0 <= level < self.num_levels:
            raise ConfigError(
                f"There is no level {level}: they are numbered 0 to {self.num_levels - 1}."
            )
        given = (score, score if secondary is None else secondary)
        first, second = (
            jnp.array([1.0 if name == "uniform" else float(one)], jnp.float32)
            for name, one in zip(self.method.scores, given, strict=True)
        )
        self.state = rescore(
            self.state,
            jnp.array([level]),
            primary=first,
            secondary=second,
            best=jnp.full(1, -jnp.inf),
            smoothing=self.method.smoothing,
        )


@eqx.filter_jit
def _probabilities(
    state: Buffer, method: MethodConfig, progress: Float[Array, ""]
) -> Float[Array, " level"]:
    return probabilities(state, method, scheduled(method.eta, progress))
