"""From run folders to what the analysis works with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dred.errors import ConfigError
from dred.reports.hyperparameters import Setup
from dred.reports.scores import read_evaluation
from dred.run_folder import RunFolder
from dred.runs import open_run
from dred.tasks.procgen.curves import Curves
from dred.tasks.procgen.outcomes import Outcome, RunName, order_of
from dred.tasks.procgen.report import write_report

LAST_PART = 15  # the value loss is averaged over a fifteenth of training: the paper's 100 updates


def report_runs(paths: Sequence[Path], out: Path, *, seed: int = 0) -> Path:
    """Write the report of some runs, and return its page."""
    runs = [open_run(path) for path in paths]
    write_report(outcomes_of(runs), out, curves=curves_of(runs), setups=setups_of(runs), seed=seed)
    return out / "report.html"


def outcomes_of(runs: Sequence[RunFolder]) -> list[Outcome]:
    """Return what each run came to."""
    if len({difficulty_of(run) for run in runs}) > 1:
        raise ConfigError(
            "Some of these runs are of easy games and some of hard ones, whose scores cannot be "
            "compared. Report them apart."
        )
    return [outcome_of(run) for run in runs]


def outcome_of(run: RunFolder) -> Outcome:
    """Return what a run came to: what it measured at its end, and evaluations of that agent."""
    rows = run.metrics()
    if run.record.status != "finished" or not rows:
        raise ConfigError(
            f"{run.path} is not finished. Continue it with `dred resume {run.path}` first."
        )
    last = rows[-1]
    scores = {name: last.get(f"return/{name}", math.nan) for name in ("train", "test")}
    scores |= evaluated(run, int(last["update"]))
    losses = [row["value_loss"] for row in rows[-max(1, len(rows) // LAST_PART) :]]
    return Outcome(
        *name_of(run),
        train=scores["train"],
        test=scores["test"],
        information=last.get("mutual_information", math.nan),
        accuracy=last.get("probe_accuracy", math.nan),
        shift_gap=last.get("shift_gap", math.nan),
        effective_levels=last.get("effective_levels_averaged", math.nan),
        value_loss=float(np.mean(losses)),
        untrained_train=last.get("untrained/return/train", math.nan),
        untrained_test=last.get("untrained/return/test", math.nan),
        untrained_information=last.get("untrained/mutual_information", math.nan),
        untrained_accuracy=last.get("untrained/probe_accuracy", math.nan),
    )


def evaluated(run: RunFolder, update: int) -> Mapping[str, float]:
    """Return mean returns by `dred evaluate`, of the agent after this update."""
    if not list((run.path / "evaluation").glob("*.csv")):
        return {}
    return {
        name: float(scores.returned.mean())
        for name, scores in read_evaluation(run).items()
        if name in ("train", "test") and scores.task.get("update") == update
    }


def curves_of(runs: Sequence[RunFolder]) -> Curves:
    """Return the metrics of each run."""
    return {name_of(run): run.metrics() for run in runs}


def setups_of(runs: Sequence[RunFolder]) -> list[Setup]:
    """Return what each strategy was run with, in the usual order; numbered if in several ways.

    Games do not count: one way of running is the same in all of them.
    """
    ways: dict[str, list[Setup]] = {}
    for run in sorted(runs, key=lambda run: order_of(run.config.method.name)):
        name, size = run.config.method.name, name_of(run).num_levels
        one = Setup(
            name, run.config.method, run.config.ppo, size, normalises=run.config.ppo.scale_rewards
        )
        if one not in ways.setdefault(name, []):
            ways[name].append(one)
    return [
        replace(one, name=f"{name} ({place + 1})") if len(some) > 1 else one
        for name, some in ways.items()
        for place, one in enumerate(some)
    ]


def name_of(run: RunFolder) -> RunName:
    """Return which run it is."""
    game = run.record.task.split("/")[1]
    return RunName(game, run.config.method.name, len(run.levels("train")), run.seeds[0])


def difficulty_of(run: RunFolder) -> str:
    """Return how hard the levels are: the last part of the task's name."""
    return [*run.record.task.split("/"), "easy"][2]
