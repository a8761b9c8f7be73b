"""Records of settings from tables of TOML files; what is wrong is named."""

import dataclasses
import operator
import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast

from dred.errors import ConfigError, did_you_mean
from dred.former import new_name

Record = TypeVar("Record")
NONE = "none"  # how a TOML file, which has no word for it, says that there is none


def read_settings(kind: type[Record], table: Mapping[str, object], *, where: str) -> Record:
    """The record of this kind that a table of a TOML file describes.

    Keys left out keep their defaults; unknown keys, wrong types and bad values are errors that
    begin with `where`.
    """
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # pyright: ignore[reportArgumentType]
    values: dict[str, object] = {}
    for key, value in table.items():
        if key not in fields:
            hint, known = renamed_to(key) or did_you_mean(key, fields), ", ".join(fields)
            raise ConfigError(f"{where}: there is no setting {key!r}.{hint} Settings: {known}.")
        values[key] = _read_value(hints[key], value, where=f"{where}, {key}")
    missing = [
        name
        for name, f in fields.items()
        if name not in values
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(f"{where}: these settings are missing: {', '.join(missing)}.")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def varied(record: Record, changes: Mapping[str, object], *, where: str) -> Record:
    """The record with some settings changed, which are named from the outermost: "ppo.epochs".

    Changes take effect together. Unknown names, wrong types and bad values are errors that begin
    with `where`.
    """
    for name in changes:
        _check_name(record, name, where=where)
    return _varied(record, changes, where=where)


def merged(table: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """Return a table with what another one changes, also in the tables inside it."""
    found = dict(table)
    for name, value in changes.items():
        old = found.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            old, new = cast("Mapping[str, object]", old), cast("Mapping[str, object]", value)
            found[name] = merged(old, new)
        else:
            found[name] = value
    return found


def read_table(file: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"There is no file {file}. Give the path of a TOML file.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"{file} cannot be read: {reason}. Give a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} is not valid TOML: {error}. Mend it there, or give another file."
        ) from None


def _varied(record: Record, changes: Mapping[str, object], *, where: str) -> Record:
    hints = typing.get_type_hints(type(record))
    inner: dict[str, dict[str, object]] = {}
    values: dict[str, object] = {}
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        if rest and isinstance(getattr(record, name), Mapping):
            table = values.get(name, getattr(record, name))
            values[name] = _with(cast("Mapping[str, object]", table), rest.split("."), value)
        elif rest:
            inner.setdefault(name, {})[rest] = value
        else:
            values[name] = _read_value(hints[name], value, where=f"{where}, {name}")
    for name, some in inner.items():
        values[name] = _varied(getattr(record, name), some, where=f"{where}, {name}")
    try:
        return dataclasses.replace(record, **values)  # pyright: ignore[reportArgumentType]
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _with(table: Mapping[str, object], path: Sequence[str], value: object) -> dict[str, object]:
    """Return a table with one value changed, in a table inside it if the path has several parts."""
    first, *rest = path
    found = table.get(first)
    inner = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
    return {**table, first: _with(inner, rest, value) if rest else value}


def names_in(record: object) -> list[str]:
    """Every setting of a record, named from the outermost; a record inside is not one itself."""
    names: list[str] = []
    for field in dataclasses.fields(record):  # pyright: ignore[reportArgumentType]
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            names += [f"{field.name}.{name}" for name in names_in(value)]
        else:
            names.append(field.name)
    return names


def _check_name(record: object, name: str, *, where: str) -> None:
    """Stop unless a record has this setting."""
    names = names_in(record)
    if name in names:
        return
    inside = [one for one in names if one.startswith(f"{name}.")]
    if inside:
        raise ConfigError(f"{where}: {name!r} holds several settings. Name one: {listed(inside)}.")
    for end in range(1, name.count(".") + 1):
        outer = ".".join(name.split(".")[:end])
        if outer in names:
            value = operator.attrgetter(outer)(record)
            if isinstance(value, Mapping):
                return  # a free table, whose names are checked where they are used
            has = "is not used here" if value is None else f"is {value!r}"
            raise ConfigError(f"{where}: there is no setting {name!r}, as {outer!r} {has}.")
    outer = name.rpartition(".")[0]
    near = [one for one in names if one.rpartition(".")[0] == outer] or names
    hint = renamed_to(name) or did_you_mean(name, names)
    raise ConfigError(f"{where}: there is no setting {name!r}.{hint} Settings: {listed(near)}.")


def renamed_to(name: str) -> str:
    """Return a sentence about what a setting is called now, if it had this name before."""
    now = new_name(name)
    return "" if now is None else f" It is called {now} now."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names)


def _read_value(kind: object, value: object, *, where: str) -> object:
    """One value of a TOML table, as the type that the record wants."""
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return read_settings(
            cast("type[object]", kind), cast("dict[str, object]", value), where=where
        )
    if kind == tuple[float, float]:
        ends = cast("list[object]", value) if isinstance(value, list) else [value, value]
        if len(ends) == 2 and all(_is_number(end) for end in ends):
            return tuple(float(cast("float", end)) for end in ends)
        raise ConfigError(f"{where}: expected a number or [low, high], found {value!r}.")
    if kind is float and _is_number(value):
        return float(cast("float", value))
    if typing.get_origin(kind) is Literal:
        if value not in typing.get_args(kind):
            choices = ", ".join(repr(choice) for choice in typing.get_args(kind))
            raise ConfigError(f"{where}: {value!r} is not one of {choices}.")
        return value
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        (element, *_) = typing.get_args(kind)
        items = enumerate(cast("list[object]", value), start=1)
        return tuple(_read_value(element, item, where=f"{where}, entry {n}") for n, item in items)
    if typing.get_origin(kind) is UnionType:
        return _read_union(kind, value, where=where)
    wanted = cast("type[object]", typing.get_origin(kind) or kind)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise ConfigError(f"{where}: expected {_in_words(wanted)}, found {value!r}.")
    if isinstance(value, int) and abs(value) > 2**31:
        raise ConfigError(f"{where}: {value} is too large; at most {2**31}.")
    return value


def _read_union(kind: object, value: object, *, where: str) -> object:
    """A value of one of several types."""
    records = [option for option in typing.get_args(kind) if dataclasses.is_dataclass(option)]
    if records and isinstance(value, dict):
        return _read_value(records[0], cast("dict[str, object]", value), where=where)
    wanted = [typing.get_origin(option) or option for option in typing.get_args(kind)]
    if value == NONE and NoneType in wanted and str not in wanted:
        return None
    if float in wanted and _is_number(value):
        return float(cast("float", value))
    if not any(isinstance(value, option) for option in wanted):
        choices = " or ".join(_in_words(option) for option in wanted)
        raise ConfigError(f"{where}: expected {choices}, found {value!r}.")
    return value


def _in_words(kind: type[object]) -> str:
    """What a type is called in a TOML file."""
    names: dict[type[object], str] = {
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        tuple: "a list",
        NoneType: f'"{NONE}"',
    }
    return names.get(kind, "a table")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
