"""Procgen: games whose levels are numbers. It needs the package `procgen2` only when played.

envs = dred.tasks.procgen.ProcgenLevels("bigfish", 64)
now = envs.reset_to(range(64))
now = envs.step(actions, next_levels)
"""

from dred.tasks.procgen.levels import NUM_ACTIONS as NUM_ACTIONS
from dred.tasks.procgen.levels import Moment as Moment
from dred.tasks.procgen.levels import NextLevels as NextLevels
from dred.tasks.procgen.levels import ProcgenLevels as ProcgenLevels
from dred.tasks.procgen.simulator import GAMES as GAMES
from dred.tasks.procgen.simulator import Difficulty as Difficulty
from dred.tasks.procgen.states import FirstStates as FirstStates
