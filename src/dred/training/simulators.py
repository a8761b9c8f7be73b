"""The simulators of a run on the host: starting them, and what they save."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from dred.errors import ConfigError
from dred.host import HostEnvironment, Slots
from dred.host_parts import open_parts
from dred.task import Task
from dred.training.on_host import scores_apart
from dred.training.state import Setup, TrainState


def with_simulators(states: TrainState, saved: Any) -> TrainState:  # noqa: ANN401  (arrays)
    """Return the same states with what simulators have saved."""
    return eqx.tree_at(lambda s: s.simulators, states, saved, is_leaf=lambda leaf: leaf is None)


def check_one_seed(task: Task, seeds: Sequence[int]) -> None:
    """Stop if a simulator on the host is to train several seeds at once."""
    if len(seeds) > 1:
        raise ConfigError(
            f"The simulator of {task.name} trains one seed at a time. Start a run for each."
        )


def simulators_of(setup: Setup, seeds: Sequence[int]) -> dict[str, Slots] | None:
    """Start the simulators of a run on the host: to learn from, to score, for the classifier.

    Each is in as many parts as the run has devices, if its slots can be shared out equally.
    """
    environment, config = setup.task.environment, setup.config
    if not isinstance(environment, HostEnvironment):
        return None
    check_one_seed(setup.task, seeds)
    counts = {
        "play": config.ppo.num_envs,
        "classify": config.classifier.num_envs,
        "score": config.ppo.num_envs if scores_apart(config.method) else 0,
    }
    random = np.random.SeedSequence(seeds[0])
    numbers = dict(zip(counts, random.generate_state(len(counts)).tolist(), strict=True))
    return {
        name: open_parts(environment, count, config.devices or 1, seed=numbers[name])
        for name, count in counts.items()
        if count
    }
