"""Procgen as tasks, one for each game: `procgen/bigfish`, and `procgen/bigfish/hard`."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import PRNGKeyArray

from dred.config import AgentConfig
from dred.errors import ConfigError, DatasetError, lookup
from dred.level_table import LevelTable, TableFormat
from dred.task import LevelSet, Suite, Task
from dred.tasks.procgen.environment import COLUMN, ProcgenEnvironment
from dred.tasks.procgen.network import ENCODERS, ImageAgent, new_image_agent
from dred.tasks.procgen.presets import PROCGEN_BUDGETS, PROCGEN_METHODS
from dred.tasks.procgen.simulator import GAMES, Difficulty
from dred.tasks.procgen.states import LAST_LEVEL

NUM_TRAIN, NUM_TEST = 200, 1000
# [fidelity 83] The paper tests on levels from |L| to ten million; here they are the same for any
# |L| up to a million, so that all runs play in the same ones.
TEST_LEVELS = (1_000_000, 10_000_000)
TEST_SEED = 0
DIFFICULTIES = ("easy", "hard")


class ProcgenFormat(TableFormat):
    """Levels as Procgen's numbers: a file, or a range such as 0-199."""

    def __init__(self) -> None:
        super().__init__(COLUMN)

    def load(self, path: str | Path) -> LevelTable:
        """Read a set of levels, or make that of a range of numbers."""
        found = re.fullmatch(r"(\d+)-(\d+)", str(path))
        if found is None:
            return super().load(path)
        first, last = map(int, found.groups())
        if not first <= last <= LAST_LEVEL:
            raise DatasetError(
                f"{path}: expected FIRST-LAST, the numbers of levels from 0 to {LAST_LEVEL}."
            )
        return level_set(np.arange(first, last + 1))


def level_set(numbers: np.ndarray) -> LevelTable:
    """Return levels by Procgen's numbers."""
    return LevelTable({COLUMN: numbers.astype(np.int32)})


def test_levels() -> LevelTable:
    """Return the levels to test on: nobody trains on them."""
    random = np.random.default_rng(TEST_SEED)
    return level_set(np.sort(random.choice(np.arange(*TEST_LEVELS), NUM_TEST, replace=False)))


def default_levels() -> dict[str, LevelSet]:
    """Return the paper's training levels, 0 to 199, and those to test on."""
    return {"train": level_set(np.arange(NUM_TRAIN)), "test": test_levels()}


def paper_suite(train: LevelSet) -> dict[str, LevelSet]:
    """Return the levels trained on, and those to test on."""
    return {"train": train, "test": test_levels()}


def new_procgen_agent(config: AgentConfig, key: PRNGKeyArray) -> ImageAgent:
    """Return an agent that has learned nothing, without a memory."""
    if config.memory != "none":
        raise ConfigError(
            f"agent.memory (={config.memory}): the agent in Procgen acts on what it sees now. Use "
            'agent.memory = "none".'
        )
    encoder = config.encoder or next(iter(ENCODERS))
    return new_image_agent(encoder, hidden_size=config.hidden_size, key=key)


def describe_size(levels: LevelSet) -> str:
    """Return which levels these are, in words."""
    numbers = cast("dict[str, np.ndarray]", levels.levels)[COLUMN]
    return f"numbers {numbers.min():,} to {numbers.max():,}"


def write_report(paths: Sequence[Path], out: Path, *, seed: int = 0) -> Path:
    """Write the report of the paper's section 3 about some runs, and return its page."""
    from dred.tasks.procgen.gather import report_runs

    return report_runs(paths, out, seed=seed)


@cache
def procgen_task(name: str) -> Task:
    """Return the task of a game, "bigfish", or of its hard levels, "bigfish/hard"."""
    game, _, difficulty = name.partition("/")
    lookup(dict.fromkeys(GAMES, game), game, what="Procgen game")
    mode: Any = lookup({one: one for one in DIFFICULTIES}, difficulty or "easy", what="difficulty")
    return Task(
        name=f"procgen/{name}",
        environment=ProcgenEnvironment(game, cast(Difficulty, mode)),
        level_format=ProcgenFormat(),
        new_agent=new_procgen_agent,
        budgets=PROCGEN_BUDGETS,
        methods=PROCGEN_METHODS,
        describe_size=describe_size,
        suites={"paper": Suite(("train", "test"), paper_suite)},
        default_levels=default_levels,
        headline="return",
        write_report=write_report,
    )
