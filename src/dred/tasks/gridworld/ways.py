"""Which way an agent takes in the example levels, and what that says about the level.

I(L; π) is how much an agent's behaviour tells about the level it is in. In the example, all of it
that matters shows at the junction: the level is one of (a) to (c), the behaviour is the way taken,
and the information can be counted.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from dred.agents.protocol import Agent
from dred.reports.episodes import record
from dred.tasks.gridworld.environment import GridworldEnvironment, time_limit
from dred.tasks.gridworld.levels.example import WAYS, example_levels

TRAINED = 3  # (a) to (c) come first


class Ways(NamedTuple):
    """What an agent did in the levels (a) to (d)."""

    taken: Int[np.ndarray, "level way"]  # episodes by their first way: left, straight, right, none
    solved: Float[np.ndarray, " level"]  # share of episodes
    steps: Float[np.ndarray, " level"]  # of an episode, on average

    @property
    def information(self) -> float:
        """I(L; way) in nats, of the levels (a) to (c); at most ln 3 = 1.10."""
        return counted_information(self.taken[:TRAINED])


def counted_information(counts: Int[np.ndarray, "row column"]) -> float:
    """The mutual information of two things that were counted together, in nats.

    Σ p(l, w) ln [p(l, w) / (p(l) p(w))], with shares for probabilities. With so many counts as here
    it is right to a hundredth.
    """
    joint = counts / counts.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0
    return float(np.sum(joint[there] * np.log(joint[there] / apart[there])))


def ways_taken(agent: Agent, *, episodes: int = 64, seed: int = 0) -> Ways:
    """Play each of the levels (a) to (d) so many times."""
    levels, env = example_levels(), GridworldEnvironment()
    count = len(levels)
    numbers = np.repeat(np.arange(count), episodes)
    world = env.prepare(levels[numbers].levels)
    frames = time_limit(*levels.shape)
    played = jax.device_get(
        record(agent, env, world, len(numbers), frames, key=jax.random.key(seed))
    )
    taken = np.zeros((count, len(WAYS) + 1), np.int64)
    firsts = [way[0] for way in WAYS.values()]
    steps = played.steps
    for episode, number in enumerate(numbers):
        where = (played.states.row, played.states.column)
        rows, columns = (part[: steps[episode] + 1, episode].tolist() for part in where)
        path = list(zip(rows, columns, strict=True))
        ways = [firsts.index(cell) for cell in path if cell in firsts]
        taken[number, ways[0] if ways else len(WAYS)] += 1
    return Ways(
        taken,
        (played.returned > 0).reshape(count, episodes).mean(axis=1),
        steps.reshape(count, episodes).mean(axis=1),
    )
