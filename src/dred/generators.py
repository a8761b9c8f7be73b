"""Where new levels of the gridworld come from.

vae = dred.generators.load("vae")
"""

from dred.tasks.gridworld.generators import *  # noqa: F403  (the same names)
