"""What can go wrong, in our own words.

Every error that a user can cause is one of these. Its text is one paragraph that says what was
wrong, what was expected and what to do; the command line prints it without a traceback.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

Value = TypeVar("Value")
LONGEST_REASON = 200  # characters


class DredError(Exception):
    """Something the user can put right."""


class ConfigError(DredError):
    """A setting, or a combination of settings, that cannot work."""


class DatasetError(DredError):
    """Levels, or a file of levels, that are not what they should be."""


class CheckpointError(DredError):
    """A saved state that cannot be restored."""


class UnknownNameError(ConfigError):
    """A name that is not in a list of choices."""


def lookup(choices: Mapping[str, Value], name: str, *, what: str) -> Value:
    """The entry called `name`; if there is none, an error that lists the choices."""
    if name in choices:
        return choices[name]
    known = ", ".join(sorted(choices))
    hint = did_you_mean(name, choices)
    raise UnknownNameError(f"There is no {what} called {name!r}.{hint} Choose from: {known}.")


def reason_of(error: Exception) -> str:
    """What an error of a library says, on one line and in no more than a few words."""
    words = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]} …"


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """A sentence that suggests the nearest of the choices; empty if none is near."""
    nearest = difflib.get_close_matches(name, choices, n=1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
