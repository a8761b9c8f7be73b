"""Progress bars with rate and time left, on standard error or in a notebook.

Where there is neither, nothing is shown, unless somebody asked for lines, as the command line does.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

QUIET = 10.0  # seconds between lines, where there is no bar
COMPILING = "compiling, which can take a minute the first time …"

Say = Callable[[str], None]
_SAY: ContextVar[Say | None] = ContextVar("say", default=None)


@contextmanager
def in_lines(say: Say) -> Generator[None]:
    """Let `say` tell of all work in the block that has no terminal for its bar."""
    before = _SAY.set(say)
    try:
        yield
    finally:
        _SAY.reset(before)


@runtime_checkable
class Advance(Protocol):
    """Tells the bar that some more is done, and perhaps how it goes."""

    def __call__(self, amount: int, /, note: str = "") -> None:
        """So much more is done."""
        ...


class _Rate(ProgressColumn):
    """Things a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} {self.unit}/s")


class _Lines:
    """Lines about work that goes on, at most one in ten seconds."""

    def __init__(self, say: Say, what: str, total: int, *, unit: str, done: int) -> None:
        self.say, self.what, self.total, self.unit, self.done = say, what, total, unit, done
        self.last = time.monotonic()

    def advance(self, amount: int, /, note: str = "") -> None:
        """Count so much more, and tell of it if the last line is long ago."""
        self.done += amount
        if time.monotonic() - self.last >= QUIET:
            self.last = time.monotonic()
            of_all = f"{self.done:,} of {self.total:,} {self.unit}"
            self.say(f"{self.what}: {', '.join(filter(None, (of_all, note)))}")


@contextmanager
def bar(
    what: str, total: int, *, unit: str, done: int = 0, first: str = "", has_lines: bool = True
) -> Generator[Advance]:
    """Show a bar while the block runs; call the yielded function with each amount done.

    `first` says what goes on before anything is done. Where there is no bar, and somebody asked for
    lines, it is a line, and there is another at most every ten seconds; unless the caller has lines
    of its own.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(unit),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
    )
    console = Console(stderr=True)
    is_seen = console.is_terminal or console.is_jupyter
    say = None if is_seen or not has_lines else _SAY.get()
    lines = None if say is None else _Lines(say, what, total, unit=unit, done=done)
    if say is not None and first:
        say(f"{what}: {first}")
    with Progress(*columns, console=console, disable=not is_seen) as progress:
        task = progress.add_task(what, total=total, completed=done, note=first)

        def advance(amount: int, /, note: str = "") -> None:
            progress.update(task, advance=amount, note=note)
            if lines is not None:
                lines.advance(amount, note)

        yield advance
