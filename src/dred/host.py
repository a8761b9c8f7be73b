"""Simulators that are not JAX: environments on the host, behind the same trainer.

A `HostEnvironment` opens slots, each of which plays a level of the caller's choice and goes on from
one rollout to the next; nothing of it is traced. What is compiled is the agent, and all that
follows a rollout. The state of the slots is part of a checkpoint, so that a run in a simulator
continues as exactly as any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Num, PRNGKeyArray
from numpy.typing import NDArray

from dred.agents.choices import chosen, entropy_of, log_prob_of, noise_for
from dred.agents.memory import forget
from dred.agents.protocol import Agent, PolicyOutput
from dred.devices import on_device

Levels = Any  # a batch of levels: a pytree whose leaves have a leading axis
NextLevels = Callable[[NDArray[np.intp]], Levels]
"""Asked at the end of episodes: slots, in rising order, in; the next level of each out."""
SIDE_BY_SIDE = 64  # slots, at most, that are opened for an evaluation
NOISE_STEPS = 256  # for which random numbers are drawn in one go


@dataclass(frozen=True)
class Moment:
    """What all slots show, and what the last actions led to."""

    observation: Any  # a pytree of arrays [env, …]: where an episode ended, the next one's first
    reward: Float32[np.ndarray, " env"]  # for the last action; 0 after a reset
    terminated: Bool[np.ndarray, " env"]  # by the last action
    truncated: Bool[np.ndarray, " env"]  # by the last action: out of time
    last: Any = None
    """What was seen at the end of episodes, where some ran out of time; None if that is not shown,
    or if none did. Elsewhere it is the observation."""

    @property
    def ended(self) -> Bool[np.ndarray, " env"]:
        """Return where an episode has ended, so that the observation is a first one."""
        return self.terminated | self.truncated


@runtime_checkable
class Slots(Protocol):
    """Some environments side by side, each in a level of the caller's choice."""

    @property
    def num_envs(self) -> int:
        """Return how many there are."""
        ...

    def observe(self) -> Moment:
        """Return what all of them show."""
        ...

    def reset_to(self, levels: Levels) -> Moment:
        """Begin these levels, one in each slot."""
        ...

    def step(self, actions: Any, next_levels: NextLevels) -> Moment:  # noqa: ANN401  (numbers)
        """Act once in each slot; where that ends an episode, begin the level that comes next."""
        ...

    def save(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to continue exactly, as arrays with the names of `saved`."""
        ...

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> Moment:
        """Continue from what `save` returned, here or in another process."""
        ...


@runtime_checkable
class HostEnvironment(Protocol):
    """A simulator on the host: how its levels are played."""

    @property
    def num_actions(self) -> int:
        """Return how many actions there are, or how many numbers an action has."""
        ...

    @property
    def saved(self) -> Sequence[str]:
        """Return the names of the arrays that slots save."""
        ...

    def need(self) -> None:
        """Stop, saying how to install it, if the simulator is not there."""
        ...

    def open(self, num_envs: int, *, seed: int = 0) -> Slots:
        """Return so many slots; what they leave to chance follows from the seed."""
        ...

    def prepare(self, levels: Levels) -> Levels:
        """Return levels as a world: the same, as arrays."""
        ...

    def num_levels(self, world: Levels) -> int:
        """Return how many levels a world has."""
        ...


class Ongoing(eqx.Module):
    """What goes on from one rollout to the next, besides the slots themselves."""

    level: Int[Array, " env"]  # that each slot is in, by its place in the world
    memory: Any  # of the agents, leaves [env, …]
    returned: Float[Array, " env"]  # so far, in the episodes being played


def new_ongoing(agent: Agent, level: Int[Array, " env"]) -> Ongoing:
    """Return what there is when these levels have just begun."""
    return Ongoing(level, agent.initial_memory(level.shape[0]), jnp.zeros(level.shape[0]))


def rows(world: Levels, places: Any) -> Levels:  # noqa: ANN401  (numbers)
    """Return some levels of a world, by their places."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[np.asarray(places)], world)


class Choice(NamedTuple):
    """What agents decided at one step, and how."""

    memory: Any
    action: Num[Array, "env *numbers"]
    log_prob: Float[Array, " env"]
    entropy: Float[Array, " env"]
    value: Float[Array, " env"]
    features: Float[Array, "env feature"]


@jax.jit
def choose(
    agent: Agent,
    memory: Any,  # noqa: ANN401  (the agent's)
    observation: Any,  # noqa: ANN401  (any pytree)
    begins: Bool[Array, " env"],
    noise: Float[Array, "env action"],
) -> Choice:
    """Return an action for each agent; memories are lost where an episode begins."""
    memory, features = agent.perceive(forget(memory, begins), observation)
    output = agent.heads(features)
    action = chosen(output, noise)
    log_prob, entropy = log_prob_of(output, action), entropy_of(output)
    return Choice(memory, action, log_prob, entropy, output.value, features)


@jax.jit  # so that its shapes are found out once, and not in each rollout
def _output_of(agent: Agent, memory: Any, observation: Any) -> PolicyOutput:  # noqa: ANN401
    return agent.step(memory, observation)[1]


def noise_of_steps(
    agent: Agent,
    memory: Any,  # noqa: ANN401
    now: Moment,
    length: int,
    key: PRNGKeyArray,
) -> Float[np.ndarray, "time env action"]:
    """Return the random numbers by which actions are chosen."""
    output = jax.eval_shape(_output_of, agent, memory, now.observation)
    return np.asarray(noise_for(output, lead=(length,), key=key))


def seed_from(key: PRNGKeyArray) -> int:
    """Return a number for slots that are opened with a key."""
    return int(jax.random.bits(key))


class HostEpisodes(NamedTuple):
    """How one episode in each level went."""

    returned: Float[np.ndarray, " level"]
    steps: Int[np.ndarray, " level"]


def play_each(
    agent: Agent,
    environment: HostEnvironment,
    world: Levels,
    levels: Int[np.ndarray, " episode"],
    *,
    key: PRNGKeyArray,
    greedy: bool = False,
    advance: Callable[[int], None] = lambda amount: None,
) -> HostEpisodes:
    """Play one episode in each of these levels to its end; a free slot takes the next that waits.

    `advance` is told of episodes that ended.
    """
    count, agent = len(levels), on_device(agent, 0)
    slots = environment.open(min(SIDE_BY_SIDE, count), seed=seed_from(key))
    episode = np.arange(slots.num_envs)  # that each slot plays; those from `count` on do not count
    found = HostEpisodes(np.zeros(count), np.zeros(count, np.int64))
    now = slots.reset_to(rows(world, levels[episode % count]))
    memory, begins = agent.initial_memory(slots.num_envs), np.ones(slots.num_envs, np.bool_)
    step, given = 0, slots.num_envs
    noise = np.zeros((1, 1, 1), np.float32)

    def next_levels(free: NDArray[np.intp]) -> Levels:
        nonlocal given
        episode[free] = np.arange(given, given + len(free))
        given += len(free)
        return rows(world, levels[episode[free] % count])

    while (episode < count).any():
        if step % NOISE_STEPS == 0:
            key_now = jax.random.fold_in(key, step)
            noise = noise_of_steps(agent, memory, now, NOISE_STEPS, key_now) * (
                0.0 if greedy else 1.0
            )
        choice = choose(agent, memory, now.observation, begins, noise[step % NOISE_STEPS])
        playing = episode.copy()
        now = slots.step(np.asarray(choice.action), next_levels)
        counts = playing < count
        found.returned[playing[counts]] += now.reward[counts]
        found.steps[playing[counts]] += 1
        advance(int((now.ended & counts).sum()))
        memory, begins, step = choice.memory, now.ended, step + 1
    return found
