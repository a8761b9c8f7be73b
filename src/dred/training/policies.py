"""The trained networks of a run."""

import jax

from dred.agents.network import ActorCritic
from dred.errors import CheckpointError
from dred.runs import Run
from dred.training import checkpoint
from dred.training.state import new_setup, new_states


def policies_of(run: Run) -> list[ActorCritic]:
    """The network of each seed, from the newest checkpoint that is whole."""
    blank = new_states(new_setup(run.config), run.seeds)
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
