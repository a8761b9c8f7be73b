"""Progress bars with rate and time left, on standard error or in a notebook.

They are silent when nobody is looking.
"""

from collections.abc import Generator
from contextlib import contextmanager
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


@contextmanager
def bar(what: str, total: int, *, unit: str, done: int = 0) -> Generator[Advance]:
    """Show a bar while the block runs; call the yielded function with each amount done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(unit),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}"),
    )
    console = Console(stderr=True)
    is_seen = console.is_terminal or console.is_jupyter
    with Progress(*columns, console=console, disable=not is_seen) as progress:
        task = progress.add_task(what, total=total, completed=done, note="")

        def advance(amount: int, /, note: str = "") -> None:
            progress.update(task, advance=amount, note=note)

        yield advance
