"""The folder of a generator, which `dred fit` fills and can go on filling if it was interrupted.

generator.json   settings, size, digest of the levels, seed, command
levels.npz       the levels it was fitted to
best.npz         weights with the least loss on levels held back
last.npz         weights after the last epoch
history.jsonl    a row per epoch
sweep.jsonl      if settings were searched: a row per fit of drawn settings
sweep.csv        the drawn settings, each with means over its fits, the highest bound first
relations.csv    how their bounds go with what their levels are like
sweep.png        the same as a picture
folds.jsonl      a row per fold, if there was cross-validation

While it is made it is called NAME.partial, and has `state.npz`, from which to go on.
"""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dred import checkpoint
from dred.errors import CheckpointError, ConfigError
from dred.files import OutputError, cannot_write, write_text
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.vae.fit import Fitting, History
from dred.tasks.gridworld.levels.dataset import LevelDataset

SAVE_EVERY = 25  # epochs


class FitFolder:
    """A folder in the making. The same task goes on with what is there; another starts again."""

    def __init__(self, folder: Path, task: dict[str, Any], dataset: LevelDataset) -> None:
        if folder.exists():
            raise ConfigError(f"{folder} exists already. Choose another --out.")
        self.final, self.path = folder, folder.with_name(f"{folder.name}.partial")
        self.task = json.loads(json.dumps({**task, "digest": dataset.digest}))
        self.history: History = []
        try:
            if self._task_there() != self.task:
                shutil.rmtree(self.path, ignore_errors=True)
                self.path.mkdir(parents=True)
                dataset.save(self.path / "levels.npz")
                write_text(self.path / "task.json", json.dumps(self.task))
        except OSError as error:
            raise OutputError(cannot_write(folder, error)) from error

    def _task_there(self) -> object:
        try:
            return json.loads((self.path / "task.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The whole rows of a table that is there already."""
        try:
            lines = (self.path / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def write_rows(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write a table, whole or not at all."""
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        write_text(self.path / f"{name}.jsonl", text)

    def restore(self, blank: Fitting) -> Fitting:
        """The fit as it was left, or the blank one."""
        try:
            fitting = checkpoint.load(self.path / "state.npz", blank)
        except (CheckpointError, FileNotFoundError):
            return blank
        self.history = self.rows("history")[: int(fitting.epochs)]
        return fitting if len(self.history) == int(fitting.epochs) else blank

    def note(self, row: dict[str, float], fitting: Fitting) -> None:
        """Remember an epoch; save now and then."""
        self.history.append(row)
        if int(fitting.epochs) % SAVE_EVERY == 0:
            self.write_rows("history", self.history)
            checkpoint.write(self.path / "state.npz", fitting)

    def words_to_go_on(self) -> str:
        """Return how much of an unfinished fit is on disk, and how to go on."""
        done = len(self.rows("history"))
        kept = f"{done} epochs are kept in {self.path}" if done else "no epoch was saved yet"
        return f"Of this fit, {kept}; the same command goes on."

    def finish(
        self, fitting: Fitting, config: VAEConfig, dataset: LevelDataset, *, command: Sequence[str]
    ) -> None:
        """Write the weights, and give the folder its name."""
        facts: dict[str, Any] = {
            "format": 1,
            "kind": "vae",
            "config": dataclasses.asdict(config),
            "shape": list(dataset.shape),
            "digest": dataset.digest,
            "task": self.task,
            "command": list(command),
        }
        checkpoint.write(self.path / "best.npz", fitting.best)
        checkpoint.write(self.path / "last.npz", fitting.model)
        self.write_rows("history", self.history)
        write_text(self.path / "generator.json", json.dumps(facts, indent=2, ensure_ascii=False))
        try:
            (self.path / "state.npz").unlink(missing_ok=True)
            (self.path / "task.json").unlink()
            self.path.rename(self.final)
        except OSError as error:
            raise OutputError(cannot_write(self.final, error)) from error


def task_in(folder: Path) -> object:
    """Return the task of a finished generator; None if there is none."""
    try:
        return json.loads((folder / "generator.json").read_text(encoding="utf-8")).get("task")
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
