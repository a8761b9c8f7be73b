"""What a run folder contains; reading and writing it.

run.json          a format number, task, settings and what they changed of a preset, versions,
                  digests of levels and plug-ins, command, status
given/            the levels and the generator that it was given, unless they are very large, its
                  plug-ins, and the file of its task if that is the user's own
metrics.jsonl     one JSON object a line, one line per chunk of updates and seed
checkpoints/      the last few states of training
policies/         agents at powers of two and every tenth of training, kept for good
levels/           the levels most probable to be replayed at some updates, with their probabilities
evaluation/       per-level results; in over-training/UPDATE/ those of the agents in policies/, in
                  gaps/ what was measured of gaps and information after training
"""

import dataclasses
import hashlib
import json
import platform
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

from dred import __version__, plugins
from dred.config import TrainConfig
from dred.errors import ConfigError, DatasetError, reason_of
from dred.files import OutputError, cannot_write, undisturbed, write_text
from dred.former import FORMER_METRICS
from dred.plugins import load_installed, load_noted, place_now
from dred.registry import find_task, split_name
from dred.run_record import FORMAT, FileRecord, RunRecord, checked
from dred.settings import read_settings
from dred.task import LevelSet, Task

SettingsT = TypeVar("SettingsT")


@dataclass(frozen=True)
class RunFolder:
    """A run folder. What `run.json` says is read once."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Return where states of training are."""
        return self.path / "checkpoints"

    @property
    def policies(self) -> Path:
        """Return where the agents are that are kept for good."""
        return self.path / "policies"

    @cached_property
    def record(self) -> RunRecord:
        """Return what `run.json` says."""
        try:
            told = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(
                f"{self.path} is not a run: it has no run.json. Give the folder that was the --out "
                f"of `dred train`{runs_among(self.path)}."
            ) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self.path}/run.json is damaged: {reason_of(error)}.") from None
        told = checked(told, where=f"{self.path}/run.json")
        return RunRecord.of(told)

    @cached_property
    def config(self) -> TrainConfig:
        """Return the settings it was started with."""
        return self.settings(TrainConfig)

    @cached_property
    def task(self) -> Task:
        """Return the task it trains for, after loading the plug-ins that it notes."""
        copies = {
            plugin.path: str(kept_plugin(Path(plugin.path), self.path))
            for plugin in self.record.plugins
        }
        noted = [(plugin.path, plugin.digest) for plugin in self.record.plugins]
        load_noted(noted, where=str(self.path), copies=copies)
        file, name = split_name(self.record.task)
        return find_task(name if file is None else f"{place_now(file)}:{name}")

    def settings(self, kind: type[SettingsT]) -> SettingsT:
        """Return the settings, if they are of this kind."""
        if self.record.kind != kind.__name__:
            raise ConfigError(
                f"{self.path} is a run in Procgen of a version of dred that had another trainer "
                "for it. Use that version, or train again with --task procgen/GAME."
            )
        return read_settings(kind, self.record.config, where=f"{self.path}/run.json")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds that are trained together."""
        return self.record.seeds

    @property
    def fingerprint(self) -> str:
        """Return a digest of all that tells its training from others, but seeds and places."""
        told = self.record.told
        files = {**told.get("levels", {}), "generator": told.get("generator") or {}}
        digests = {name: noted.get("digest") for name, noted in files.items()}
        return hashlib.sha256(
            json.dumps([told["config"], digests], sort_keys=True).encode()
        ).hexdigest()

    def note(self, **changes: object) -> None:
        """Change some of what `run.json` says."""
        told = {**self.record.told, **changes}
        write_text(self.path / "run.json", json.dumps(told, indent=2, ensure_ascii=False))
        self.__dict__.pop("record", None)

    def note_interruption(self) -> None:
        """Note that training was interrupted, unless it had just finished."""
        with undisturbed():
            if RunFolder(self.path).record.status != "finished":
                self.note(status="interrupted", ended=now())

    def metrics(self) -> list[dict[str, Any]]:
        """Return all lines of `metrics.jsonl` that are whole."""
        try:
            return self.rows_in((self.path / "metrics.jsonl").read_bytes())
        except FileNotFoundError:
            return []

    def rows_in(self, content: bytes) -> list[dict[str, Any]]:
        """Return the lines of a part of `metrics.jsonl`, up to one that is not whole."""
        rows: list[dict[str, Any]] = []
        for line in content.splitlines():
            row = row_in(line)
            if row is None:
                break  # the last line, cut short when the run was killed
            rows.append(row)
        if self.record.format == FORMAT:
            return rows
        return [{FORMER_METRICS.get(name, name): row[name] for name in row} for row in rows]

    def place_of(self, noted: FileRecord) -> Path:
        """Return where a file or folder is that it was given; those it contains move with it."""
        return self.path / noted.path

    def levels(self, name: str) -> LevelSet:
        """Return the levels that it was given, "train" or "test", which must not have changed."""
        noted = self.record.levels[name]
        path = self.place_of(noted)
        if not path.exists():
            option = {"train": "--levels"}.get(name, "--held-out")
            raise DatasetError(
                f"{self.path} was given the levels {path}, which are not there any more. Say where "
                f"they are now with {option} FILE; they are known by their digest, "
                f"{noted.digest[:12]}."
            )
        levels = self.task.level_format.load(path)
        if levels.digest != noted.digest:
            raise DatasetError(
                f"{path} has changed since {self.path} began: its digest was "
                f"{noted.digest[:12]} and is {levels.digest[:12]}. Put the old levels back, or "
                "start a new run."
            )
        return levels

    def append_metrics(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add lines to `metrics.jsonl`."""
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        try:
            with undisturbed(), (self.path / "metrics.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise OutputError(cannot_write(self.path, error)) from error

    def cut_metrics(self, num_updates: int) -> None:
        """Drop lines that were written after the given update, which will be done again."""
        kept = [row for row in self.metrics() if row["update"] <= num_updates]
        text = "".join(f"{json.dumps(row)}\n" for row in kept)
        write_text(self.path / "metrics.jsonl", text)


def row_in(line: bytes) -> dict[str, Any] | None:
    """Return what a line of metrics says; None for one that is damaged."""
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", row) if isinstance(row, dict) else None


def create_run(
    path: Path,
    *,
    task: str,
    config: TrainConfig,
    seeds: Sequence[int],
    levels: Mapping[str, Mapping[str, str]],
    command: Sequence[str],
    contents: Mapping[str, Callable[[Path], object]] | None = None,
    generator: Mapping[str, str] | None = None,
    track: str | None = None,
    preset: str = "",
    changes: Mapping[str, tuple[object, object]] | None = None,
) -> RunFolder:
    """Make a new run folder, as a whole or not at all; it must not exist yet.

    `contents` write what it was given, each to a place in it. It notes what the settings changed of
    a preset, and the plug-ins that are loaded and the file of its task, of which it keeps copies.
    """
    check_free(path)
    file, _ = split_name(task)
    code = plugins.notes([] if file is None else [file])
    told = {
        "format": FORMAT,
        "task": task,
        "kind": type(config).__name__,
        "config": dataclasses.asdict(config),
        "seeds": list(seeds),
        "levels": dict(levels),
        "generator": None if generator is None else dict(generator),
        "command": list(command),
        "track": track,
        "preset": preset,
        "changes": {name: list(pair) for name, pair in (changes or {}).items()},
        "plugins": code,
        "versions": versions(),
        "started": now(),
        "ended": None,
        "status": "running",
    }
    growing = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        (growing / "checkpoints").mkdir(parents=True)
        for place, write in (contents or {}).items():
            (growing / place).parent.mkdir(parents=True, exist_ok=True)
            write(growing / place)
        for noted in code:
            keep_plugin(Path(noted["path"]), growing)
        write_text(growing / "run.json", json.dumps(told, indent=2, ensure_ascii=False))
        growing.rename(path)
    except (OSError, OutputError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(reason, OSError):
            raise
        raise OutputError(cannot_write(path, reason)) from error
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return RunFolder(path)


def check_free(path: Path) -> None:
    """Stop if there is something where a new run should be."""
    if (path / "run.json").exists():
        raise ConfigError(
            f"{path} exists already. Choose another --out, or continue that run with "
            f"`dred resume {path}`."
        )
    if path.exists():
        raise ConfigError(
            f"{path} exists already, and is not a run. Choose another --out, which does not exist."
        )


def runs_among(path: Path) -> str:
    """Return words for the runs in a folder that is none itself, if there are any."""
    inside = sorted(str(run.parent) for run in path.glob("*/run.json"))
    more = ", …" if len(inside) > 3 else ""
    return f", such as {', '.join(inside[:3])}{more}" if inside else ""


def kept_plugin(path: Path, run: Path) -> Path:
    """Return where a run keeps its copy of a plug-in."""
    return run / "given" / "plugins" / path.name


def keep_plugin(path: Path, run: Path) -> None:
    """Copy a plug-in into a run."""
    copy = kept_plugin(path, run)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, copy)


def versions() -> dict[str, str]:
    """Return the versions of all that decides the numbers."""
    import jax

    packages = {name: version(name) for name in ("jax", "jaxlib", "numpy", "equinox", "optax")}
    device = jax.devices()[0].device_kind
    python = platform.python_version()
    return {"dred": __version__, "python": python, **packages, **load_installed(), "device": device}


def now() -> str:
    """Return the time, for `run.json`."""
    return datetime.now(UTC).isoformat(timespec="seconds")
