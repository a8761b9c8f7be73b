"""The settings that a study varies: every combination of the values in its `[grid]`.

A run whose settings were changed is of a method of its own, which is called after the changes, so
that nothing takes it for a run of the method as it is.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import cast

from dred.config import TrainConfig
from dred.errors import ConfigError
from dred.settings import varied

Variant = tuple[tuple[str, object], ...]  # settings and their values

OUTERMOST = "method."  # which goes without saying in names


def variants(grid: Mapping[str, object], *, where: str) -> list[Variant]:
    """Every combination, the last setting changing fastest; one without changes if there is none.

    Values are checked where they are put to use.
    """
    lists = {name: values_of(name, some, where=where) for name, some in flat(grid).items()}
    return [tuple(zip(lists, values, strict=True)) for values in product(*lists.values())]


def flat(table: Mapping[str, object], before: str = "") -> dict[str, object]:
    """Tables inside a table as dotted names, as TOML makes such tables of names without quotes."""
    found: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            found |= flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def values_of(name: str, values: object, *, where: str) -> list[object]:
    """The values of a setting."""
    several = cast("list[object]", values) if isinstance(values, list) else []
    if not several:
        raise ConfigError(
            f"{where}, grid, {name}: expected a list of at least one value, found {values!r}."
        )
    if len({json.dumps(value) for value in several}) != len(several):
        raise ConfigError(f"{where}, grid, {name}: {several} names a value twice.")
    return several


def with_variant(config: TrainConfig, variant: Variant, *, where: str) -> TrainConfig:
    """The settings with these changes; the method is called after them."""
    if not variant:
        return config
    changed = varied(config, dict(variant), where=where)
    name = f"{changed.method.name} {label(variant)}"
    return replace(changed, method=replace(changed.method, name=name))


def label(variant: Variant) -> str:
    """The changes in words: eta.end=0.5 staleness=0.1."""
    return " ".join(f"{shortened(name)}={value_text(value)}" for name, value in variant)


def shortened(name: str) -> str:
    """The name of a setting without what goes without saying."""
    return name.removeprefix(OUTERMOST)


def value_text(value: object) -> str:
    """A value as it is written in a TOML file, but text without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def folder_part(variant: Variant) -> str:
    """The changes as part of a folder's name, which begins with a hyphen; empty if none."""
    return f"-{as_file_name(label(variant))}" if variant else ""


def as_file_name(text: str) -> str:
    """Text as the name of a file or folder."""
    return re.sub(r"[^\w.=+-]+", "-", text)


def as_words(variant: Variant) -> list[str]:
    """The changes as an option of a command."""
    words = [f"{name}={json.dumps(value)}" for name, value in variant]
    return ["--set", *words] if words else []


def from_words(words: Iterable[str]) -> Variant:
    """The changes that such an option asks for; values as in a TOML file, text also without quotes.

    For example: method.eta.end=0.5
    """
    found: dict[str, object] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise ConfigError(
                f"--set {word}: expected NAME=VALUE, for example --set ppo.learning_rate=0.001."
            )
        if name in found:
            raise ConfigError(f"--set gives {name} twice.")
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = text
    return tuple(found.items())
