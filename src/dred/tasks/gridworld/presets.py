"""Named settings of the gridworld, as values: sets of levels, models, and how much to train."""

from dataclasses import replace

from dred.config import AgentConfig, PPOConfig, TrainConfig
from dred.presets import BUDGETS, METHODS
from dred.tasks.gridworld.config import (
    CaveEscapeConfig,
    DatasetConfig,
    MaskedConfig,
    TileConfig,
    VAEConfig,
)

TRAINING_STRUCTURES = ("obstacles_hogs3", "maze_wall", "maze_paths", "rooms_office")

EDGE_STRUCTURES = (
    "obstacles_blackdots",
    "obstacles_hogs2",
    "obstacles_angular",
    "dungeon_mazescaled",
    "maze_simple",
    "rooms_fabric",
    "dungeon_rooms",
    "maze_knot",
    "skew_2",
    "dungeon_spirals_neg",
    "maze_spirals",
    "dungeon_lessrooms",
    "rooms_magicoffice",
    "dungeon_large",
)

_FAINT_MOSS = TileConfig(fraction=(0.05, 0.05))
_DENSE_LAVA = TileConfig(fraction=(0.5, 0.5), near_goal=False)
_LOOSE_MOSS = TileConfig(temperature=2.0)
_LOOSE_LAVA = TileConfig(temperature=2.0, near_goal=False)

# The five level sets of the paper, and one to choose settings on. Each draws from its own fifth of
# all levels, so that no level is ever in two of them; Hardcore's fifth is free at 15×15.
_SETS = (
    DatasetConfig("cave-escape-train", TRAINING_STRUCTURES, count=512, part=0, parts=5),
    DatasetConfig("cave-escape-test", TRAINING_STRUCTURES, count=2048, part=1, parts=5),
    DatasetConfig(
        "cave-escape-edge-moss",
        EDGE_STRUCTURES,
        count=224,
        tiles=CaveEscapeConfig(moss=_FAINT_MOSS),
        part=2,
        parts=5,
    ),
    DatasetConfig(
        "cave-escape-edge-lava",
        EDGE_STRUCTURES,
        count=224,
        tiles=CaveEscapeConfig(moss=_FAINT_MOSS, lava=_DENSE_LAVA),
        part=3,
        parts=5,
    ),
    DatasetConfig(
        "cave-escape-hardcore",
        EDGE_STRUCTURES + TRAINING_STRUCTURES,
        count=216,
        size=45,
        tiles=CaveEscapeConfig(moss=_LOOSE_MOSS, lava=_LOOSE_LAVA),
        part=4,
        parts=5,
    ),
    DatasetConfig("cave-escape-validation", TRAINING_STRUCTURES, count=512, part=4, parts=5),
)
LEVEL_SETS = {config.name: config for config in _SETS}

# More weight on what is drawn than the paper's gives more solvable levels that are more like the
# dataset, and levels in one part even more; docs/results.md has the figures.
VAES = {
    "default": VAEConfig(layout_weight=1.0, place_weight=0.04, connected=True),
    "paper": VAEConfig(),  # as the released code runs it
    "paper-table": VAEConfig(graph_layers=4, encoder_sizes=(2048, 256), decoder_sizes=(256, 256)),
}

MASKED = {
    "default": MaskedConfig(),
    "larger": MaskedConfig(ahead_sizes=(15, 21, 27, 33)),  # to train on
}

_RELEASED = "convolution"  # the encoder of the released code
_UNIFORM = METHODS["uniform"]


def _released(budget: TrainConfig) -> TrainConfig:
    """Return a budget for the agent of the released code."""
    return replace(budget, agent=replace(budget.agent, encoder=_RELEASED))


GRIDWORLD_BUDGETS = {
    **BUDGETS,
    "paper": _released(BUDGETS["paper"]),
    "smoke": _released(BUDGETS["smoke"]),
    # For the small levels of docs/overfitting.md. Impatient, so that short cuts are worth finding.
    "example": TrainConfig(
        _UNIFORM,
        agent=AgentConfig(hidden_size=32, encoder=_RELEASED),
        ppo=PPOConfig(
            num_envs=32,
            num_steps=32,
            epochs=4,
            num_minibatches=2,
            learning_rate=3e-3,
            final_lr_fraction=0.1,
            discount=0.9,
            entropy_coefficient=0.1,
            bootstrap=True,
        ),
        num_updates=300,
        chunk=50,
        evaluate_every=0,
        probe_every=0,
    ),
}
