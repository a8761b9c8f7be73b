"""Fitting, training, evaluating and reporting from Python, as the commands do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dred import progress
from dred.assemble import assemble, changes_between
from dred.compute import keep_compiled_programs
from dred.config import MethodConfig, TrainConfig
from dred.errors import ConfigError, lookup
from dred.evaluation.results import EvaluationConfig
from dred.evaluation.suites import HEADER, Results, evaluate_run
from dred.plugins import load_plugins
from dred.registry import find_method, find_task
from dred.rows import Rows
from dred.runs import Run, open_run
from dred.settings import varied
from dred.task import FitRequest, Generator, LevelSet, Task
from dred.training.begin import Inputs, begin_run, spread_out
from dred.training.saved import newest_update, policies_of
from dred.training.shown import train_shown

DEFAULT_TASK = "gridworld"


def fit(
    levels: str | Path | LevelSet,
    *,
    out: str | Path,
    model: str = "vae",
    task: str | ModuleType = DEFAULT_TASK,
    preset: str = "default",
    set: Mapping[str, object] | None = None,
    seed: int = 0,
) -> Any:  # noqa: ANN401  (what the generator makes of it)
    """Fit a generator to levels, and return it; one that is there already is not fitted again.

    `set` changes settings of the preset one by one: `set={"epochs": 20}`.
    """
    found = find_task(_name_of(task))
    learns = {name: one for name, one in found.generators.items() if one.fit is not None}
    generator: Generator = lookup(learns, model, what=f"generator of {found.name} that learns")
    assert generator.fit is not None
    given = found.level_format.load(levels) if isinstance(levels, str | Path) else levels
    return generator.fit(given, Path(out), FitRequest(preset, set or {}, seed))


def train(
    method: str | Path | MethodConfig,
    *,
    levels: str | Path | LevelSet | None = None,
    out: str | Path,
    task: str | ModuleType = DEFAULT_TASK,
    held_out: str | Path | LevelSet | None = None,
    generator: Any = None,  # noqa: ANN401  (what `fit` returned, or the folder of a fitted generator)
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
    changes one by one. `levels` may be left out for tasks that have levels of their own.
    """
    load_plugins(plugins)
    name = _name_of(task)
    found = find_task(name)
    record = method if isinstance(method, MethodConfig) else find_method(method)
    made = assemble(
        record,
        found,
        preset,
        file=None if config is None else Path(config),
        changes={} if updates is None else {"num_updates": updates},
    )
    made = replace(made, config=varied(made.config, set or {}, where="set"))
    if (Path(out) / "run.json").exists():
        run = open_run(out)
        check_same(run, made.config, seeds)
    else:
        chosen = made.config.devices if devices is None else devices
        begin_run(
            Path(out),
            spread_out(made.config, chosen),
            Inputs(levels, held_out, _folder_of(generator)),
            task=found,
            task_name=name,
            seeds=seeds,
            command=["dred.train"],
            preset=preset,
            changes=made.changes,
        )
        run = open_run(out)
    train_shown(run)
    return open_run(run.path)


def check_same(run: Run, config: TrainConfig, seeds: Sequence[int]) -> None:
    """Stop unless a run that is there was begun with these settings and seeds."""
    changes = changes_between(replace(run.config, devices=config.devices), config)
    told = [f"{name} {old!r}, not {new!r}" for name, (old, new) in changes.items()]
    if run.config.method.name != config.method.name:
        told.insert(0, f"the method {run.config.method.name!r}, not {config.method.name!r}")
    if run.seeds != tuple(seeds):
        told.append(f"seeds {list(run.seeds)}, not {list(seeds)}")
    if told:
        raise ConfigError(
            f"{run.path} exists already, with other settings: {', '.join(told)}. Choose another "
            "`out`, or open it with dred.runs.open."
        )


def _name_of(task: str | ModuleType) -> str:
    return task if isinstance(task, str) else task.__name__.rpartition(".")[2]


def _folder_of(generator: Any) -> Path | None:  # noqa: ANN401
    return None if generator is None else Path(getattr(generator, "path", generator))


@dataclass(frozen=True)
class Evaluated:
    """How a run's agents did on some suites: a table to index, print and take further."""

    results: Mapping[str, Results]

    def __getitem__(self, suite: str) -> Results:
        return lookup(self.results, suite, what="suite")

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def rows(self) -> Rows:
        """Return a row for each suite and seed."""
        return Rows(
            {
                "suite": suite,
                "seed": seed,
                "levels": len(np.unique(found.levels[found.seeds == seed])),
                "solved": float(np.mean(found.solved[found.seeds == seed])),
                "mean return": float(np.mean(found.returned[found.seeds == seed])),
            }
            for suite, found in self.results.items()
            for seed in dict.fromkeys(found.seeds.tolist())
        )

    def __str__(self) -> str:
        return str(self.rows)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.rows.to_html()

    @property
    def episodes(self) -> Rows:
        """Return a row for each episode, as in the run's files."""
        columns = HEADER.split(",")
        kinds = (int, str, int, int, int, float, int)
        return Rows(
            {
                name: kind(value)
                for name, kind, value in zip(columns, kinds, line.split(","), strict=True)
            }
            for found in self.results.values()
            for line in found.lines
        )

    def to_pandas(self) -> Any:  # noqa: ANN401  (a DataFrame; pandas need not be installed)
        """Return all episodes as a pandas frame."""
        return self.episodes.to_pandas()


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
    keep_compiled_programs()
    agents, update = policies_of(run), newest_update(run)
    sets = _sets_of(suites, run, run.task)
    total = sum(map(len, sets.values())) * len(run.seeds) * episodes
    found: dict[str, Results] = {}
    with progress.bar("evaluating", total, unit="levels") as advance:
        for name, levels in sets.items():
            config = EvaluationConfig(levels.digest, update, episodes, seed, greedy)
            found[name] = evaluate_run(run, agents, levels, name, config, advance=advance)
    return Evaluated(found)


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


def compare_generators(
    generators: Sequence[Any],
    *,
    levels: str | Path | LevelSet,
    held_out: str | Path | LevelSet | None = None,
    out: str | Path | None = None,
    count: int = 1024,
    seed: int = 0,
    timed: bool = True,
) -> Any:  # noqa: ANN401  (the gridworld's Comparison)
    """Compare fitted generators of the gridworld's, and write a page about it if told where.

    `generators` are what `fit` returned, or folders. The `lines` of what is returned have all
    numbers.
    """
    from dred.tasks.gridworld.leaderboard.compare import compare_generators as compare
    from dred.tasks.gridworld.leaderboard.page import check_out, write_leaderboard

    if out is not None:
        check_out(Path(out))
    folders = [_folder_of(one) or Path() for one in generators]
    found = compare(folders, levels=levels, held_out=held_out, count=count, seed=seed, timed=timed)
    if out is not None:
        write_leaderboard(found, Path(out))
    return found
