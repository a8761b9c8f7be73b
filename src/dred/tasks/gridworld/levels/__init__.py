"""What a level is, and where levels come from.

levels = dred.levels.load("train.npz")
print(dred.levels.to_text(levels[0]))
"""

from dred.evaluation.shift import Shift as Shift
from dred.evaluation.shift import jensen_shannon as jensen_shannon
from dred.tasks.gridworld.levels.build import make as make
from dred.tasks.gridworld.levels.cave_escape import furnish as furnish
from dred.tasks.gridworld.levels.dataset import LevelDataset as LevelDataset
from dred.tasks.gridworld.levels.dataset import concatenate as concatenate
from dred.tasks.gridworld.levels.dataset import from_levels as from_levels
from dred.tasks.gridworld.levels.dataset import load as load
from dred.tasks.gridworld.levels.dataset import save as save
from dred.tasks.gridworld.levels.level import ANY_HEADING as ANY_HEADING
from dred.tasks.gridworld.levels.level import EMPTY as EMPTY
from dred.tasks.gridworld.levels.level import LAVA as LAVA
from dred.tasks.gridworld.levels.level import MOSS as MOSS
from dred.tasks.gridworld.levels.level import OUTSIDE as OUTSIDE
from dred.tasks.gridworld.levels.level import WALL as WALL
from dred.tasks.gridworld.levels.level import Level as Level
from dred.tasks.gridworld.levels.level import is_valid as is_valid
from dred.tasks.gridworld.levels.level import make_level as make_level
from dred.tasks.gridworld.levels.level import problems as problems
from dred.tasks.gridworld.levels.metrics import densities as densities
from dred.tasks.gridworld.levels.metrics import level_metrics as level_metrics
from dred.tasks.gridworld.levels.paths import distance_to_goal as distance_to_goal
from dred.tasks.gridworld.levels.paths import distances_to_goal as distances_to_goal
from dred.tasks.gridworld.levels.paths import extended_distances as extended_distances
from dred.tasks.gridworld.levels.paths import is_solvable as is_solvable
from dred.tasks.gridworld.levels.paths import largest_component as largest_component
from dred.tasks.gridworld.levels.paths import resistance_distance as resistance_distance
from dred.tasks.gridworld.levels.paths import shortest_path as shortest_path
from dred.tasks.gridworld.levels.render import draw_level as draw_level
from dred.tasks.gridworld.levels.shift import histogram as histogram
from dred.tasks.gridworld.levels.shift import shift_between as shift_between
from dred.tasks.gridworld.levels.text import from_text as from_text
from dred.tasks.gridworld.levels.text import to_text as to_text
