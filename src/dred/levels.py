"""What a level of the gridworld is, and where levels come from.

levels = dred.levels.load("train.npz")
print(dred.levels.to_text(levels[0]))
"""

from dred.tasks.gridworld.levels import *  # noqa: F403  (the same names)
