"""The settings of a study, as its TOML file has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dred.errors import ConfigError


@dataclass(frozen=True)
class StudyConfig:
    """A study: methods × seeds."""

    methods: tuple[str, ...]
    """Each is trained with each seed."""
    seeds: tuple[int, ...] = (0,)
    """One run each; all methods with the first seed come first."""
    task: str = "gridworld"
    """What kind of problem."""
    preset: str = "laptop"
    """How much: paper, laptop or smoke."""
    updates: int = 0
    """Updates, instead of the preset's number, if not 0."""
    devices: int = 1
    """Devices over which the agents of each run are spread. Runs on a core each, side by side, take
    the least time."""
    levels: str = "cave-escape-train"
    """The levels to train on: a preset or a TOML file of `dred levels make`, or a file of levels
    beside the study (.npz)."""
    num_levels: int = 0
    """How many levels to make for training, instead of the preset's number, if not 0."""
    held_out: str = "cave-escape-test"
    """The levels held out: the same."""
    suites: tuple[str, ...] = ("paper",)
    """What to evaluate on: paper, or files of levels beside the study."""
    episodes: int = 1
    """Episodes in each level of an evaluation."""
    generator_preset: str = "default"
    """Settings of `dred fit`, for methods that need a generator."""
    grid: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Settings to vary, each with a list of values: "method.eta.end" = [0.5, 1.0]. Each method is
    trained with each combination."""
    variants: tuple[Mapping[str, object], ...] = field(default=(), hash=False)
    """Tables of settings to change, [[variants]], one at a time: each method is trained with each
    of them, besides the combinations of the grid, or as it is if there is no grid."""
    out: str = ""
    """The folder to fill, beside the file; called like the file if not given."""

    def __post_init__(self) -> None:
        if not self.methods or not self.seeds or not self.suites:
            raise ConfigError("A study needs at least one method, one seed and one suite.")
        for name in ("methods", "seeds", "suites"):
            values: tuple[object, ...] = getattr(self, name)
            if len(set(values)) != len(values):
                raise ConfigError(f"{name} {list(values)} names one of them twice.")
        if min(self.updates, self.num_levels) < 0 or min(self.episodes, self.devices) < 1:
            raise ConfigError(
                f"updates (={self.updates}) and num_levels (={self.num_levels}) must be 0 or more, "
                f"and episodes (={self.episodes}) and devices (={self.devices}) at least 1."
            )
        if self.num_levels and self.levels.endswith(".npz"):
            raise ConfigError(
                f"num_levels (={self.num_levels}) is for levels that are made; {self.levels} is "
                "there already."
            )


@dataclass(frozen=True)
class ProcgenStudyConfig:
    """A study in Procgen: games × strategies × numbers of levels × seeds."""

    games: tuple[str, ...]
    """Each is trained with each strategy."""
    strategies: tuple[str, ...] = ("uniform", "value-l1", "mi", "value-l1+uniform", "value-l1+mi")
    """Which level next."""
    seeds: tuple[int, ...] = (0,)
    """One run each; all games and strategies with the first seed come first."""
    num_levels: tuple[int, ...] = (200,)
    """Numbers of training levels, each of which is tried."""
    preset: str = "laptop"
    """How much: paper, laptop or smoke."""
    difficulty: Literal["easy", "hard"] = "easy"
    """Of the games."""
    updates: int = 0
    """Updates, instead of the preset's number, if not 0."""
    grid: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Settings to vary, each with a list of values: "strategy.eta.end" = [0.25, 0.5]. Each strategy
    is trained with each combination."""
    out: str = ""
    """The folder to fill, beside the file; called like the file if not given."""

    def __post_init__(self) -> None:
        for name in ("games", "strategies", "seeds", "num_levels"):
            values: tuple[object, ...] = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise ConfigError(f"{name} {list(values)} must name at least one, and none twice.")
        if self.updates < 0 or min(self.num_levels) < 1:
            raise ConfigError(
                f"updates (={self.updates}) must be 0 or more, and num_levels at least 1."
            )
