"""The settings of a run, put together: those of a preset, then a file's, then single ones."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dred.config import MethodConfig, TrainConfig
from dred.errors import ConfigError
from dred.generation import generators_of
from dred.presets import train_config
from dred.settings import merged, names_in, read_settings, read_table
from dred.settings_text import as_toml, help_of, value_text
from dred.studies.grid import Variant, flat, label, with_variant
from dred.task import Task


@dataclass(frozen=True)
class Assembled:
    """The settings of a run, and how they came about."""

    config: TrainConfig
    preset: str
    as_preset: TrainConfig
    """What the preset alone would be."""

    @property
    def changes(self) -> dict[str, tuple[object, object]]:
        """Return what differs from the preset, by name: the preset's value, and the run's."""
        return changes_between(self.as_preset, self.config)

    def words(self) -> str:
        """Return the changes in a sentence; empty if there are none."""
        told = [f"{name} {_said(old)} → {_said(new)}" for name, (old, new) in self.changes.items()]
        return f"changed from the preset {self.preset}: {', '.join(told)}" if told else ""


def assemble(
    method: MethodConfig,
    task: Task,
    preset: str,
    *,
    file: Path | None = None,
    changes: Mapping[str, object] | None = None,
    then: Variant = (),
    where: str = "--set",
) -> Assembled:
    """Put settings together: a preset's, a file's, `changes`, and `then`, which give a new name."""
    first = train_config(method, preset, task.budgets, task.methods)
    config = first if file is None else from_file(first, file)
    config = replace(config, **(changes or {}))
    return Assembled(with_variant(config, then, where=where), preset, first)


def from_file(config: TrainConfig, file: Path) -> TrainConfig:
    """Return settings with what a TOML file changes.

    The method is called after the changes, unless the file names it.
    """
    table = read_table(file)
    found = read_settings(TrainConfig, merged(asdict(config), table), where=str(file))
    old, new = config.method.name, found.method.name
    if new != old and not new.startswith(f"{old} "):
        raise ConfigError(
            f"{file} has the settings of the method {new!r}, not of {old!r}. Give the method that "
            "the file is for, or take `name` out of its [method]."
        )
    changed = {name: after for name, (_, after) in changes_between(config, found).items()}
    told = table.get("method", {})
    if changed and "name" not in told:
        name = f"{old} {label(tuple(changed.items()))}"
        return replace(found, method=replace(found.method, name=name))
    return found


def changes_between(before: TrainConfig, after: TrainConfig) -> dict[str, tuple[object, object]]:
    """Return the settings that differ, but for the method's name, with both their values."""
    old, new = (flat(asdict(config)) for config in (before, after))
    names = [name for name in {**old, **new} if name != "method.name"]
    pairs = {name: (old.get(name), new.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def config_text(config: TrainConfig, task: Task) -> str:
    """Return all settings of a run as TOML, which `from_file` reads."""
    lines: list[str] = []
    for name, generator in generators_of(config.method, task).items():
        helps = help_of(type(generator.settings))
        for setting in names_in(generator.settings):
            usual = value_text(getattr(generator.settings, setting, None))
            lines.append(f"{name}.{setting} = {usual}  # {helps.get(setting, '')}")
    usual = "\n".join(["As usual, those of this method's generators are:", *lines])
    also = {"method.generator_settings": usual} if lines else {}
    return as_toml(config, also=also)


def _said(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else value_text(value)
