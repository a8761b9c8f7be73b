"""What a report is made of: runs grouped by method, with what they measured and how they did."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dred.config import TrainConfig
from dred.errors import ConfigError, DatasetError
from dred.reports.scores import Scores, read_evaluation, read_task
from dred.runs import Run, open_run
from dred.task import LevelSet, Task

# The order of the paper's tables; methods that are not in it come after these.
ORDER = (
    "vae-dred",
    "resample-dred",
    "el-dred",
    "plr",
    "uniform",
    "dr",
    "accel-d",
    "accel",
    "rplr",
)
SUITE_ORDER = ("train", "test", "edge", "edge-moss", "edge-lava", "hardcore")


class Training(NamedTuple):
    """One agent: a seed of a run."""

    run: Run
    seed: int
    metrics: tuple[Mapping[str, Any], ...]  # the lines of its seed, by update


@dataclass(frozen=True)
class Method:
    """All agents that were trained with one method."""

    name: str
    trainings: tuple[Training, ...]
    scores: Mapping[str, Scores]  # by suite; a row for each training

    @property
    def runs(self) -> tuple[Run, ...]:
        """The run folders, each once."""
        return tuple({training.run.path: training.run for training in self.trainings}.values())

    @property
    def config(self) -> TrainConfig:
        """The settings, which are those of all its runs."""
        return self.trainings[0].run.config


@dataclass(frozen=True)
class Suite:
    """A set of levels that all agents were evaluated on."""

    name: str
    count: int
    levels: LevelSet | None = None  # None if its file is not known or not there
    optimal: Float[np.ndarray, " level"] | None = None  # the highest possible return of each level
    task: Task | None = None


@dataclass(frozen=True)
class Material:
    """Everything that is known of some runs."""

    methods: tuple[Method, ...]
    suites: tuple[Suite, ...]
    dataset: LevelSet | None  # the training levels, if their file is there
    notes: tuple[str, ...]  # what readers should know

    @property
    def task(self) -> Task:
        """What kind of problem they are about."""
        return self.runs[0].task

    @property
    def runs(self) -> tuple[Run, ...]:
        """All run folders."""
        return tuple(run for method in self.methods for run in method.runs)


def gather(paths: Sequence[Path]) -> Material:
    """Read runs and check that they can be compared."""
    if not paths:
        raise ConfigError(
            "A report needs at least one run. Give the folders that were the --out of `dred train`."
        )
    runs = [open_run(path) for path in paths]
    check_given_once(runs)
    check_digests(runs)
    scores = {run.path: read_evaluation(run) for run in runs}
    check_suites(runs, scores)
    methods = group(runs, scores)
    suites, missing = find_suites(runs, next(iter(scores.values())))
    dataset, _ = find_levels(runs, "train")
    return Material(methods, suites, dataset, (*describe(methods), *missing))


def check_given_once(runs: Sequence[Run]) -> None:
    """Stop at a folder that was given twice."""
    places = [run.path.resolve() for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise ConfigError(
                f"{run.path} was given twice. Its agents would count double; give each run once."
            )


def check_digests(runs: Sequence[Run]) -> None:
    """Stop if the same name stands for different levels in two runs."""
    first: dict[str, tuple[Run, str]] = {}
    for run in runs:
        for name, facts in run.record.levels.items():
            earlier, digest = first.setdefault(name, (run, facts.digest))
            if facts.digest != digest:
                raise DatasetError(
                    f"The levels called {name!r} are not the same in all runs: their digest is "
                    f"{digest[:12]}… in {earlier.path} and {facts.digest[:12]}… in {run.path}. "
                    "Agents can be compared only if their levels were the same. Report such runs "
                    "separately, or train and evaluate them again with one set of files."
                )


def check_suites(runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> None:
    """Stop unless all runs were evaluated on the same suites, in the same way."""
    first = scores[runs[0].path]
    for run in runs[1:]:
        mine = scores[run.path]
        if mine.keys() != first.keys():
            raise ConfigError(
                f"The runs were evaluated on mixed suites: {runs[0].path} on {listed(first)}, but "
                f"{run.path} on {listed(mine)}. All need the same ones. Evaluate "
                f"{' and '.join(missing_where(runs[0], first, run, mine))} with `dred evaluate "
                "RUN --suite FILE.npz`, or remove what is too much from their folder evaluation/."
            )
        for name in first:
            check_suite(name, runs[0], first[name], run, mine[name])


def check_suite(name: str, one: Run, ours: Scores, other: Run, theirs: Scores) -> None:
    """Stop if a suite is not the same levels, or was played differently, in two runs."""
    counts = ours.returned.shape[1], theirs.returned.shape[1]
    digests = ours.task.get("digest"), theirs.task.get("digest")
    if counts[0] != counts[1] or (None not in digests and digests[0] != digests[1]):
        how = (
            f"has {counts[0]} levels in {one.path} and {counts[1]} in {other.path}"
            if counts[0] != counts[1]
            else f"has the digest {str(digests[0])[:12]}… in {one.path} and "
            f"{str(digests[1])[:12]}… in {other.path}"
        )
        raise DatasetError(
            f"The suite {name!r} {how}, so these are different levels under the same name. "
            "Evaluate both runs again on one file."
        )
    greedy = ours.task.get("greedy", False), theirs.task.get("greedy", False)
    if greedy[0] != greedy[1]:
        raise ConfigError(
            f"The suite {name!r} was played with --greedy in one of {one.path} and {other.path} "
            "and without in the other, so their results cannot be compared. Evaluate both in the "
            "same way."
        )


def missing_where(
    run: Run, has: Mapping[str, Scores], other: Run, other_has: Mapping[str, Scores]
) -> list[str]:
    """Which run lacks which suites."""
    gaps = ((run, other_has.keys() - has.keys()), (other, has.keys() - other_has.keys()))
    return [f"{one.path} on {listed(names)}" for one, names in gaps if names]


def listed(names: Iterable[str]) -> str:
    """Names in a sentence."""
    return ", ".join(sorted(names))


def group(runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> tuple[Method, ...]:
    """The runs of each method together, methods in the order of the paper's tables."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.config.method.name, []).append(run)
    names = sorted(by_name, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    return tuple(join(name, by_name[name], scores) for name in names)


def join(name: str, runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> Method:
    """One method from its runs, which must differ in nothing but their seeds."""
    check_seeds(name, runs)
    check_settings(name, runs)
    trainings = [training for run in runs for training in trainings_of(run)]
    together = {
        suite: Scores(
            np.concatenate([scores[run.path][suite].returned for run in runs]),
            np.concatenate([scores[run.path][suite].solved for run in runs]),
            scores[runs[0].path][suite].task,
        )
        for suite in sorted(scores[runs[0].path], key=suite_place)
    }
    return Method(name, tuple(trainings), together)


def trainings_of(run: Run) -> list[Training]:
    """Each seed of a run with its own metrics."""
    rows = run.metrics()
    return [
        Training(run, seed, tuple(row for row in rows if row.get("seed", seed) == seed))
        for seed in run.seeds
    ]


def check_seeds(name: str, runs: Sequence[Run]) -> None:
    """Stop if two runs of a method used the same seed: they are one training, counted twice."""
    owner: dict[int, Run] = {}
    for run in runs:
        for seed in run.seeds:
            if owner.setdefault(seed, run) is not run:
                raise ConfigError(
                    f"{owner[seed].path} and {run.path} are both {name} with seed {seed}. The same "
                    "seed gives the same training, so it would count twice and intervals would be "
                    "too narrow. Leave one out, or train with another --seed."
                )


def check_settings(name: str, runs: Sequence[Run]) -> None:
    """Stop if runs that would be one method differ in how they were trained."""
    first = runs[0].config
    for run in runs[1:]:
        mine = run.config
        for what in ("num_updates", "method", "agent", "ppo"):
            if getattr(mine, what) != getattr(first, what):
                change = first_difference(getattr(first, what), getattr(mine, what), what)
                raise ConfigError(
                    f"{runs[0].path} and {run.path} are both {name}, but with different settings: "
                    f"{change}. A mean over both would describe neither. Make a report for each, "
                    "or give one of them another method name in its settings."
                )


def first_difference(one: object, other: object, name: str) -> str:
    """The first setting in which two records differ."""
    for field in getattr(one, "__dataclass_fields__", {}):
        ours, theirs = getattr(one, field), getattr(other, field)
        if ours != theirs:
            return first_difference(ours, theirs, f"{name}.{field}")
    return f"{name} is {one} in the first and {other} in the second"


def suite_place(name: str) -> tuple[int, str]:
    """Where a suite stands among others: in the order of the paper, then by name."""
    known = SUITE_ORDER.index(name) if name in SUITE_ORDER else len(SUITE_ORDER)
    return known, name


def find_suites(
    runs: Sequence[Run], scores: Mapping[str, Scores]
) -> tuple[tuple[Suite, ...], list[str]]:
    """The suites with their levels, and what to say of those whose levels are not there."""
    suites: list[Suite] = []
    notes: list[str] = []
    for name in sorted(scores, key=suite_place):
        count = scores[name].returned.shape[1]
        levels, why = find_levels(runs, name)
        if levels is not None and len(levels) != count:
            levels, why = None, f"the file holds {len(levels)} levels, and {count} were played"
        if levels is None:
            notes.append(
                f"The levels of the suite {name} are not known ({why}), so it is reported without "
                "pictures and without the optimality gap."
            )
            suites.append(Suite(name, count))
        else:
            task = runs[0].task
            suites.append(Suite(name, count, levels, optimal_of(levels, task), task))
    return tuple(suites), notes


def find_levels(runs: Sequence[Run], name: str) -> tuple[LevelSet | None, str]:
    """The levels of this name that runs were evaluated on or given, or why there are none."""
    why = "no run says where they are"
    for path, digest in dict.fromkeys(
        place
        for places in (beside_results, given_to_train)
        for run in runs
        for place in places(run, name)
    ):
        try:
            levels = runs[0].task.level_format.load(path)
        except DatasetError:
            why = f"{path} is gone or damaged"
            continue
        if levels.digest == digest:
            return levels, ""
        why = f"{path} was changed since"
    return None, why


def beside_results(run: Run, name: str) -> list[tuple[Path, str]]:
    """The file of levels that an evaluation left, with the digest that it should have."""
    path = run.path / "evaluation" / f"{name}.npz"
    digest = read_task(path.with_suffix(".json")).get("digest")
    return [(path, digest)] if digest and path.exists() else []


def given_to_train(run: Run, name: str) -> list[tuple[Path, str]]:
    """Files of this name, or listed under it, in `run.json`."""
    listed = run.record.levels
    return [
        (Path(facts.path), facts.digest)
        for key, facts in listed.items()
        if name in (Path(facts.path).stem, key)
    ]


def optimal_of(levels: LevelSet, task: Task) -> Float[np.ndarray, " level"] | None:
    """The highest return that each level allows, if the task can tell."""
    import jax

    if task.optimal_returns is None:
        return None
    world = task.environment.prepare(levels.levels)
    best = jax.jit(task.optimal_of)(levels.levels, world)
    return np.asarray(best, np.float64)


def updates_done(trainings: Iterable[Training]) -> int:
    """Updates that the metrics of all these agents speak of."""
    return min(
        max((int(row["update"]) for row in training.metrics), default=0) for training in trainings
    )


def describe(methods: Sequence[Method]) -> list[str]:
    """What readers should know before they compare."""
    notes: list[str] = []
    alone = [method.name for method in methods if len(method.trainings) == 1]
    if alone:
        notes.append(
            f"There is only one seed of {', '.join(alone)}. One seed says nothing about others, so "
            "there are no intervals and no tests for it."
        )
    for method in methods:
        notes += progress_notes(method)
    budgets = {method.name: method.config.num_updates for method in methods}
    if len(set(budgets.values())) > 1:
        shown = ", ".join(f"{name} {updates}" for name, updates in budgets.items())
        notes.append(f"Methods were trained for different numbers of updates: {shown}.")
    return notes


def progress_notes(method: Method) -> list[str]:
    """Which runs of a method are not finished, and which suites show older agents."""
    wanted, everywhere = method.config.num_updates, updates_done(method.trainings)
    notes: list[str] = []
    for run in method.runs:
        done = updates_done(one for one in method.trainings if one.run == run)
        if done < wanted:
            notes.append(
                f"{run.path.name} ({method.name}) is not finished: {done} of {wanted} updates are "
                "done."
            )
    for suite, scores in method.scores.items():
        then = int(scores.task.get("update", everywhere))
        if then < everywhere:
            notes.append(
                f"{method.name} was evaluated on {suite} after {then} updates, but {everywhere} "
                "are done. Evaluate again to see the newest agents."
            )
    return notes
