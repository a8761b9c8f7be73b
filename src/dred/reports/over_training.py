"""How methods did on each suite over training, from evaluations of the policies that runs kept."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.evaluation.suites import over_training_in
from dred.reports.checks import check_suite
from dred.reports.curves import mean_over_seeds
from dred.reports.kit.chart import Curve
from dred.reports.kit.table import Cell, Table, Value, number
from dred.reports.material import Material, Training, suite_place
from dred.reports.scores import Scores, read_folder
from dred.runs import Run

Evaluated = Mapping[tuple[str, int], Scores]  # of one run, by suite and update
Pick = Callable[[Scores], Float[np.ndarray, "run level"]]


class OverTraining(NamedTuple):
    """What each method solved and got on one suite, over training."""

    suite: str
    num_levels: int
    solved: Mapping[str, Curve]  # by method
    returned: Mapping[str, Curve]


def over_training_of(material: Material) -> tuple[list[OverTraining], list[str]]:
    """Return the curves of every suite that was evaluated over training, and what is missing."""
    found = {run.path: read_over_training(run) for run in material.runs}
    sizes = check_same_levels(material.runs, found)
    curves: list[OverTraining] = []
    notes: list[str] = []
    for suite in sorted(sizes, key=suite_place):
        solved = curves_of(material, found, suite, lambda scores: scores.solved)
        returned = curves_of(material, found, suite, lambda scores: scores.returned)
        missing = [method.name for method in material.methods if method.name not in solved]
        if missing:
            notes.append(
                f"{suite} was not evaluated over training, at the same updates, for all seeds of "
                f"{', '.join(missing)}. `dred evaluate RUN --over-training` does so."
            )
        if solved:
            curves.append(OverTraining(suite, sizes[suite], solved, returned))
    return curves, notes


def read_over_training(run: Run) -> dict[tuple[str, int], Scores]:
    """Read what `dred evaluate --over-training` found; nothing if it was not done."""
    return {
        (suite, int(folder.name)): scores
        for folder in sorted(over_training_in(run).glob("[0-9]*"))
        for suite, scores in read_folder(folder, run.seeds).items()
    }


def check_same_levels(runs: Sequence[Run], found: Mapping[Path, Evaluated]) -> dict[str, int]:
    """Stop if a suite was not the same levels, played alike, everywhere; the sizes of suites."""
    first: dict[str, tuple[Run, Scores]] = {}
    for run in runs:
        for (suite, _), scores in found[run.path].items():
            earlier, ours = first.setdefault(suite, (run, scores))
            check_suite(suite, earlier, ours, run, scores)
    return {suite: scores.solved.shape[1] for suite, (_, scores) in first.items()}


def curves_of(
    material: Material, found: Mapping[Path, Evaluated], suite: str, pick: Pick
) -> dict[str, Curve]:
    """Return the mean over levels and seeds, at updates that all seeds of a method have."""

    def values(training: Training) -> dict[int, float]:
        place = training.run.seeds.index(training.seed)
        return {
            update: float(pick(scores)[place].mean())
            for (name, update), scores in found[training.run.path].items()
            if name == suite
        }

    means = {m.name: mean_over_seeds([*map(values, m.trainings)]) for m in material.methods}
    return {name: one for name, one in means.items() if one is not None}


def over_training_table(material: Material, curves: Sequence[OverTraining]) -> Table:
    """Return the numbers behind the curves."""
    seeds = {method.name: len(method.trainings) for method in material.methods}
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for one in curves:
        for method, solved in one.solved.items():
            returned = one.returned[method]
            for place, update in enumerate(solved.updates.tolist()):
                known = (*at(solved, place), *at(returned, place))
                rows.append(
                    (
                        Cell(one.suite),
                        Cell(method),
                        Cell(f"{update:,}"),
                        Cell(str(seeds[method])),
                        *(Cell(number(value, percent=k < 2)) for k, value in enumerate(known)),
                    )
                )
                data.append((one.suite, method, update, seeds[method], *known))
    columns = ("solved_rate", "solved_rate_error", "mean_return", "mean_return_error")
    return Table(
        "over-training",
        "Suites over training",
        ("Suite", "Method", "Updates", "Seeds", "Solved", "± error", "Return", "± error"),
        tuple(rows),
        ("suite", "method", "update", "seeds", *columns),
        tuple(data),
        "Means over seeds; errors are standard errors over seeds.",
    )


def at(curve: Curve, place: int) -> tuple[float, float]:
    """Return the mean and its standard error at one point; NaN for the error of one seed."""
    error = float("nan") if curve.error is None else float(curve.error[place])
    return float(curve.mean[place]), error
