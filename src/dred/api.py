"""Training, evaluating and reporting from Python, as the commands do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dred.assemble import assemble
from dred.config import MethodConfig
from dred.errors import lookup
from dred.evaluation.suites import EvaluationConfig, Results, evaluate_run
from dred.plugins import load_plugins
from dred.registry import find_method, find_task
from dred.run_folder import RunFolder
from dred.runs import Run, open_run
from dred.settings import varied
from dred.task import LevelSet, Task
from dred.training.begin import Inputs, begin_run, spread_out, train_run
from dred.training.saved import newest_update, policies_of

DEFAULT_TASK = "gridworld"


def train(
    method: str | Path | MethodConfig,
    *,
    levels: str | Path | LevelSet,
    out: str | Path,
    task: str | ModuleType = DEFAULT_TASK,
    held_out: str | Path | LevelSet | None = None,
    generator: str | Path | None = None,
    preset: str = "laptop",
    config: str | Path | None = None,
    updates: int | None = None,
    set: Mapping[str, object] | None = None,
    seeds: Sequence[int] = (0,),
    devices: int | None = None,
    plugins: Sequence[str | Path] = (),
) -> Run:
    """Train an agent, and return the run; a run that is there already goes on.

    `method` is a name, a TOML file or a record; `config` a TOML file with settings, which `set`
    changes one by one.
    """
    load_plugins(plugins)
    name = task if isinstance(task, str) else task.__name__.rpartition(".")[2]
    found = find_task(name)
    if (Path(out) / "run.json").exists():
        return _carried_on(open_run(out))
    record = method if isinstance(method, MethodConfig) else find_method(method)
    made = assemble(
        record,
        found,
        preset,
        file=None if config is None else Path(config),
        changes={} if updates is None else {"num_updates": updates},
    )
    made = replace(made, config=varied(made.config, set or {}, where="set"))
    chosen = made.config.devices if devices is None else devices
    run = begin_run(
        Path(out),
        spread_out(made.config, chosen),
        Inputs(levels, held_out, None if generator is None else Path(generator)),
        task=found,
        task_name=name,
        seeds=seeds,
        command=["dred.train"],
        preset=preset,
        changes=made.changes,
    )
    return _carried_on(run)


def _carried_on(run: RunFolder) -> Run:
    train_run(run)
    return open_run(run.path)


@dataclass(frozen=True)
class Evaluated:
    """How a run's agents did on some suites: a table to index, print and take further."""

    results: Mapping[str, Results]

    def __getitem__(self, suite: str) -> Results:
        return self.results[suite]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __str__(self) -> str:
        return "\n".join(
            f"{name}: {np.mean(found.solved):.1%} solved, mean return {np.mean(found.returned):.3f}"
            for name, found in self.results.items()
        )

    def to_pandas(self) -> Any:  # noqa: ANN401  (a DataFrame; pandas need not be installed)
        """Return all episodes as a pandas frame."""
        import pandas  # pyright: ignore[reportMissingImports]

        columns = ("seed", "suite", "level", "episode", "solved", "return", "steps")
        rows = [line.split(",") for found in self.results.values() for line in found.lines]
        frame = pandas.DataFrame(rows, columns=columns)
        whole = {"seed": int, "level": int, "episode": int, "solved": int, "steps": int}
        return frame.astype({**whole, "return": float})


def evaluate(
    run: Run | str | Path,
    suites: Mapping[str, str | Path | LevelSet] | str = "paper",
    *,
    episodes: int = 1,
    greedy: bool = False,
    seed: int = 0,
) -> Evaluated:
    """Play every level of some sets with a run's agents; what is there already is not done again.

    `suites` are sets of levels by name, or the name of a suite of the task.
    """
    run = run if isinstance(run, Run) else open_run(run)
    agents, update = policies_of(run), newest_update(run)
    sets = _sets_of(suites, run, run.task)
    return Evaluated(
        {
            name: evaluate_run(
                run,
                agents,
                levels,
                name,
                EvaluationConfig(levels.digest, update, episodes, seed, greedy),
            )
            for name, levels in sets.items()
        }
    )


def _sets_of(
    suites: Mapping[str, str | Path | LevelSet] | str, run: Run, task: Task
) -> Mapping[str, LevelSet]:
    if isinstance(suites, str):
        return lookup(task.suites, suites, what="suite").make(run.levels("train"))
    return {
        name: task.level_format.load(given) if isinstance(given, str | Path) else given
        for name, given in suites.items()
    }


def report(
    runs: Sequence[Run | str | Path], out: str | Path, *, seed: int = 0, title: str = ""
) -> Path:
    """Write a report about some runs, and return its page."""
    from dred.reports.write import make_report

    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    return make_report(paths, Path(out), seed=seed, title=title)
