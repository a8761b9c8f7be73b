"""What an agent's memory tells about the level: which of its training levels it takes it to be.

The same linear classifier by which I(L; b) is measured, fitted once to an agent of a run.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from dred.agents.probe import Guesser, Information
from dred.agents.protocol import Agent
from dred.checkpoint import checkpoints_in
from dred.config import ProbeConfig
from dred.errors import ConfigError
from dred.evaluation.evenly import spread_over
from dred.evaluation.gaps import level_guesser
from dred.exported_policy import Policy
from dred.levels import LevelDataset, to_text
from dred.runs import Run, open_run
from dred.studio.answers import Asked
from dred.studio.probe import RUN, Probe
from dred.studio.shelf import Kept, Shelf, stamp
from dred.tasks.gridworld.tries import ENVIRONMENT, Tries, softmax
from dred.tasks.gridworld.view import World

MOST_LEVELS = 128  # that are told apart, evenly over the training set
PROBE = ProbeConfig(length=128, stride=2)


class Guesses(NamedTuple):
    """A classifier of an agent's representations, and the levels that it tells apart."""

    mean: Float[np.ndarray, " feature"]
    spread: Float[np.ndarray, " feature"]
    weight: Float[np.ndarray, "feature level"]
    bias: Float[np.ndarray, " level"]
    accuracy: float  # share of right guesses, in episodes that it was not fitted to
    numbers: Int[np.ndarray, " level"]  # of the levels, in the training set
    texts: tuple[str, ...]  # drawings of the levels

    def chances(
        self, features: Float[np.ndarray, "time feature"]
    ) -> Float[np.ndarray, "time level"]:
        """Return how probable each level is, given what the agent remembers."""
        return softmax((features - self.mean) / self.spread @ self.weight + self.bias)


class Guess:
    """Answers what the page asks about the memory of agents."""

    def __init__(self, shelf: Shelf) -> None:
        self.places, self.probe = shelf.places, Probe(shelf)
        self._fitted: Kept[Guesses] = Kept(4)

    def guess(self, asked: Asked) -> object:
        """Return, for each moment of an episode, which training level the memory takes it for."""
        level, policy, tried = self.probe.played(asked)
        guesses = self.fitted(asked.text("agent"))
        chances = guesses.chances(remembered(policy, tried))
        best = chances.argmax(axis=1)
        text = to_text(level)
        known = guesses.texts.index(text) if text in guesses.texts else None
        return {
            "accuracy": guesses.accuracy,
            "among": len(guesses.texts),
            "known": None if known is None else guesses.numbers[known],
            "frames": [
                {
                    "number": guesses.numbers[one],
                    "share": round(float(chances[time, one]), 4),
                    "right": None if known is None else round(float(chances[time, known]), 4),
                }
                for time, one in enumerate(best)
            ],
            "texts": {int(guesses.numbers[one]): guesses.texts[one] for one in set(best.tolist())},
        }

    def fitted(self, name: str) -> Guesses:
        """Return the classifier for an agent of a run."""
        if not name.startswith(RUN):
            raise ConfigError(
                f"{name!r} comes with dred, without the levels it was trained on, so there is "
                "nothing to guess. Choose the agent of a run."
            )
        path = self.places.find(name.removeprefix(RUN))
        there = checkpoints_in(path / "checkpoints")
        key = (str(path), *(stamp(one) for one in there))
        return self._fitted.get(key, lambda: fit_guesses(open_run(path)))


def remembered(policy: Policy, tried: Tries) -> Float[np.ndarray, "time feature"]:
    """Return what the agent's memory held at each moment of the first try.

    The hidden state is the first part of what is remembered, and what the agent acts on.
    """
    memory, found = policy.initial_memory(1), list[np.ndarray]()
    if not memory:
        raise ConfigError("This agent has no memory, so there is nothing to guess from.")
    for image, heading in zip(tried.image[:, :1], tried.heading[:, :1], strict=True):
        memory, _ = policy.step(memory, image, heading)
        found.append(memory[0][0])
    return np.stack(found)


def fit_guesses(run: Run) -> Guesses:
    """Let the first agent of a run play some of its training levels, and fit a classifier."""
    levels: Any = run.levels("train") if "train" in run.record.levels else None
    if not isinstance(levels, LevelDataset):
        raise ConfigError(f"{run.path} was not given levels of the gridworld to train on.")
    numbers = spread_over(len(levels), MOST_LEVELS)
    some = levels[numbers]
    world = ENVIRONMENT.prepare(some.levels)
    guesser, shown = _fitted(run.policy().agent, world, PROBE, jax.random.key(0))
    return Guesses(
        *(np.asarray(part) for part in (*guesser.scale, *guesser.classifier)),
        accuracy=float(shown.accuracy),
        numbers=numbers,
        texts=tuple(to_text(one) for one in some),
    )


@eqx.filter_jit
def _fitted(
    agent: Agent, world: World, config: ProbeConfig, key: PRNGKeyArray
) -> tuple[Guesser, Information]:
    places = jnp.arange(ENVIRONMENT.num_levels(world))
    return level_guesser(agent, ENVIRONMENT, world, places, config, key=key)
