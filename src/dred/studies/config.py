"""The settings of a study, as its TOML file has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dred.errors import ConfigError


@dataclass(frozen=True)
class SearchConfig:
    """Successive halving: all train a little, and the best of them go on."""

    first: int
    """Updates after which they are compared for the first time, rounded up to whole chunks."""
    factor: int = 3
    """One in so many goes on, to so many times the updates."""
    metric: str = ""
    """What decides, by its name in docs/metrics.md, as the mean over seeds: by itself how agents do
    in levels held out."""

    def __post_init__(self) -> None:
        if self.first < 1 or self.factor < 2:
            raise ConfigError(
                f"first (={self.first}) must be at least 1, and factor (={self.factor}) at least 2."
            )


@dataclass(frozen=True)
class MoreRunsConfig:
    """More runs of a study: what is empty is as in the study."""

    methods: tuple[str, ...] = ()
    """Some of the study's methods, by name."""
    tasks: tuple[str, ...] = ()
    """Some of the study's tasks."""
    level_sets: tuple[str, ...] = ()
    """Files or ranges of levels to train on."""
    seeds: tuple[int, ...] = ()
    """Some of the study's seeds."""

    def __post_init__(self) -> None:
        if not (self.methods or self.tasks or self.level_sets or self.seeds):
            raise ConfigError("A table [[also]] names nothing that is not in the study already.")


@dataclass(frozen=True)
class StudyConfig:
    """A study: methods × seeds."""

    methods: tuple[str | Mapping[str, object], ...] = field(hash=False)
    """Each is trained with each seed: names, TOML files beside the study, or tables [[methods]]
    with the settings of a method of one's own."""
    seeds: tuple[int, ...] = (0,)
    """One run each; all methods with the first seed come first."""
    task: str = "gridworld"
    """What kind of problem: a name, or FILE.py:NAME with a file beside the study."""
    tasks: tuple[str, ...] = ()
    """Several tasks of one kind, such as games of Procgen, instead of one."""
    plugins: tuple[str, ...] = ()
    """Files beside the study that register scores, generators, methods or tasks."""
    preset: str = "laptop"
    """How much: paper, laptop or smoke."""
    updates: int = 0
    """Updates, instead of the preset's number, if not 0."""
    devices: int = 1
    """Devices over which the agents of each run are spread. Runs on a core each, side by side, take
    the least time."""
    levels: str = ""
    """The levels to train on: a preset or a TOML file of `dred levels make`, or a file of levels
    beside the study (.npz); in Procgen a range, such as 0-199. The task's own if not given."""
    level_sets: tuple[str, ...] = ()
    """Several such files or ranges, each of which every method is trained on, instead of one."""
    num_levels: int = 0
    """How many levels to make for training, instead of the preset's number, if not 0."""
    held_out: str = ""
    """The levels held out: the same."""
    suites: tuple[str, ...] = ("paper",)
    """What to evaluate on: paper, or files of levels beside the study. None if what training
    measures at its end is enough."""
    episodes: int = 1
    """Episodes in each level of an evaluation."""
    generator_preset: str = "default"
    """Settings of `dred fit`, for methods that need a generator."""
    fit_each_seed: bool = False
    """Fit generators anew for each seed, with that seed, so that the spread of what methods with
    one come to is also that of fits. Otherwise each is fitted once, for the runs of all seeds."""
    grid: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Settings to vary, each with a list of values: "method.eta.end" = [0.5, 1.0]. Each method is
    trained with each combination."""
    variants: tuple[Mapping[str, object], ...] = field(default=(), hash=False)
    """Tables of settings to change, [[variants]], one at a time: each method is trained with each
    of them, besides the combinations of the grid, or as it is if there is no grid."""
    also: tuple[Mapping[str, object], ...] = field(default=(), hash=False)
    """Tables [[also]] of more runs: `methods`, `tasks`, `level_sets` and `seeds` that stand instead
    of the study's own, such as more sets of levels in one of several games."""
    search: SearchConfig | None = None
    """Train all a little and go on with the best, [search]; instead of all of them to the end."""
    out: str = ""
    """The folder to fill, beside the file; called like the file if not given."""

    def __post_init__(self) -> None:
        if not self.methods or not self.seeds:
            raise ConfigError("A study needs at least one method and one seed.")
        for name in ("methods", "seeds", "suites", "tasks", "level_sets"):
            values: tuple[object, ...] = getattr(self, name)
            if len(set(map(repr, values))) != len(values):
                raise ConfigError(f"{name} {list(values)} names one of them twice.")
        if min(self.updates, self.num_levels) < 0 or min(self.episodes, self.devices) < 1:
            raise ConfigError(
                f"updates (={self.updates}) and num_levels (={self.num_levels}) must be 0 or more, "
                f"and episodes (={self.episodes}) and devices (={self.devices}) at least 1."
            )
        if self.level_sets and (self.levels or self.num_levels):
            raise ConfigError("level_sets stands instead of levels and num_levels: give one.")
        if self.num_levels and self.levels.endswith(".npz"):
            raise ConfigError(
                f"num_levels (={self.num_levels}) is for levels that are made; {self.levels} is "
                "there already."
            )
