"""A classifier that learns to guess the level beside the agent, from levels drawn uniformly."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from dred.agents.classifier import guess_and_learn, information_in
from dred.agents.episodes import Start, next_level, uniform
from dred.agents.probe import Examples, Information
from dred.agents.rollout import roll_out
from dred.host import HostEnvironment, Ongoing
from dred.host_rollout import roll_out_on_host
from dred.task import RunContext
from dred.training.state import Setup, TrainState


class Seen(NamedTuple):
    """What agents made of levels, and what goes on if that is in a simulator."""

    features: Float[Array, "time env feature"]
    level: Int[Array, "time env"]
    is_new: Bool[Array, "time env"]  # of an episode from which nothing was learned yet
    ongoing: Ongoing | None = None


def classify(
    state: TrainState, *, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> tuple[TrainState, Information]:
    """Play levels of the dataset, guess which they are, and learn from having been told."""
    key_play, key_learn = jax.random.split(key)
    look = look_in_simulator if isinstance(setup.task.environment, HostEnvironment) else look_in_jax
    seen = look(state, context, setup, key_play)
    after, found = learn_to_guess(state, seen._replace(ongoing=None), setup, key_learn)
    return replace(after, classified=seen.ongoing), found


def look_in_jax(state: TrainState, context: RunContext, setup: Setup, key: PRNGKeyArray) -> Seen:
    """Play levels of the dataset from their starts."""
    del context
    config, num_levels = setup.config.classifier, num_classes(state)
    key_level, key_begin, key_play = jax.random.split(key, 3)
    shape = (config.num_envs,)
    rollout = roll_out(
        state.learner.agent,
        setup.environment,
        state.buffer.levels.world,
        Start(
            jax.random.randint(key_level, shape, 0, num_levels), jax.random.bits(key_begin, shape)
        ),
        length=config.num_steps,
        next_start=next_level(uniform(num_levels)),
        value_ends=False,
        key=key_play,
    )
    features = state.learner.agent.representation(rollout.observation, rollout.begins)
    return Seen(features, rollout.level, jnp.ones(rollout.level.shape, jnp.bool_))


def look_in_simulator(
    state: TrainState, context: RunContext, setup: Setup, key: PRNGKeyArray
) -> Seen:
    """Play levels of the dataset on from where the classifier's agents are."""
    config, ongoing = setup.config.classifier, state.classified
    if context.simulators is None or ongoing is None:
        raise TypeError("A run in a simulator has one for its classifier.")
    key_draw, key_play = jax.random.split(key)
    shape = (config.num_steps, config.num_envs)
    played = roll_out_on_host(
        state.learner.agent,
        context.simulators["classify"],
        state.buffer.levels.world,
        ongoing,
        np.asarray(jax.random.randint(key_draw, shape, 0, num_classes(state))),
        keep_observations=False,
        key=key_play,
    )
    is_new = jnp.cumsum(played.rollout.begins, axis=0) > 0  # begun since it last learned
    return Seen(played.features, played.rollout.level, is_new, played.ongoing)


@jax.jit
def learn_to_guess(
    state: TrainState, seen: Seen, setup: Setup, key: PRNGKeyArray
) -> tuple[TrainState, Information]:
    """Guess, then learn; what counts as information are guesses in episodes that are new."""
    if state.classifier is None:
        raise TypeError("There is no classifier.")
    examples = Examples(seen.features.reshape(-1, seen.features.shape[-1]), seen.level.reshape(-1))
    config = setup.config.classifier
    classifier, guesses = guess_and_learn(state.classifier, examples, config, key=key)
    found = information_in(guesses, seen.is_new.reshape(-1), num_classes(state))
    return replace(state, classifier=classifier), found


def num_classes(state: TrainState) -> int:
    """Return how many levels the classifier knows: those of the dataset, which come first."""
    if state.classifier is None:
        raise TypeError("There is no classifier.")
    return state.classifier.layer.bias.shape[0]
