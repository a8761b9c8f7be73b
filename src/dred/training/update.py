"""One pass round the loop: draw levels, play them, score them, learn, make new ones."""

from dataclasses import replace

import jax
from jaxtyping import PRNGKeyArray

from dred.agents.ppo import learn
from dred.tasks.gridworld.generators import Given
from dred.training.phases import LEARN_ON, easiest, explore, propose, warm_up
from dred.training.state import Metrics, Setup, TrainState


def update(
    state: TrainState, *, given: Given, setup: Setup, key: PRNGKeyArray
) -> tuple[TrainState, Metrics]:
    """Algorithm 1 of the paper, for any method: the record `setup.config.method` says how.

    Every update learns once. Before that, levels may be scored without learning from them, until
    all of the dataset are scored and chance says to replay; after it, new levels may be made from
    those that were replayed, scored, and admitted to the buffer.
    """
    method, ppo = setup.config.method, setup.config.ppo
    key_warm_up, key_explore, key_play, key_learn, key_propose = jax.random.split(key, 5)

    if method.warm_up and method.begins_with == "dataset":
        state = warm_up(state, setup=setup, key=key_warm_up)
    if method.learn_on == "replay" and method.new != "none":
        state = explore(state, given=given, setup=setup, key=key_explore)
    played = LEARN_ON[method.learn_on](state, given=given, setup=setup, key=key_play)
    learner, losses = learn(
        state.learner,
        played.rollout,
        played.advantage,
        ppo,
        setup.optimiser,
        mesh=setup.mesh,
        key=key_learn,
    )
    after = replace(state, learner=learner, buffer=played.buffer, num_updates=state.num_updates + 1)
    if method.after != "none":
        parents = easiest(played.results, method.num_parents, ppo.num_envs)
        after = propose(after, parents, given=given, setup=setup, key=key_propose)
    return after, Metrics.of(played.rollout, losses)
