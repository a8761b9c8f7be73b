"""One pass round the loop: choose levels, play them, learn."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from dred.agents.play import play
from dred.agents.ppo import estimate_advantages, learn
from dred.envs.gridworld import State
from dred.envs.restart import Restart, next_level, same_level, uniform
from dred.envs.view import World
from dred.generators.random import random_level
from dred.training.state import Metrics, Setup, TrainState


def update(
    state: TrainState, *, dataset: World, setup: Setup, key: PRNGKeyArray
) -> tuple[TrainState, Metrics]:
    """Algorithm 1 of the paper, for any method: choose levels, play them, learn."""
    key_choose, key_play, key_learn = jax.random.split(key, 3)
    config = setup.config

    chosen = LEVELS[config.method.levels](dataset, setup=setup, key=key_choose)
    rollout = play(
        state.learner.network,
        setup.environment,
        chosen.world,
        chosen.begun,
        length=config.ppo.num_steps,
        restart=chosen.restart,
        value_ends=config.ppo.bootstrap,
        key=key_play,
    )
    advantage = estimate_advantages(rollout, config.ppo)
    learner, losses = learn(
        state.learner, rollout, advantage, config.ppo, setup.optimiser, key=key_learn
    )
    return TrainState(learner, state.num_updates + 1), Metrics.of(rollout, losses)


class Chosen(NamedTuple):
    """Levels to play: where each agent begins, and where it goes on when an episode ends."""

    world: World
    begun: State
    restart: Restart[World, State]


def from_dataset(dataset: World, *, setup: Setup, key: PRNGKeyArray) -> Chosen:
    """Levels of the dataset, each equally likely, drawn anew for every episode."""
    source = uniform(dataset.start.shape[0])
    chance = jax.random.bits(key, (setup.config.ppo.num_envs, 2))
    begin = partial(setup.environment.begin, dataset)
    begun = jax.vmap(lambda bits: begin(source(bits[0]), chance=bits[1]))(chance)
    return Chosen(dataset, begun, next_level(setup.environment, source))


def from_nowhere(dataset: World, *, setup: Setup, key: PRNGKeyArray) -> Chosen:
    """New random levels of the dataset's size, one for each agent for the whole rollout."""
    key_make, key_begin = jax.random.split(key)
    num_envs = setup.config.ppo.num_envs
    make = partial(
        random_level, dataset.height, dataset.width, max_clutter=setup.config.method.max_clutter
    )
    levels = jax.vmap(lambda key: make(key=key))(jax.random.split(key_make, num_envs))
    world = setup.environment.prepare(levels)
    chance = jax.random.bits(key_begin, (num_envs,))
    begin = partial(setup.environment.begin, world)
    begun = jax.vmap(lambda level, bits: begin(level, chance=bits))(jnp.arange(num_envs), chance)
    return Chosen(world, begun, same_level(setup.environment))


LEVELS: dict[str, Callable[..., Chosen]] = {"dataset": from_dataset, "random": from_nowhere}
