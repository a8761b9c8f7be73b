"""What a level is, and where levels come from.

levels = dred.levels.load("train.npz")
print(dred.levels.to_text(levels[0]))
"""

from dred.levels.build import make as make
from dred.levels.cave_escape import furnish as furnish
from dred.levels.dataset import LevelDataset as LevelDataset
from dred.levels.dataset import concatenate as concatenate
from dred.levels.dataset import from_levels as from_levels
from dred.levels.dataset import load as load
from dred.levels.dataset import save as save
from dred.levels.level import ANY_HEADING as ANY_HEADING
from dred.levels.level import EMPTY as EMPTY
from dred.levels.level import LAVA as LAVA
from dred.levels.level import MOSS as MOSS
from dred.levels.level import WALL as WALL
from dred.levels.level import Level as Level
from dred.levels.level import is_valid as is_valid
from dred.levels.level import make_level as make_level
from dred.levels.level import problems as problems
from dred.levels.metrics import densities as densities
from dred.levels.metrics import level_metrics as level_metrics
from dred.levels.paths import distance_to_goal as distance_to_goal
from dred.levels.paths import distances_to_goal as distances_to_goal
from dred.levels.paths import extended_distances as extended_distances
from dred.levels.paths import is_solvable as is_solvable
from dred.levels.paths import largest_component as largest_component
from dred.levels.paths import resistance_distance as resistance_distance
from dred.levels.paths import shortest_path as shortest_path
from dred.levels.render import draw_level as draw_level
from dred.levels.shift import Shift as Shift
from dred.levels.shift import histogram as histogram
from dred.levels.shift import jensen_shannon as jensen_shannon
from dred.levels.shift import shift_between as shift_between
from dred.levels.text import from_text as from_text
from dred.levels.text import to_text as to_text
