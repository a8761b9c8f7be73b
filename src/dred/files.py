"""Writing files so that a final name never holds half a file, and one process at a time."""

import os
import secrets
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dred.errors import DredError

_WRITING = threading.RLock()  # held by the thread that is writing a file


class OutputError(DredError):
    """A place that cannot be written to."""


class BusyError(DredError):
    """A folder in which another process is working."""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` only if all goes well."""
    path = check_writable(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with undisturbed():
        try:
            yield temporary
            os.replace(temporary, path)
        except OSError as error:
            raise OutputError(cannot_write(path, error)) from error
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def undisturbed(*, patience: float = -1) -> Generator[None]:
    """Let no other thread write, or end the process, while the block runs.

    It waits for another thread's block to end, for so many seconds at most if told.
    """
    is_held = _WRITING.acquire(timeout=patience)
    try:
        yield
    finally:
        if is_held:
            _WRITING.release()


def write_text(path: Path, content: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def check_writable(path: Path, *, inputs: Sequence[Path] = ()) -> Path:
    """Stop now, before any work, if nothing could be written at `path`; makes its folder.

    Returns the file that will be written, which is another one if `path` is a link. Never a device
    or any other special file, and none of the `inputs` of the command.
    """
    path = path.resolve()
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file to write.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not an ordinary file, so it is not replaced. Give another.")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise OutputError(
                f"{given} is what is read, so it is not written to as well. Give another --out."
            )
    probe = path.with_name(f".{path.name}.{secrets.token_hex(4)}.probe")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    finally:
        with suppress(OSError):  # its folder could not be made either, which has been said
            probe.unlink(missing_ok=True)
    return path


def cannot_write(path: Path, error: OSError, *, instead: str = "Nothing was changed.") -> str:
    """What to say when a file cannot be written, and what became of the work."""
    reason = (error.strerror or str(error)).lower()
    return (
        f"{path} cannot be written: {reason}. Choose another place with --out, or make room or "
        f"permission there. {instead}"
    )


@contextmanager
def held(folder: Path, *, busy: DredError | None = None) -> Generator[None]:
    """Hold a folder while the block runs; stop, with `busy`, if another process holds it."""
    lock = FileLock(folder / "lock", blocking=False)  # of the system, so it ends with the process
    try:
        folder.stat()  # else the lock would make the folder
        lock.acquire()
    except Timeout:
        raise busy or BusyError(
            f"{folder} is in use: another process is working there. Wait for it, or end it first."
        ) from None
    except OSError as error:
        raise OutputError(cannot_write(folder, error)) from error
    try:
        yield
    finally:
        lock.release()
