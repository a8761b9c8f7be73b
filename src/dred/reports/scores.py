"""Results of evaluations, read from a run's folder.

`evaluation/NAME.csv` has a line for each seed, level and episode. `NAME.json` beside it says of
which levels and checkpoint, and `NAME.npz` has the levels; both may be missing.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dred.errors import ConfigError, DatasetError
from dred.evaluation.results import preference, told_in
from dred.evaluation.suites import HEADER
from dred.run_folder import RunFolder


class Scores(NamedTuple):
    """How agents did in each level of a suite, as means over the episodes there."""

    returned: Float[np.ndarray, "run level"]
    solved: Float[np.ndarray, "run level"]
    task: Mapping[str, Any]  # how they were evaluated, as far as it is known


def read_evaluation(run: RunFolder) -> dict[str, Scores]:
    """Return what `dred evaluate` found, by suite."""
    found = read_folder(run.path / "evaluation", run.seeds)
    if not found:
        raise ConfigError(
            f"{run.path} is a run without evaluation: there are no results in "
            f"{run.path / 'evaluation'}. A report needs to know how its agents did in levels. "
            f"Evaluate it first, for example with `dred evaluate {run.path} --suite test.npz`."
        )
    return found


def read_folder(folder: Path, seeds: Sequence[int]) -> dict[str, Scores]:
    """Return the results in a folder, by suite; of several for one suite the preferable ones."""
    found: dict[str, Scores] = {}
    for path in sorted(folder.glob("*.csv")):
        for suite, scores in read_scores(path, seeds).items():
            other = found.setdefault(suite, scores)
            ours, theirs = preference(scores.task), preference(other.task)
            if ours == theirs and other is not scores:
                raise DatasetError(
                    f"{path} holds results of the suite {suite!r}, as another file beside it does. "
                    "Keep the one that is right and remove the other."
                )
            if ours > theirs:
                found[suite] = scores
    return found


def read_scores(path: Path, seeds: Sequence[int]) -> dict[str, Scores]:
    """The results in one file, by suite: a row for each of these seeds, a column for each level."""
    by_suite: dict[str, list[tuple[float, ...]]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        if next(lines, None) != HEADER.split(","):
            raise DatasetError(
                f"{path} does not begin with the line {HEADER!r}, so it was not written by `dred "
                "evaluate`. Move it elsewhere, or evaluate again."
            )
        for line in lines:
            by_suite.setdefault(line[1] if len(line) > 1 else "", []).append(
                read_line(line, f"{path}, line {lines.line_num}")
            )
    task = told_in(path.with_suffix(".json"))
    return {
        suite: as_matrices(np.array(rows), seeds, task, f"{path}, suite {suite!r}")
        for suite, rows in by_suite.items()
    }


def read_line(line: Sequence[str], where: str) -> tuple[float, ...]:
    """Return the numbers in one line: seed, level, episode, solved, return."""
    try:
        numbers = tuple(float(line[place]) for place in (0, 2, 3, 4, 5))
    except (ValueError, IndexError):
        numbers = (float("nan"),)
    if not np.isfinite(numbers).all():
        raise DatasetError(
            f"{where} is {','.join(line)!r}, which is not a seed, suite, level, episode, solved, "
            "return and steps, all of them numbers but the suite. Evaluate again with `dred "
            "evaluate`."
        )
    return numbers


def as_matrices(
    rows: Float[np.ndarray, "row 5"], seeds: Sequence[int], task: Mapping[str, Any], where: str
) -> Scores:
    """Return means over episodes; stops unless every seed played every level equally often."""
    seed, level, _, _, _ = rows.T
    count = int(level.max()) + 1
    episodes, rest = divmod(len(rows), count * len(seeds))
    expected = np.repeat(np.arange(count), episodes)
    matrices: list[np.ndarray] = []
    for one in seeds:
        mine = rows[seed == one]
        order = np.argsort(mine[:, 1], kind="stable")
        if rest or not np.array_equal(mine[order, 1], expected):
            raise DatasetError(
                f"{where}: not every seed of {list(seeds)} has {max(episodes, 1)} episodes in each "
                f"of {count} levels; seed {one} has {len(mine)} lines. The evaluation was perhaps "
                "interrupted. Run `dred evaluate` again."
            )
        matrices.append(mine[order][:, (4, 3)].reshape(count, episodes, 2).mean(axis=1))
    both = np.stack(matrices)
    return Scores(both[..., 0], both[..., 1], task)
