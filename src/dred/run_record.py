"""What `run.json` says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from dred.config import TrainConfig
from dred.former import modern

FORMAT = 2  # 1, without a number in the file, had other names for some settings


@dataclass(frozen=True)
class FileRecord:
    """A file or folder that a run was given."""

    path: str
    digest: str


@dataclass(frozen=True)
class RunRecord:
    """What `run.json` says."""

    format: int
    task: str
    kind: str
    config: Mapping[str, object]
    seeds: tuple[int, ...]
    levels: Mapping[str, FileRecord]
    generator: FileRecord | None
    command: tuple[str, ...]
    track: str | None
    preset: str
    changes: Mapping[str, tuple[object, object]]
    plugins: tuple[FileRecord, ...]
    versions: Mapping[str, str]
    started: str
    ended: str | None
    status: str
    told: Mapping[str, Any] = field(repr=False)  # the file itself

    @staticmethod
    def of(told: Mapping[str, Any]) -> "RunRecord":
        """Return the record that the content of a file describes."""
        number = int(told.get("format", 1))
        config = cast("dict[str, object]", told["config"])
        generator = told.get("generator")
        return RunRecord(
            format=number,
            task=told.get("task", "gridworld"),
            kind=told.get("kind", TrainConfig.__name__),
            config=config if number == FORMAT else modern(config),
            seeds=tuple(told["seeds"]),
            levels={name: file_record(noted) for name, noted in told.get("levels", {}).items()},
            generator=file_record(generator) if generator else None,
            command=tuple(told.get("command", ())),
            track=told.get("track"),
            preset=told.get("preset", ""),
            changes={name: (old, new) for name, (old, new) in told.get("changes", {}).items()},
            plugins=tuple(file_record(noted) for noted in told.get("plugins", ())),
            versions=told.get("versions", {}),
            started=told.get("started", ""),
            ended=told.get("ended"),
            status=told.get("status", ""),
            told=told,
        )


def file_record(noted: Mapping[str, str]) -> FileRecord:
    """Return what a file notes of another."""
    return FileRecord(noted.get("path", ""), noted.get("digest", ""))
