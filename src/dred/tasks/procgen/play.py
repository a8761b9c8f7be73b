"""Playing Procgen: the simulator steps in its own threads, the network in a compiled program."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray, UInt8

from dred.agents.categorical import entropy, gumbel_noise, log_prob, sample
from dred.agents.rollout import Rollout
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.resnet import ResNet


class Choice(NamedTuple):
    """What the agents decided, and how."""

    action: Int[Array, " env"]
    log_prob: Float[Array, " env"]
    entropy: Float[Array, " env"]
    value: Float[Array, " env"]
    features: Float[Array, "env feature"]


class Played(NamedTuple):
    """A rollout, and what the agents made of each image."""

    rollout: Rollout[UInt8[Array, "time env 64 64 3"]]
    features: Float[Array, "time env feature"]


@jax.jit
def choose(
    network: ResNet,
    image: UInt8[Array, "env 64 64 3"],
    noise: Float[Array, "env action"],
) -> Choice:
    """An action for each agent."""
    features = network.features(image)
    output = network.heads(features)
    action = sample(output.logits, noise)
    return Choice(
        action, log_prob(output.logits, action), entropy(output.logits), output.value, features
    )


def play(
    network: ResNet,
    envs: ProcgenLevels,
    next_levels: Int32[np.ndarray, "time env"],
    *,
    key: PRNGKeyArray,
    keep_images: bool = True,
) -> Played:
    """Go on from where the environments are, as many steps as there are rows of `next_levels`.

    Where an episode ends at step t, the level in row t is begun. The images of a rollout are most
    of its memory: without them it can be looked at, but not learned from.
    """
    length, num_envs = next_levels.shape
    noise = np.asarray(gumbel_noise((length, num_envs, NUM_ACTIONS), key=key))
    images = np.empty((length if keep_images else 0, num_envs, 64, 64, 3), np.uint8)
    level = np.empty((length, num_envs), np.int32)
    begins = np.empty((length, num_envs), np.bool_)
    ended = np.empty((length, num_envs), np.bool_)
    reward = np.empty((length, num_envs), np.float32)
    choices: list[Choice] = []
    now = envs.now
    for t in range(length):
        level[t], begins[t] = now.level, now.ended
        if keep_images:
            images[t] = now.image
        choice = choose(network, now.image, noise[t])
        now = envs.step(np.asarray(choice.action), next_levels[t].__getitem__)
        reward[t], ended[t] = now.reward, now.ended
        choices.append(choice)
    last = choose(network, now.image, noise[0]).value
    action, log_probs, entropies, value, features = (
        jnp.asarray(np.stack(part)) for part in zip(*choices, strict=True)
    )
    rollout = Rollout(
        observation=jnp.asarray(images),
        begins=jnp.asarray(begins),
        level=jnp.asarray(level),
        action=action,
        log_prob=log_probs,
        entropy=entropies,
        reward=jnp.asarray(reward),
        terminated=jnp.asarray(ended),  # [fidelity 81] a time-out too, as released
        truncated=jnp.zeros(ended.shape, jnp.bool_),
        value=jnp.concatenate([value, last[None]]),
        end_value=jnp.zeros(reward.shape),
    )
    return Played(rollout, features)
