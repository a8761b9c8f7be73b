"""Records of settings as TOML, every setting under its line of help.

`dred.settings.read_settings` reads what is written here, and gives the same record.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
import threading
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import cast

from dred.settings import NONE

WIDTH = 100
# Python 3.11 counts how deep it is in a tree for all threads together, and stops if two build one.
_PARSING = threading.Lock()


def as_toml(record: object, *, also: Mapping[str, str] | None = None) -> str:
    """Return a record as TOML; `also` has remarks to put under tables, by their dotted names."""
    return "\n\n".join(_tables(record, "", also or {})) + "\n"


def _tables(record: object, path: str, also: Mapping[str, str]) -> list[str]:
    """Return the table of a record and those of the records inside it."""
    helps = help_of(type(record))
    lines, inner = ([f"[{path}]"] if path else []), list[str]()
    for field in dataclasses.fields(record):  # pyright: ignore[reportArgumentType]
        value, name = getattr(record, field.name), field.name
        if dataclasses.is_dataclass(value) or isinstance(value, Mapping):
            below = f"{path}.{name}" if path else name
            first = _comment(helps.get(name, ""))
            if isinstance(value, Mapping):
                table = _free_table(below, cast("Mapping[str, object]", value), also)
                inner.append(f"{first}{table}")
            else:
                head, *rest = _tables(value, below, also)
                inner += [f"{first}{head}", *rest]
        else:
            lines.append(f"{_comment(helps.get(name, ''))}{name} = {value_text(value)}")
    return ["\n".join(lines), *inner] if lines else inner


def _free_table(path: str, table: Mapping[str, object], also: Mapping[str, str]) -> str:
    lines = [f"[{path}]", *(f"{key(name)} = {value_text(table[name])}" for name in table)]
    return "\n".join(lines) + (f"\n{_comment(also[path])}".rstrip() if path in also else "")


def value_text(value: object) -> str:
    """Return a value as a TOML file has it."""
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return "{" + ", ".join(f"{key(name)} = {value_text(one)}" for name, one in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, cast("list[object]", value))) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def key(name: str) -> str:
    """Return a name as a TOML file has it."""
    is_bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _comment(text: str) -> str:
    paragraphs = text.splitlines()
    wrapped = [line for one in paragraphs for line in textwrap.wrap(one, WIDTH - 2) or [""]]
    return "".join(f"# {line}".rstrip() + "\n" for line in wrapped)


@cache
def help_of(kind: type[object]) -> dict[str, str]:
    """Return the line of help of each setting: the text that follows it in the source."""
    try:
        with _PARSING:
            (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):  # a class that was not written in a file
        return {}
    body = cast(ast.ClassDef, found).body
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
