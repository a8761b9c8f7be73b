"""Any Gymnasium environment as a task: `dred.tasks.gymnasium(make_env, levels=…)`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dred.agents.encoders import new_flat_encoder
from dred.agents.network import ActorCritic, keys_for_agent, new_agent
from dred.config import AgentConfig, TrainConfig
from dred.errors import ConfigError
from dred.level_table import LevelTable
from dred.task import Feature, LevelSet, Task, is_positive
from dred.tasks.hosted.environment import HostedEnvironment
from dred.tasks.hosted.pictures import HostedPictures
from dred.tasks.hosted.presets import HOSTED_BUDGETS
from dred.tasks.hosted.recipe import Recipe, SetLevel
from dred.tasks.vectors.box import Parameter
from dred.tasks.vectors.fitted import vector_vae
from dred.tasks.vectors.generators import vector_generators
from dred.tasks.vectors.shift import pair_histograms
from dred.tasks.vectors.table import VectorFormat, read_table

Range = tuple[float, float]
MARGIN = 0.1  # of a column's range, by which the box is wider than the levels if none is given


@dataclass(frozen=True)
class HostedBox:
    """The numbers of a level, and how far each may go."""

    title: str
    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return what their columns are called."""
        return tuple(one.name for one in self.parameters)


@dataclass(frozen=True)
class HostedAgent:
    """Makes agents for an environment of Gymnasium's kind."""

    environment: HostedEnvironment

    def __call__(self, config: AgentConfig, key: PRNGKeyArray) -> ActorCritic:
        """Return an agent that has learned nothing: all that is seen under one layer."""
        spaces = self.environment.spaces
        for_encoder, rest = keys_for_agent(key)
        example = jax.ShapeDtypeStruct((spaces.num_seen,), jnp.float32)
        encoder = new_flat_encoder(example, config.hidden_size, key=for_encoder[0])
        continuous = spaces.is_continuous
        return new_agent(config, encoder, spaces.num_actions, keys=rest, continuous=continuous)


def gymnasium_task(
    make_env: Callable[..., Any] | str,
    *,
    levels: str | Path | LevelTable | None = None,
    held_out: str | Path | LevelTable | None = None,
    box: Mapping[str, Range] | None = None,
    set_level: SetLevel | str | None = None,
    name: str = "",
    processes: int = 0,
    max_return: float = 1.0,
    solved: float | None = None,
    return_meaning: str = "",
    labels: Mapping[str, str] | None = None,
    budgets: Mapping[str, TrainConfig] | None = None,
) -> Task:
    """Return a task whose levels are rows of a table; see `dred.tasks.gymnasium`."""
    if processes < 0:
        raise ConfigError(f"processes (={processes}) must be 0, for this one alone, or more.")
    title = name or f"gymnasium/{make_env if isinstance(make_env, str) else make_env.__name__}"
    table = read_table(levels) if isinstance(levels, str | Path) else levels
    whole = HostedBox(title, box_of(title, table, box, labels or {}))
    environment = HostedEnvironment(Recipe(make_env, set_level), whole.names, processes)
    level_format = VectorFormat(whole)
    sets = {
        key: level_format.taken(one if isinstance(one, LevelTable) else read_table(one), key)
        for key, one in (("train", table), ("test", held_out))
        if one is not None
    }

    def is_solved(returned: Float[Array, "*batch"]) -> Bool[Array, "*batch"]:
        return is_positive(returned) if solved is None else returned >= solved

    def measure(levels: Mapping[str, np.ndarray]) -> dict[str, Float[np.ndarray, " level"]]:
        return {one: np.asarray(levels[one], np.float64) for one in whole.names}

    def default_levels() -> dict[str, LevelSet]:
        return dict(sets)

    return Task(
        name=title,
        environment=environment,
        level_format=level_format,
        new_agent=HostedAgent(environment),
        budgets=budgets or HOSTED_BUDGETS,
        max_return=max_return,
        return_meaning=return_meaning,
        is_solved=is_solved,
        features={one.name: Feature(one.label) for one in whole.parameters},
        measure=measure,
        histogram=lambda levels, weights: pair_histograms(whole, levels, weights),
        generators={**vector_generators(whole), "vae": vector_vae(whole, level_format.load)},
        pictures=HostedPictures(environment) if environment.recipe.can_draw else None,
        default_levels=default_levels if "train" in sets else None,
        headline="return" if solved is None else "solved_rate",
    )


def box_of(
    title: str,
    table: LevelTable | None,
    box: Mapping[str, Range] | None,
    labels: Mapping[str, str],
) -> tuple[Parameter, ...]:
    """Return the numbers of levels and their ranges: as given, or a little wider than the table."""
    if box is None and table is None:
        raise ConfigError(
            f"The task {title} needs to know the numbers of its levels: give levels=, a table, or "
            "box=, a range for each: {'gravity': (5, 15)}."
        )
    ranges = dict(box) if box is not None else ranges_of(title, table)
    for one, (low, high) in ranges.items():
        if not low < high:
            raise ConfigError(f"box[{one!r}] (={low:g}, {high:g}) must be a low and a high number.")
    return tuple(
        Parameter(one, float(low), float(high), labels.get(one, one))
        for one, (low, high) in ranges.items()
    )


def ranges_of(title: str, table: LevelTable | None) -> dict[str, Range]:
    """Return the range of each column of a table, a little wider."""
    ranges: dict[str, Range] = {}
    for one, column in ({} if table is None else table.columns).items():
        low, high = float(np.min(column)), float(np.max(column))
        if low == high:
            raise ConfigError(
                f"All levels of {title} have the same {one} (={low:g}). Say with box= how far it "
                "may go, or name in it those columns only that differ."
            )
        more = MARGIN * (high - low)
        ranges[one] = (low - more if low < 0 or low > more else low, high + more)
    return ranges
