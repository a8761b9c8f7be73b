"""How long a study will take, by the rates of its runs so far."""

from collections.abc import Sequence

from dred.studies.jobs import TrainAndEvaluate, runs_of
from dred.studies.local import most_workers
from dred.studies.search import updates_left
from dred.studies.study import Study


def seconds_left(study: Study) -> float | None:
    """Return how long the training that is left will take; None if there is no rate yet."""
    runs = runs_of(study)
    rates = [rate for run in runs if (rate := seconds_per_update(run)) is not None]
    if not rates:
        return None
    return updates_left(study) * sum(rates) / len(rates) / at_once(study, runs)


def seconds_per_update(run: TrainAndEvaluate) -> float | None:
    """Return how long an update of a run took on average; None if it has none."""
    rows = run.run.metrics() if run.has_begun else []
    return float(rows[-1]["seconds"]) / int(rows[-1]["update"]) if rows else None


def at_once(study: Study, runs: Sequence[TrainAndEvaluate]) -> int:
    """Return how many runs train at once: those that are begun, or as many as there is room for."""
    going = sum(run.has_begun and run.run.record.status == "running" for run in runs)
    return going or min(len(runs), most_workers(study.config.devices))


def in_words(seconds: float) -> str:
    """Return a time in words: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
