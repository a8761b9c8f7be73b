"""Runs, also those at work: their state, curves and settings."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dred.assemble import config_text
from dred.checkpoint import checkpoints_in, update_of
from dred.errors import DredError
from dred.metrics import METRICS, Metric, of_features
from dred.run_folder import RunFolder
from dred.runs import open_run
from dred.studio.answers import Asked
from dred.studio.shelf import BUFFER, Kept, Shelf, stamp

MOST_ROWS = 1500  # of a curve; longer ones are thinned out
QUIET = 300.0  # seconds after which a run that says it is running may not be
ALSO = ("eta",)  # no report has a curve of it


class Watch:
    """Answers what the page asks about runs."""

    def __init__(self, shelf: Shelf) -> None:
        self.places, self.shelf = shelf.places, shelf
        self._rows: Kept[list[dict[str, Any]]] = Kept()

    def runs(self, asked: Asked) -> object:
        """Return all runs with their state; what cannot be read is named with the reason."""
        found = [one for one in self.places.scan() if one.kind == "run"]
        return {"runs": [self._summary(one.name, one.path) for one in found]}

    def _summary(self, name: str, path: Path) -> dict[str, object]:
        try:
            run = open_run(path)
            rows = self._metrics(path)
            last: Mapping[str, Any] = rows[-1] if rows else {}
            return {
                "name": name,
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
                "quiet": run.record.status == "running" and age_of(path) > QUIET,
            }
        except (DredError, ValueError, KeyError, TypeError) as error:
            return {"name": name, "status": "unreadable", "problem": str(error)}

    def _metrics(self, path: Path) -> list[dict[str, Any]]:
        file = path / "metrics.jsonl"
        if not file.exists():
            return []
        return self._rows.get(stamp(file), lambda: RunFolder(path).metrics())

    def curves(self, asked: Asked) -> object:
        """Return all measurements of a run, and what they are."""
        run = open_run(self.places.find(asked.text("run")))
        rows = self._metrics(run.path)
        shown = [
            one
            for one in (*METRICS, *of_features(run.task.features))
            if one.shown == "curve" or one.name in ALSO
        ]
        names = [one for one in shown if any(one.name in row for row in rows)]
        kept = thinned(rows)
        return {
            "status": run.record.status,
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


def title_of(metric: Metric) -> str:
    """Return what a chart is called; symbols stay as they are."""
    return metric.title if len(metric.label) > 1 else metric.label


def age_of(run: Path) -> float:
    """Return for how many seconds a run has written nothing."""
    files = (run / "run.json", run / "metrics.jsonl")
    return time.time() - max(file.stat().st_mtime for file in files if file.exists())


def thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at most so many rows, evenly, with all of the rarer ones that have evaluations."""
    if len(rows) <= MOST_ROWS:
        return rows
    step = -(-len(rows) // MOST_ROWS)
    return [
        row
        for place, row in enumerate(rows)
        if place % step == 0 or place == len(rows) - 1 or "gen_gap" in row
    ]
