"""Run folders read, checked and grouped by method."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dred.errors import ConfigError, DatasetError
from dred.evaluation.results import told_in
from dred.reports.checks import check_digests, check_given_once, check_seeds, check_suites
from dred.reports.material import ORDER, Material, Method, Suite, Training, suite_place
from dred.reports.notes import describe
from dred.reports.parts import with_parts
from dred.reports.scores import Scores, read_evaluation
from dred.reports.variants import variant_notes, variants_of
from dred.runs import Run, open_run
from dred.task import LevelSet, Task


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
    notes = (*variant_notes(by_method(runs).items()), *describe(methods), *missing)
    return Material(*with_parts(methods, suites), dataset, notes)


def group(runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> tuple[Method, ...]:
    """Return the runs of each method together, methods in the order of the paper's tables."""
    return tuple(
        join(name, mine, scores)
        for method, several in by_method(runs).items()
        for name, mine in variants_of(method, several).items()
    )


def by_method(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return runs by the names of their methods."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.config.method.name, []).append(run)
    return dict(
        sorted(
            found.items(), key=lambda one: ORDER.index(one[0]) if one[0] in ORDER else len(ORDER)
        )
    )


def join(name: str, runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> Method:
    """Return one method from its runs, which differ in nothing that decides but their seeds."""
    check_seeds(name, runs)
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
    """Return each seed of a run with its own metrics."""
    rows = run.metrics()
    return [
        Training(run, seed, tuple(row for row in rows if row.get("seed", seed) == seed))
        for seed in run.seeds
    ]


def find_suites(
    runs: Sequence[Run], scores: Mapping[str, Scores]
) -> tuple[tuple[Suite, ...], list[str]]:
    """Return the suites with their levels, and what to say of those whose levels are not there."""
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
    """Return the files of levels that evaluations left, with the digests that they should have."""
    files = sorted((run.path / "evaluation").glob("*.npz"))
    told = {path: told_in(path.with_suffix(".json")) for path in files}
    return [
        (path, facts["digest"])
        for path, facts in told.items()
        if "digest" in facts and facts.get("suite", path.stem) == name
    ]


def given_to_train(run: Run, name: str) -> list[tuple[Path, str]]:
    """Files of this name, or listed under it, in `run.json`."""
    listed = run.record.levels
    return [
        (run.place_of(facts), facts.digest)
        for key, facts in listed.items()
        if name in (Path(facts.path).stem, key)
    ]


def optimal_of(levels: LevelSet, task: Task) -> Float[np.ndarray, " level"] | None:
    """Return the highest return that each level allows, if the task can tell."""
    import jax

    if task.optimal_returns is None:
        return None
    world = task.environment.prepare(levels.levels)
    best = jax.jit(task.optimal_of)(levels.levels, world)
    return np.asarray(best, np.float64)


def own_report(paths: Sequence[Path]) -> Callable[..., Path] | None:
    """Return how the task of these runs writes a report of its own, if it does."""
    return open_run(paths[0]).task.write_report if paths else None
