"""Writing files so that a final name never holds half a file."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from dred.errors import DredError


class OutputError(DredError):
    """A place that cannot be written to."""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` only if all goes well."""
    check_writable(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Stop now, before any work, if nothing could be written at `path`; makes its folder."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file to write.")
    probe = path.with_name(f".{path.name}.{secrets.token_hex(4)}.probe")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    finally:
        with suppress(OSError):  # its folder could not be made either, which has been said
            probe.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> str:
    """What to say when a file cannot be written."""
    reason = (error.strerror or str(error)).lower()
    return (
        f"{path} cannot be written: {reason}. Choose another place with --out, or make room or "
        "permission there; nothing was changed."
    )
