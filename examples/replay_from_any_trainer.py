"""Prioritised replay of levels in a trainer of one's own: two calls, and no part of dred's learner.

The "agent" here is a number for each level: how well it does there. Playing a level makes it
better by a share of what is missing, and what is missing is the score.
"""

import numpy as np

import dred

num_levels, steps = 50, 2000
speed = np.random.default_rng(0).uniform(0.005, 0.2, num_levels)  # some levels are hard to learn


def train(choose, report):
    """Play levels one after the other, and return how well the agent does in the worst of them."""
    skill = np.zeros(num_levels)
    for _ in range(steps):
        level = choose()
        missing = 1.0 - skill[level]
        skill[level] += speed[level] * missing
        report(level, missing)
    return skill.min()


buffer = dred.replay.LevelBuffer(num_levels, dred.Method("mine", primary=dred.Term("missing")))
replayed = train(buffer.draw, buffer.report)
chance = np.random.default_rng(1)
uniform = train(lambda: int(chance.integers(num_levels)), lambda level, score: None)
print(f"worst level: {replayed:.0%} with replay, {uniform:.0%} with uniform draws")
