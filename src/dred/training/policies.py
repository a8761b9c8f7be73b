"""The trained networks of a run."""

from typing import NamedTuple

import jax

from dred.agents.network import ActorCritic
from dred.agents.ppo import Learner
from dred.errors import CheckpointError
from dred.runs import Run
from dred.training import checkpoint
from dred.training.state import new_learner, new_setup, run_key, stacked


class JustLearner(NamedTuple):
    """The first part of a `TrainState`, which is all that a policy needs."""

    learner: Learner


def policies_of(run: Run) -> list[ActorCritic]:
    """The network of each seed, from the newest checkpoint that is whole."""
    setup = new_setup(run.config)
    blank = JustLearner(stacked([new_learner(setup, key=run_key(seed)) for seed in run.seeds]))
    found = checkpoint.load_latest(run.checkpoints, blank)
    if found is None:
        raise CheckpointError(
            f"{run.path} has no checkpoint yet. Train it further with `dred resume {run.path}`."
        )
    states, _ = found
    networks = states.learner.network
    return [
        jax.tree.map(lambda leaf, index=index: leaf[index], networks)
        for index in range(len(run.seeds))
    ]
