"""The folder of a generator, which `dred fit` fills and can go on filling if it was interrupted.

generator.json   kind of model, settings, size, digest of the levels, seed, command
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
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dred import checkpoint
from dred.errors import CheckpointError, ConfigError, DatasetError
from dred.files import OutputError, cannot_write, write_text
from dred.former import modern
from dred.settings import read_settings
from dred.tasks.gridworld.generators.fitting import Fitting, History, ModelT
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.dataset import load as load_levels
from dred.tasks.gridworld.levels.level import size_words

SettingsT = TypeVar("SettingsT")

SAVE_EVERY = 25  # epochs


class FitFolder:
    """A folder in the making. The same task goes on with what is there; another starts again."""

    def __init__(
        self, folder: Path, task: dict[str, Any], dataset: LevelDataset, kind: str = "vae"
    ) -> None:
        if folder.exists():
            raise ConfigError(f"{folder} exists already. Choose another --out.")
        self.final, self.path = folder, folder.with_name(f"{folder.name}.partial")
        self.kind = kind  # the name of the generator
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
        return rows_in(self.path, name)

    def write_rows(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write a table, whole or not at all."""
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        write_text(self.path / f"{name}.jsonl", text)

    def restore(self, blank: Fitting[ModelT]) -> Fitting[ModelT]:
        """The fit as it was left, or the blank one."""
        try:
            fitting = checkpoint.load(self.path / "state.npz", blank)
        except (CheckpointError, FileNotFoundError):
            return blank
        self.history = self.rows("history")[: int(fitting.epochs)]
        return fitting if len(self.history) == int(fitting.epochs) else blank

    def note(self, row: dict[str, float], fitting: Fitting[Any]) -> None:
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
        self,
        fitting: Fitting[Any],
        config: Any,  # noqa: ANN401  (a record of settings)
        dataset: LevelDataset,
        *,
        command: Sequence[str],
    ) -> None:
        """Write the weights, and give the folder its name."""
        checkpoint.write(self.path / "best.npz", fitting.best)
        checkpoint.write(self.path / "last.npz", fitting.model)
        self.write_rows("history", self.history)
        self.complete(config, dataset, command=command)

    def complete(
        self,
        config: Any,  # noqa: ANN401  (a record of settings)
        dataset: LevelDataset,
        *,
        command: Sequence[str],
    ) -> None:
        """Say what was fitted, and give the folder its name."""
        facts: dict[str, Any] = {
            "format": 1,
            "kind": self.kind,
            "config": dataclasses.asdict(config),
            "shape": list(dataset.shape),
            "digest": dataset.digest,
            "task": self.task,
            "command": list(command),
        }
        write_text(self.path / "generator.json", json.dumps(facts, indent=2, ensure_ascii=False))
        try:
            (self.path / "state.npz").unlink(missing_ok=True)
            (self.path / "task.json").unlink()
            self.path.rename(self.final)
        except OSError as error:
            raise OutputError(cannot_write(self.final, error)) from error


def rows_in(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table in the folder of a generator; none if it is not there."""
    try:
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def facts_in(folder: Path) -> dict[str, Any]:
    """Return what the folder of a generator says about it, which must name its kind."""
    path = folder / "generator.json"
    try:
        facts: object = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(
            f"{folder} is not a generator: it has no generator.json. Make one with "
            f"`dred fit --levels F.npz --out {folder}`."
        ) from None
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("kind"), str):
        raise CheckpointError(f"{path} is damaged: it does not say what kind of model this is.")
    return facts


def settings_in(
    folder: Path,
    facts: Mapping[str, Any],
    kind: str,
    like: type[SettingsT],
) -> SettingsT:
    """Return the settings of a generator of this kind."""
    if facts["kind"] != kind:
        raise ConfigError(
            f"{folder} is a generator of another kind ({facts['kind']}) than is needed ({kind}). "
            f"Make one with `dred fit --levels F.npz --model {kind} --out {folder}`."
        )
    where = f"{folder}/generator.json"
    if not isinstance(facts.get("config"), dict):
        raise CheckpointError(f"{where} is damaged: it has no settings.")
    return read_settings(like, modern(facts["config"]), where=where)


def levels_in(folder: Path, facts: Mapping[str, Any]) -> LevelDataset:
    """Return the levels that a generator was fitted to."""
    dataset = load_levels(folder / "levels.npz")
    if dataset.digest != facts.get("digest"):
        raise DatasetError(f"{folder}/levels.npz is not what the model was fitted to.")
    return dataset


def weights_digest(folder: Path, weights: str = "last") -> str:
    """Return what the weights of a generator are known by."""
    return hashlib.sha256((folder / f"{weights}.npz").read_bytes()).hexdigest()


def check_fitted_to(folder: Path, fitted: LevelDataset, levels: LevelDataset) -> None:
    """Stop unless a generator was fitted to just these levels."""
    if fitted.shape != levels.shape:
        theirs, ours = (size_words(one.shape) for one in (fitted, levels))
        raise DatasetError(
            f"{folder} was fitted to levels of {theirs}, and these have {ours}. Fit a generator "
            "to the levels to train on."
        )
    if fitted.digest != levels.digest:
        raise DatasetError(
            f"{folder} was fitted to other levels (digest {fitted.digest[:12]}) than "
            f"those to train on ({levels.digest[:12]}). Fit a generator to these."
        )


def check_same(wanted: Mapping[str, Any], out: Path) -> None:
    """Stop unless a folder has a generator that was fitted in this way."""
    if task_in(out) != json.loads(json.dumps(wanted)):
        raise ConfigError(
            f"{out} exists already, and is not a generator that was fitted to these levels with "
            "these settings. Choose another `out`, or take it with dred.generators.load."
        )


def task_in(folder: Path) -> object:
    """Return the task of a finished generator; None if there is none."""
    try:
        return json.loads((folder / "generator.json").read_text(encoding="utf-8")).get("task")
    except (FileNotFoundError, NotADirectoryError, ValueError, AttributeError):
        return None
