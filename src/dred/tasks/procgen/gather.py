"""From run folders to what the analysis works with."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dred.config import ProcgenConfig
from dred.errors import ConfigError
from dred.reports.hyperparameters import Setup
from dred.run_folder import RunFolder
from dred.tasks.procgen.curves import Curves
from dred.tasks.procgen.evaluate import scores_in
from dred.tasks.procgen.outcomes import Outcome, RunName, order_of

LAST_PART = 15  # the value loss is averaged over a fifteenth of training: the paper's 100 updates


def outcomes_of(runs: Sequence[RunFolder]) -> list[Outcome]:
    """What each run came to, by its last evaluation."""
    difficulties = {run.settings(ProcgenConfig).difficulty for run in runs}
    if len(difficulties) > 1:
        raise ConfigError(
            "Some of these runs are of easy games and some of hard ones, whose scores cannot be "
            "compared. Report them apart."
        )
    return [outcome_of(run) for run in runs]


def outcome_of(run: RunFolder) -> Outcome:
    """What a run came to, by its last evaluation."""
    name, scores = name_of(run), scores_in(run)
    if scores is None:
        raise ConfigError(
            f"{run.path} was not evaluated yet. Do so with `dred procgen evaluate {run.path}`."
        )
    rows = run.metrics()
    if rows and rows[-1]["update"] != scores.update:
        raise ConfigError(
            f"{run.path} was evaluated at update {scores.update} and is now at update "
            f"{rows[-1]['update']}. Evaluate it again with `dred procgen evaluate {run.path}`."
        )
    losses = [row["value_loss"] for row in rows[-max(1, len(rows) // LAST_PART) :]]
    return Outcome(
        *name,
        train=scores.train,
        test=scores.test,
        information=scores.mutual_information,
        accuracy=scores.probe_accuracy,
        shift_gap=scores.shift_gap,
        effective_levels=scores.effective_levels,
        value_loss=float(np.mean(losses)) if losses else float("nan"),
    )


def curves_of(runs: Sequence[RunFolder]) -> Curves:
    """The metrics of each run."""
    return {name_of(run): run.metrics() for run in runs}


def setups_of(runs: Sequence[RunFolder]) -> list[Setup]:
    """What each strategy was run with, in the usual order; numbered if it was run in several ways.

    Games do not count: one way of running is the same in all of them.
    """
    configs = [run.settings(ProcgenConfig) for run in runs]
    ways: dict[str, list[Setup]] = {}
    for config in sorted(configs, key=lambda config: order_of(config.strategy.name)):
        name = config.strategy.name
        one = Setup(name, config.strategy, config.ppo, config.num_levels, normalises=True)
        if one not in ways.setdefault(name, []):
            ways[name].append(one)
    return [
        replace(one, name=f"{name} ({place + 1})") if len(some) > 1 else one
        for name, some in ways.items()
        for place, one in enumerate(some)
    ]


def name_of(run: RunFolder) -> RunName:
    """Which run it is."""
    config = run.settings(ProcgenConfig)
    return RunName(config.game, config.strategy.name, config.num_levels, run.seeds[0])
