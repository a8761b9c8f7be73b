"""Where a search compares its candidates, and by what."""

from collections.abc import Collection

from dred.errors import ConfigError, lookup
from dred.metrics import METRICS, Metric
from dred.studies.config import SearchConfig
from dred.task import Task


def rungs_of(search: SearchConfig, total: int) -> list[int]:
    """Return after how many updates of a whole run candidates are compared."""
    rungs = [search.first]
    while rungs[-1] * search.factor < total:
        rungs.append(rungs[-1] * search.factor)
    return rungs


def metric_of(search: SearchConfig, task: Task) -> Metric:
    """Return the metric that decides; by itself how the task's agents do in levels held out."""
    known = {one.name: one for one in METRICS if one.better}
    return lookup(known, search.metric or f"{task.headline}/test", what="metric to search by")


def check_search(
    search: SearchConfig, totals: Collection[int], task: Task, *, has_held_out: bool, where: str
) -> None:
    """Stop at a search that cannot work, given the updates of whole runs."""
    if len(set(totals)) > 1:
        raise ConfigError(f"{where}: num_updates cannot be varied in a search, which chooses it.")
    if search.first >= min(totals):
        raise ConfigError(
            f"{where}: first (={search.first}) must be less than the updates of a whole run "
            f"(={min(totals)})."
        )
    metric = metric_of(search, task)
    if metric.name.endswith("/test") and not has_held_out:
        raise ConfigError(
            f"{where}: {metric.name} needs levels held out. Give held_out = FILE.npz, or another "
            "metric."
        )
