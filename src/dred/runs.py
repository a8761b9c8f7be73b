"""What a run folder contains; reading and writing it.

run.json          settings, versions, digests of the levels, command, started, ended, status
metrics.jsonl     one JSON object a line, one line per chunk of updates and seed
checkpoints/      the last few states of training
policies/         networks at powers of two and every tenth of training, kept for good
levels/           the levels likeliest to be replayed at some updates, with their probabilities
evaluation/       per-level results; in over-training/UPDATE/ those of the networks in policies/
"""

import dataclasses
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dred import __version__
from dred.config import ProcgenConfig, TrainConfig
from dred.errors import ConfigError, DatasetError
from dred.files import OutputError, cannot_write, write_text
from dred.settings import read_settings

if TYPE_CHECKING:
    from dred.agents.network import ActorCritic
    from dred.tasks.gridworld.levels.dataset import LevelDataset
    from dred.training.saved import SavedBuffer

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Run:
    """A run folder."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where states of training are."""
        return self.path / "checkpoints"

    @property
    def policies(self) -> Path:
        """Where the networks are that are kept for good."""
        return self.path / "policies"

    @property
    def facts(self) -> dict[str, Any]:
        """What `run.json` says."""
        try:
            return json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(
                f"{self.path} is not a run: it has no run.json. Give the folder that was the --out "
                "of `dred train` or `dred procgen train`."
            ) from None
        except ValueError as error:
            raise ConfigError(f"{self.path}/run.json is damaged: {error}.") from None

    @property
    def config(self) -> TrainConfig:
        """The settings it was started with."""
        return self.settings(TrainConfig)

    def settings(self, kind: type[Settings]) -> Settings:
        """The settings, if they are of this kind."""
        facts = self.facts
        if facts.get("kind", TrainConfig.__name__) != kind.__name__:
            raise ConfigError(
                f"{self.path} is a run of another kind: runs in Procgen are for the commands of "
                "`dred procgen`, all others for the commands without that word."
            )
        settings = cast("dict[str, object]", facts["config"])
        return read_settings(kind, settings, where=f"{self.path}/run.json")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that are trained together."""
        return tuple(self.facts["seeds"])

    @property
    def fingerprint(self) -> str:
        """A digest of all that tells its training from others, but the seed and where files lie."""
        facts = self.facts
        files = {**facts.get("levels", {}), "generator": facts.get("generator") or {}}
        digests = {name: noted.get("digest") for name, noted in files.items()}
        told = json.dumps([facts["config"], digests], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    def note(self, **changes: object) -> None:
        """Change some of the facts in `run.json`."""
        facts = {**self.facts, **changes}
        write_text(self.path / "run.json", json.dumps(facts, indent=2, ensure_ascii=False))

    def metrics(self) -> list[dict[str, Any]]:
        """All lines of `metrics.jsonl` that are whole."""
        try:
            lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        rows: list[dict[str, Any]] = []
        for line in lines:
            try:
                rows.append(json.loads(line))
            except ValueError:
                break  # the last line, cut short when the run was killed
        return rows

    def levels(self, name: str) -> "LevelDataset":
        """The levels that it was given, "train" or "test", which must not have changed."""
        from dred.tasks.gridworld.levels.dataset import load

        noted = self.facts["levels"][name]
        levels = load(noted["path"])
        if levels.digest != noted["digest"]:
            raise DatasetError(
                f"{noted['path']} has changed since {self.path} began: its digest was "
                f"{noted['digest'][:12]} and is {levels.digest[:12]}. Put the old levels back, or "
                "start a new run."
            )
        return levels

    def policy(self, seed: int | None = None, *, update: int | None = None) -> "ActorCritic":
        """The trained network: of the given seed, or of the first; newest, or after an update."""
        from dred.training.saved import policies_of

        return policies_of(self, update)[self._place_of(seed)]

    def buffer(self, seed: int | None = None) -> "SavedBuffer":
        """The levels in the buffer, the likeliest first: of the given seed, or of the first."""
        from dred.training.saved import buffers_of

        return buffers_of(self)[self._place_of(seed)]

    def _place_of(self, seed: int | None) -> int:
        wanted = self.seeds[0] if seed is None else seed
        if wanted not in self.seeds:
            raise ConfigError(f"{self.path} has the seeds {list(self.seeds)}, not {wanted}.")
        return self.seeds.index(wanted)

    def append_metrics(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add lines to `metrics.jsonl`."""
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        try:
            with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise OutputError(cannot_write(self.path, error)) from error

    def cut_metrics(self, num_updates: int) -> None:
        """Drop lines that were written after the given update, which will be done again."""
        kept = [row for row in self.metrics() if row["update"] <= num_updates]
        text = "".join(f"{json.dumps(row)}\n" for row in kept)
        write_text(self.path / "metrics.jsonl", text)


def open(path: str | Path) -> Run:
    """An existing run."""
    return open_run(path)


def open_run(path: str | Path) -> Run:
    """An existing run."""
    run = Run(Path(path))
    _ = run.facts  # says what is wrong if it is none
    return run


def create_run(
    path: Path,
    *,
    config: TrainConfig | ProcgenConfig,
    seeds: Sequence[int],
    levels: Mapping[str, Mapping[str, str]],
    command: Sequence[str],
    generator: Mapping[str, str] | None = None,
    track: str | None = None,
) -> Run:
    """A new run folder; it must not exist yet."""
    if path.exists():
        command = "dred procgen resume" if isinstance(config, ProcgenConfig) else "dred resume"
        raise ConfigError(
            f"{path} exists already. Choose another --out, or continue that run with "
            f"`{command} {path}`."
        )
    facts = {
        "kind": type(config).__name__,
        "config": dataclasses.asdict(config),
        "seeds": list(seeds),
        "levels": dict(levels),
        "generator": None if generator is None else dict(generator),
        "command": list(command),
        "track": track,
        "versions": {"dred": __version__, "python": platform.python_version()},
        "started": now(),
        "ended": None,
        "status": "running",
    }
    try:
        (path / "checkpoints").mkdir(parents=True)
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    write_text(path / "run.json", json.dumps(facts, indent=2, ensure_ascii=False))
    return Run(path)


def now() -> str:
    """The time, for `run.json`."""
    return datetime.now(UTC).isoformat(timespec="seconds")
