"""What `dred evaluate --gaps` measures and prints."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dred.runs import Run
    from dred.task import LevelSet
    from dred.training.after import Returns


def tell_gaps(run: "Run", *, seed: int) -> list[str]:
    """Measure the newest agents of a run, write what was found, and return it as lines."""
    from dred.evaluation.measured import as_lines, write_gaps
    from dred.metrics import in_section
    from dred.training.after import measured_of
    from dred.training.saved import newest_update

    update = newest_update(run)
    sets = {name: run.levels(name) for name in ("train", "test") if name in run.record.levels}
    played = played_already(run, sets, update)
    found = measured_of(run, sets["train"], sets.get("test"), played=played, seed=seed)
    path = write_gaps(run, update, found, seed=seed)
    return [
        f"Gaps after {update:,} updates, measured now; ± one standard error over levels:",
        *as_lines(found, in_section("gaps", {})),
        f"{path}: reports take them from there",
    ]


def played_already(run: "Run", sets: "dict[str, LevelSet]", update: int) -> "Returns":
    """Return what the newest agents got in whole sets that they were evaluated on before."""
    from dred.reports.scores import read_evaluation

    there = any((run.path / "evaluation").glob("*.csv"))
    scores = read_evaluation(run) if there else {}
    return {
        name: scores[name].returned
        for name, levels in sets.items()
        if name in scores and is_of(scores[name].task, levels, update)
    }


def is_of(task: Mapping[str, Any], levels: "LevelSet", update: int) -> bool:
    """Return whether an evaluation was of these levels, this update, and actions by chance."""
    told = task.get("digest"), task.get("update"), task.get("greedy", False)
    return told == (levels.digest, update, False)
