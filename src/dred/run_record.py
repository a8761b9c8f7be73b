"""What `run.json` says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, cast

from dred import __version__
from dred.config import TrainConfig
from dred.errors import ConfigError, reason_of
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


KINDS: Mapping[str, type | tuple[type, ...]] = {
    "format": int,
    "task": str,
    "kind": str,
    "config": dict,
    "seeds": list,
    "levels": dict,
    "generator": (dict, NoneType),
    "command": list,
    "track": (str, NoneType),
    "preset": str,
    "changes": dict,
    "plugins": list,
    "versions": dict,
    "started": str,
    "ended": (str, NoneType),
    "status": str,
}  # of what the file says


def checked(told: object, *, where: str) -> dict[str, Any]:
    """Return what the file says, if each part is of its kind."""
    if not isinstance(told, dict):
        raise ConfigError(f"{where} is damaged: it is no table of what the run was given.")
    found = cast("dict[str, Any]", told)
    number = found.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise ConfigError(
            f"{where} was made by a newer version of dred, {found.get('versions')}. This one is "
            f"{__version__}."
        )
    for name in ("config", "seeds"):
        if name not in found:
            raise ConfigError(f"{where} is damaged: it has no {name!r}.")
    for name, kind in KINDS.items():
        if name in found and not (isinstance(found[name], kind) and _are_right(name, found[name])):
            shown = reason_of(ValueError(repr(found[name])))
            raise ConfigError(f"{where} is damaged: its {name!r} is {shown}.")
    return found


def _are_right(name: str, value: Any) -> bool:  # noqa: ANN401  (of the kind in KINDS)
    """Return whether the parts of a value are what they should be."""
    match name:
        case "seeds":
            return all(type(seed) is int for seed in value)
        case "command":
            return all(isinstance(word, str) for word in value)
        case "versions":
            return all(isinstance(version, str) for version in value.values())
        case "changes":
            return all(isinstance(pair, list) and len(pair) == 2 for pair in value.values())
        case "levels":
            return all(map(_is_file, value.values()))
        case "plugins":
            return all(map(_is_file, value))
        case "generator":
            return not value or _is_file(value)
        case _:
            return True


def _is_file(noted: Any) -> bool:  # noqa: ANN401  (whatever the file has there)
    return isinstance(noted, dict) and all(
        isinstance(noted.get(key, ""), str) for key in ("path", "digest")
    )


def file_record(noted: Mapping[str, str]) -> FileRecord:
    """Return what a file notes of another."""
    return FileRecord(noted.get("path", ""), noted.get("digest", ""))
