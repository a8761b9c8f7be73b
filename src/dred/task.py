"""A task is a record: all that the core must know of a kind of problem.

The core plays, replays, learns, evaluates and reports; what a level is, how it is played and drawn,
and where new ones come from, the task says. Optional parts are None or empty, and what depends on
them is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8

from dred.agents.protocol import Agent
from dred.config import AgentConfig, TrainConfig
from dred.environment import Environment
from dred.host import HostEnvironment, Slots
from dred.presets import BUDGETS, NO_METHODS, PresetMethods

Levels = Any  # a batch of levels: a pytree whose leaves have a leading axis
Histogram = Float[np.ndarray, "..."]


@runtime_checkable
class LevelSet(Protocol):
    """A set of levels, as a file holds them."""

    @property
    def levels(self) -> Levels:
        """Return the levels themselves, as a batch."""
        ...

    @property
    def digest(self) -> str:
        """Return what tells this set from others."""
        ...

    @property
    def structure(self) -> Any:  # noqa: ANN401  (an array of text, [level])
        """Return what each level is called, or what made it."""
        ...

    @property
    def meta(self) -> Mapping[str, object]:
        """Return what the file says about itself."""
        ...

    def __len__(self) -> int:
        """Return how many levels there are."""
        ...

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401  (one level, or a set of some)
        """Return one level by its number, or a set of those that an array of numbers names."""
        ...

    def save(self, path: Path) -> None:
        """Write the set."""
        ...


@runtime_checkable
class LevelFormat(Protocol):
    """How levels of a task are stored and exchanged."""

    @property
    def treedef(self) -> Any:  # noqa: ANN401  (a PyTreeDef)
        """Return the structure of a batch of levels, as `jax.tree.structure` gives it."""
        ...

    def load(self, path: str | Path) -> LevelSet:
        """Read a set of levels, and check it."""
        ...

    def collect(
        self,
        levels: Levels,
        structure: Any,  # noqa: ANN401  (an array of text, [level])
        meta: Mapping[str, object],
    ) -> LevelSet:
        """Return a batch of levels as a set, each with a word about it."""
        ...


class RunContext(eqx.Module):
    """What a run is given and does not change: the dataset, and the models of its generators."""

    dataset: Levels
    models: dict[str, Any] = eqx.field(default_factory=dict)  # by the name of the generator
    simulators: dict[str, Slots] | None = eqx.field(static=True, default=None)  # on the host


class GeneratorInput(eqx.Module):
    """What there is to make levels from."""

    dataset: Levels
    parents: Levels  # as many as levels are wanted: from the last replay, easiest first
    model: Any = None  # what the generator has prepared or fitted


@dataclass(frozen=True)
class NoSettings:
    """The settings of a generator that has none."""


@dataclass(frozen=True)
class FitRequest:
    """How a generator is to be fitted."""

    preset: str = "default"
    """Which of its settings."""
    changes: Mapping[str, object] = field(default_factory=dict[str, object])
    """What is different from them."""
    seed: int = 0
    """Another seed gives another model."""


@dataclass(frozen=True, eq=False)
class Generator:
    """Where new levels come from."""

    propose: Callable[[GeneratorInput, Any, PRNGKeyArray], Levels]
    """Return as many levels as there are parents, given settings and a key. Traced by JAX."""
    settings: Any = field(default_factory=NoSettings)
    """Its settings, as a frozen record of their usual values."""
    uses_parents: bool = False
    """Whether levels are made from parents, which are then noted."""
    widen: Callable[[Levels, Any, Any], Levels] | None = None
    """Return the dataset, given settings and the model, with room in its arrays for all that is
    made: parents and what is proposed have that shape. Where levels are larger than its own."""
    prepare: Callable[[LevelSet], Any] | None = None
    """Return the model it needs, from the dataset alone."""
    load: Callable[[Path, LevelSet], Any] | None = None
    """Return the fitted model it needs from a folder, checked against the dataset."""
    digest: Callable[[Path], str] | None = None
    """Return what tells the fitted model in a folder from others."""
    fit: Callable[[LevelSet, Path, FitRequest], Any] | None = None
    """Fit it to levels, write the folder from which `load` reads, and return the model as people
    use it, whose `path` is that folder."""
    open: Callable[[Path], Any] | None = None
    """Return the fitted model in a folder as people use it, as `fit` does."""
    fit_presets: tuple[str, ...] = ()
    """Names of settings with which it can be fitted."""
    fitted_by: str = ""
    """The generator whose `fit` makes its model, if it is another one."""


@runtime_checkable
class Pictures(Protocol):
    """How levels and episodes are shown."""

    def draw_level(self, level: Any, *, size: int) -> UInt8[np.ndarray, "height width 3"]:  # noqa: ANN401
        """Return a picture of a level, about so many pixels wide."""
        ...

    def draw_state(
        self,
        level: Any,  # noqa: ANN401
        state: Any,  # noqa: ANN401
        *,
        size: int,
    ) -> UInt8[np.ndarray, "height width 3"]:
        """Return a picture of an agent in a level."""
        ...

    def legend(self) -> Mapping[str, UInt8[np.ndarray, "height width 3"]]:
        """Return what the pictures are made of, by name; may be empty."""
        ...


@dataclass(frozen=True)
class Suite:
    """A collection of sets of levels to evaluate on."""

    names: tuple[str, ...]
    """What the sets are called."""
    make: Callable[[LevelSet], Mapping[str, LevelSet]]
    """Return the sets, given the levels trained on."""


@dataclass(frozen=True)
class Feature:
    """A number by which levels are described."""

    label: str
    """What it is, in words."""
    percent: bool = False
    """Whether it is a share."""
    meaning: str = ""
    """What runs log of it, in a sentence; by itself the mean over levels as they are drawn."""
    optional: bool = False
    """Whether it is not given for some batches of levels."""


def is_positive(returned: Float[Array, "*batch"]) -> Bool[Array, "*batch"]:
    """Return whether returns are above 0."""
    return returned > 0


@dataclass(frozen=True, eq=False)
class Task:
    """A kind of problem."""

    name: str
    """What it is called on the command line."""
    environment: Environment[Any, Any, Any, Any] | HostEnvironment
    """How levels are played: pure functions, or a simulator on the host."""
    level_format: LevelFormat
    """How levels are stored."""
    new_agent: Callable[[AgentConfig, PRNGKeyArray], Agent]
    """Return an agent that has learned nothing."""
    budgets: Mapping[str, TrainConfig] = field(default_factory=lambda: BUDGETS)
    """Presets: how much to train, with which agent."""
    methods: PresetMethods = field(default_factory=lambda: NO_METHODS)
    """Methods as presets run them, by preset and name, where that is not as usual."""
    max_return: float = 1.0
    """The largest return of an episode."""
    return_meaning: str = ""
    """What a return says, in a sentence for readers of reports."""
    is_solved: Callable[[Float[Array, "*batch"]], Bool[Array, "*batch"]] = is_positive
    """Return whether an episode with this return counts as solved."""
    optimal_returns: Callable[[Levels, Any], Float[Array, " level"]] | None = None
    """Return the highest return that each of these levels, laid out in a world, allows."""
    features: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    """The numbers by which levels are described, by their names in metrics."""
    measure: Callable[[Levels], Mapping[str, Float[np.ndarray, " level"]]] | None = None
    """Return the features of levels; NaN where one is not defined. Not traced."""
    histogram: Callable[[Levels, Float[np.ndarray, " level"] | None], Histogram] | None = None
    """Return levels, each with a weight, as one distribution, by which shift is measured."""
    align_histograms: Callable[[Histogram, Histogram], tuple[Histogram, Histogram]] | None = None
    """Return two of them in one shape, if levels of several sizes give several shapes."""
    generators: Mapping[str, Generator] = field(default_factory=dict[str, Generator])
    """Where new levels come from, by name."""
    pictures: Pictures | None = None
    """How levels are shown."""
    picture_meaning: str = ""
    """What readers of reports should know of pictures of episodes, in a sentence."""
    describe_size: Callable[[LevelSet], str] | None = None
    """Return how large the levels of a set are, in words."""
    sizes_of: Callable[[LevelSet], Sequence[str]] | None = None
    """Return the size of each level, as 15x15, by which results in a set with several are told
    apart; None if all levels of the task are of one size."""
    from_gym: Callable[[Any], Any] | None = None
    """Return an observation as the agent takes it, from that or one of a Gymnasium environment."""
    suites: Mapping[str, Suite] = field(default_factory=dict[str, Suite])
    """Named collections of sets to evaluate on."""
    default_levels: Callable[[], Mapping[str, LevelSet]] | None = None
    """Return the levels to train on, "train", and those held out, "test", if none are given."""
    make_levels: Callable[[str, int | None, int], LevelSet] | None = None
    """Return a set by its name, with so many levels or as many as usual, given a seed: what `dred
    levels make TASK/NAME` makes."""
    usual_levels: Mapping[str, str] = field(default_factory=dict[str, str])
    """The presets of `dred levels make` that a study makes if it names no levels, by the same."""
    headline: Literal["solved_rate", "return"] = "solved_rate"
    """By which number people judge how well an agent does."""
    write_report: Callable[..., Path] | None = None
    """Write a report of the task's own about some runs, given a folder, and return its page."""

    def optimal_of(self, levels: Levels, world: Any) -> Float[Array, " level"]:  # noqa: ANN401
        """Return the highest return that each level allows; the largest there is if not known."""
        if self.optimal_returns is None:
            return jnp.full(self.environment.num_levels(world), self.max_return)
        return self.optimal_returns(levels, world)
