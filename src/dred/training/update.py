"""One pass round the loop: draw levels, play them, score them, learn, make new ones."""

from dataclasses import replace

import jax
from jaxtyping import PRNGKeyArray

from dred.agents.ppo import learn
from dred.generation import NONE
from dred.task import RunContext
from dred.training.classify import classify
from dred.training.on_host import phases_for
from dred.training.phases import select_parents
from dred.training.state import Metrics, Setup, TrainState

CLASSIFY = 5  # a number for the key of the classifier, beside the five of the other phases


def update(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> tuple[TrainState, Metrics]:
    """Algorithm 1 of the paper, for any method: the record `setup.config.method` says how.

    Every update learns once. Before that, levels may be scored without learning from them, until
    all of the dataset are scored and chance says to replay; after it, new levels may be made from
    those that were replayed, scored, and admitted to the buffer. A classifier may learn beside.
    """
    method, ppo, phases = setup.config.method, setup.config.ppo, phases_for(setup)
    key_score, key_explore, key_play, key_learn, key_mutate = jax.random.split(key, 5)

    if method.warm_up and method.initial_buffer == "dataset":
        state = phases.score_dataset(state, context=context, setup=setup, key=key_score)
    if method.learn_on == "replay" and method.new_level_generator != NONE:
        state = phases.explore(state, context=context, setup=setup, key=key_explore)
    played = phases.roll_out(state, context=context, setup=setup, key=key_play)
    learner, losses = learn(
        state.learner,
        played.rollout,
        played.advantage,
        ppo,
        setup.optimiser,
        mesh=setup.mesh,
        key=key_learn,
    )
    after = replace(
        state,
        learner=learner,
        buffer=played.buffer,
        reward_scale=played.reward_scale,
        ongoing=played.ongoing,
        num_updates=state.num_updates + 1,
    )
    if method.mutation_generator != NONE:
        parents = select_parents(played.scores, method.num_parents, ppo.num_envs)
        after = phases.mutate(after, parents, context=context, setup=setup, key=key_mutate)
    metrics = Metrics.of(played.rollout, played.scores, losses, setup.task.is_solved, state.ongoing)
    if state.classifier is not None:
        key_classify = jax.random.fold_in(key, CLASSIFY)
        after, found = classify(after, context=context, setup=setup, key=key_classify)
        metrics = replace(metrics, information=found)
    return after, metrics
