"""Runs, also those at work: their state, curves and settings."""

import time
from pathlib import Path
from typing import Any

from dred.assemble import config_text
from dred.checkpoint import checkpoints_in, update_of
from dred.errors import DredError
from dred.metrics import METRICS, Metric, of_features
from dred.runs import Run, open_run
from dred.studio.answers import Asked
from dred.studio.following import Following, last_row
from dred.studio.shelf import BUFFER, Kept, Shelf, stamp

MOST_RUNS = 500  # of which the table remembers what it says
MOST_ROWS = 1500  # of a curve; longer ones are thinned out
QUIET = 300.0  # seconds after which a run that says it is running may not be
ALSO = ("eta",)  # no report has a curve of it


class Watch:
    """Answers what the page asks about runs."""

    def __init__(self, shelf: Shelf) -> None:
        self.places, self.shelf = shelf.places, shelf
        self._summaries: Kept[dict[str, object]] = Kept(MOST_RUNS)
        self._followed: Kept[Following] = Kept()

    def runs(self, asked: Asked) -> object:
        """Return all runs with their state; what cannot be read is named with the reason."""
        return {"runs": [self._summary(one.name, one.path) for one in self.places.scan("run")]}

    def _summary(self, name: str, path: Path) -> dict[str, object]:
        try:
            facts = self._summaries.get(stamps(path), lambda: summary_of(open_run(path)))
            quiet = facts["status"] == "running" and age_of(path) > QUIET
        except (DredError, OSError, ValueError, KeyError, TypeError) as error:
            return {"name": name, "status": "unreadable", "problem": str(error)}
        return {"name": name, **facts, "quiet": quiet}

    def curves(self, asked: Asked) -> object:
        """Return the measurements of a run after an update, and what they are."""
        run = open_run(self.places.find(asked.text("run")))
        since = asked.whole("since", 0)
        key = (str(run.path), run.record.started)
        rows = self._followed.get(key, lambda: Following(run)).rows()
        shown = [
            one
            for one in (*METRICS, *of_features(run.task.features))
            if one.shown == "curve" or one.name in ALSO
        ]
        names = [one for one in shown if any(one.name in row for row in rows)]
        kept = [row for row in thinned(rows) if row["update"] > since]
        return {
            "status": run.record.status,
            "since": since,
            "updates": rows[-1]["update"] if rows else 0,
            "total": run.config.num_updates,
            "seeds": run.seeds,
            "headline": run.task.headline,
            "metrics": [
                {"name": m.name, "title": title_of(m), "percent": m.percent, "plain": m.plain}
                for m in names
            ],
            "rows": [
                {name: row.get(name) for name in ("update", "seed", *(m.name for m in names))}
                for row in kept
            ],
        }

    def settings(self, asked: Asked) -> object:
        """Return what a run was started with."""
        name = asked.text("run")
        run = open_run(self.places.find(name))
        saved = checkpoints_in(run.checkpoints)
        given = {
            kind: f"{name}/{noted.path}"
            for kind, noted in run.record.levels.items()
            if not Path(noted.path).is_absolute() and (run.path / noted.path).exists()
        }
        return {
            "settings": config_text(run.config, run.task),
            "changes": run.record.changes,
            "command": run.record.command,
            "versions": run.record.versions,
            "levels": given,
            "buffers": [f"{name}{BUFFER}-{seed}" for seed in run.seeds] if saved else [],
        }


def summary_of(run: Run) -> dict[str, object]:
    """Return what the table of runs says of one."""
    last = last_row(run)
    return {
        "status": run.record.status,
        "method": run.config.method.name,
        "task": run.record.task,
        "seeds": run.seeds,
        "updates": last.get("update", 0),
        "total": run.config.num_updates,
        "seconds": last.get("seconds"),
        "started": run.record.started,
        "preset": run.record.preset,
        "saved": max(map(update_of, checkpoints_in(run.checkpoints)), default=None),
    }


def stamps(run: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes whenever there is something else to say of a run."""
    parts = (run / "run.json", run / "metrics.jsonl", run / "checkpoints")
    return tuple(stamp(part) for part in parts if part.exists())


def title_of(metric: Metric) -> str:
    """Return what a chart is called; symbols stay as they are."""
    return metric.title if len(metric.label) > 1 else metric.label


def age_of(run: Path) -> float:
    """Return for how many seconds a run has written nothing."""
    files = (run / "run.json", run / "metrics.jsonl")
    return time.time() - max(file.stat().st_mtime for file in files if file.exists())


def thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return about so many rows: those of evenly many updates, and all that have evaluations."""
    if len(rows) <= MOST_ROWS:
        return rows
    updates = list(dict.fromkeys(row["update"] for row in rows))  # each has a row for every seed
    kept = {*updates[:: -(-len(rows) // MOST_ROWS)], updates[-1]}
    return [row for row in rows if row["update"] in kept or "gen_gap" in row]
