"""The generators that a method names: looked up in its task, with settings and models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from dred.config import MethodConfig
from dred.errors import ConfigError, lookup
from dred.settings import listed, names_in, varied
from dred.task import Generator, Levels, LevelSet, Task

NONE = "none"


def generators_of(method: MethodConfig, task: Task) -> dict[str, Generator]:
    """Return the generators that a method uses, by name; stops at what the task does not know."""
    names = [n for n in (method.new_level_generator, method.mutation_generator) if n != NONE]
    return {name: _generator(task, name) for name in names}


def check_generators(method: MethodConfig, task: Task) -> None:
    """Stop at generators that the task does not know, and at settings that they do not have."""
    for name, generator in generators_of(method, task).items():
        settings_of(method, name, generator)
    for name in method.generator_settings:
        settings_of(method, name, _generator(task, name))


def settings_of(method: MethodConfig, name: str, generator: Generator) -> Any:  # noqa: ANN401
    """Return the settings of a generator, with what the method changes."""
    where = f"method.generator_settings.{name}"
    changes: object = method.generator_settings.get(name, {})
    if not isinstance(changes, Mapping):
        known = [f"{where}.{setting}" for setting in names_in(generator.settings)]
        choice = f"Name one of them: {listed(known)}." if known else "It has none: leave it out."
        raise ConfigError(f"{where} (={changes!r}) stands for all settings of {name!r}. {choice}")
    return varied(generator.settings, cast("Mapping[str, object]", changes), where=where)


def _generator(task: Task, name: str) -> Generator:
    return lookup(task.generators, name, what=f"generator of the task {task.name}")


def fitted_generator(method: MethodConfig, task: Task) -> str:
    """Return the name of the generator that has to be fitted for a method; empty if none has."""
    used = generators_of(method, task).items()
    names = sorted({one.fitted_by or name for name, one in used if one.load is not None})
    if len(names) > 1:
        raise ConfigError(
            f"{method.name} makes levels with two fitted generators, {listed(names)}, and a run "
            "takes one. Use the same for new levels and for those made from others."
        )
    return "".join(names)


def needs_fitted(method: MethodConfig, task: Task) -> bool:
    """Return whether a method makes levels with a fitted model."""
    return bool(fitted_generator(method, task))


def models_for(
    method: MethodConfig, task: Task, dataset: LevelSet, folder: Path | None
) -> dict[str, Any]:
    """Return what the method's generators need besides levels, by name."""
    if folder is None and needs_fitted(method, task):
        raise ConfigError(
            f"{method.name} makes levels with a fitted generator. Fit one to the levels to train "
            f"on, by `dred fit --levels F.npz --model {fitted_generator(method, task)} --out G`, "
            "and add --generator G."
        )
    if folder is not None and not needs_fitted(method, task):
        raise ConfigError(f"{method.name} does not use a fitted generator. Leave out --generator.")
    models: dict[str, Any] = {}
    for name, one in generators_of(method, task).items():
        if one.load is not None and folder is not None:
            models[name] = one.load(folder, dataset)
        elif one.prepare is not None:
            models[name] = one.prepare(dataset)
    return models


def with_room(
    method: MethodConfig, task: Task, dataset: Levels, models: Mapping[str, Any]
) -> Levels:
    """Return the levels of a dataset in arrays with room for all that a method makes."""
    for name, one in generators_of(method, task).items():
        if one.widen is not None:
            dataset = one.widen(dataset, settings_of(method, name, one), models.get(name))
    return dataset


def digest_of_fitted(method: MethodConfig, task: Task, folder: Path) -> str:
    """Return what tells the fitted model of a method from others."""
    digests = [one.digest for one in generators_of(method, task).values() if one.digest]
    return digests[0](folder)
