"""Everything that changes while an agent trains in Procgen, except the simulator's own state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.agents.ppo import Learner, make_optimiser
from dred.config import ProcgenConfig
from dred.replay.buffer import Buffer, new_buffer
from dred.tasks.procgen.classifier import Classifier, new_classifier
from dred.tasks.procgen.resnet import ResNet, new_resnet
from dred.tasks.procgen.rewards import RewardScale, new_scale


class State(eqx.Module):
    """All of it, as one pytree. Level i is in slot i of the buffer."""

    learner: Learner[ResNet]
    classifier: Classifier
    buffer: Buffer
    scale: RewardScale
    returned: Float[Array, " env"]  # so far, in the episodes being played
    watched: Float[Array, " watched"]  # the same where the agent is only watched
    num_updates: Int[Array, ""]


class Setup(eqx.Module):
    """What does not change during a run."""

    config: ProcgenConfig = eqx.field(static=True)
    optimiser: optax.GradientTransformation = eqx.field(static=True)


def new_setup(config: ProcgenConfig) -> Setup:
    """The fixed parts of a run."""
    return Setup(config, make_optimiser(config.ppo, config.num_updates))


def new_state(setup: Setup, *, key: PRNGKeyArray) -> State:
    """The state with which a run begins."""
    config = setup.config
    key_network, key_classifier = jax.random.split(key)
    network = new_resnet(hidden_size=config.agent.hidden_size, key=key_network)
    return State(
        learner=Learner(network, setup.optimiser.init(eqx.filter(network, eqx.is_array))),
        classifier=new_classifier(config, key=key_classifier),
        buffer=first_buffer(config),
        scale=new_scale(config.ppo.num_envs),
        returned=jnp.zeros(config.ppo.num_envs),
        watched=jnp.zeros(2 * config.watch_envs),
        num_updates=jnp.zeros((), jnp.int32),
    )


def first_buffer(config: ProcgenConfig) -> Buffer:
    """All training levels; not scored yet, if the strategy wants each to be seen once first."""
    levels = jnp.arange(config.num_levels, dtype=jnp.int32)
    optimal = jnp.zeros(config.num_levels)  # nobody knows the highest return possible
    buffer = new_buffer(levels, optimal, config.num_levels)
    if config.strategy.warm_up:
        return buffer
    return eqx.tree_at(
        lambda b: (b.primary, b.is_scored), buffer, (jnp.ones_like(optimal), buffer.is_used)
    )
