"""The checklist: all that is tried, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dred.errors import ConfigError, lookup
from dred.task import LevelSet, Task
from dred.task_checks import of_levels, of_play
from dred.task_checks.case import Case, Check, NotThereError

FEW = 6  # levels that are tried
MOST_STEPS = 2000

CHECKS: Mapping[str, Check] = {
    "levels can be laid out": of_levels.laid_out,
    "levels differ": of_levels.different,
    "the format reads what it writes": of_levels.round_trip,
    "the environment keeps its own rules": of_play.own_rules,
    "step fits reset": of_play.steps_fit,
    "observations are finite": of_play.observations,
    "rewards are finite": of_play.rewards,
    "episodes end": of_play.episodes_end,
    "episodes repeat exactly": of_play.deterministic,
    "levels are told apart": of_play.told_apart,
    "actions matter": of_play.actions_matter,
    "returns are within bounds": of_play.returns,
    "solved is said": of_play.solved,
    "an agent fits": of_play.agent,
    "features fit levels": of_levels.features,
    "the histogram is a distribution": of_levels.histogram,
    "generators make such levels": of_levels.generators,
    "levels can be drawn": of_levels.pictures,
    "suites make what they name": of_levels.suites,
}


@dataclass(frozen=True)
class Checked:
    """What came of one check."""

    name: str
    state: Literal["ok", "wrong", "left out"]
    words: tuple[str, ...] = ()
    """What is wrong, or why it was left out."""


@dataclass(frozen=True)
class Checklist:
    """What came of all checks of a task."""

    task: str
    checks: tuple[Checked, ...]

    @property
    def wrong(self) -> tuple[Checked, ...]:
        """Return the checks that found something."""
        return tuple(one for one in self.checks if one.state == "wrong")

    def __str__(self) -> str:
        marks = {"ok": "ok      ", "wrong": "WRONG   ", "left out": "left out"}
        lines = [
            f"{marks[one.state]}  {one.name}{': ' if one.words else ''}{' '.join(one.words)}"
            for one in self.checks
        ]
        count = len(self.wrong)
        end = "nothing is wrong" if not count else f"{count} of {len(lines)} checks found something"
        return "\n".join([*lines, f"{self.task}: {end}"])


def check_task(
    task: Task,
    levels: LevelSet | None = None,
    *,
    steps: int = MOST_STEPS,
    seed: int = 0,
    only: Sequence[str] = (),
) -> Checklist:
    """Return what is missing or wrong in a task, as tried in a few of these levels or its own.

    All of `CHECKS` are done, or only those that are named.
    """
    if levels is None:
        if task.default_levels is None:
            raise ConfigError(
                f"The task {task.name} has no levels of its own (default_levels): give some to "
                "try, with --levels FILE."
            )
        levels = task.default_levels()["train"]
    if steps < 1:
        raise ConfigError(f"steps (={steps}) must be at least 1.")
    spread = np.unique(np.linspace(0, len(levels) - 1, min(FEW, len(levels))).round().astype(int))
    case = Case(task, levels[spread], steps, seed)
    chosen = {name: lookup(CHECKS, name, what="check") for name in only} or CHECKS
    return Checklist(task.name, tuple(tried(name, check, case) for name, check in chosen.items()))


def tried(name: str, check: Check, case: Case) -> Checked:
    """Return what came of a check; whatever it raises is a finding, too."""
    words: list[str] = []
    try:
        words.extend(check(case))
    except NotThereError as reason:
        return Checked(name, "left out", (str(reason),))
    except Exception as error:
        text = str(error).strip().splitlines()
        words.append(f"It raised {type(error).__name__}: {text[0] if text else ''}")
    return Checked(name, "wrong" if words else "ok", tuple(words))
