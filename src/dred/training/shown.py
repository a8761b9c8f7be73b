"""Training with a progress bar: what `dred train`, `dred resume` and `dred.train` show."""

import math
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from dred import progress
from dred.interruption import INTERRUPTED, leave
from dred.progress import COMPILING, QUIET, Advance
from dred.run_folder import RunFolder
from dred.training.begin import saved_so_far, train_run
from dred.training.train import Progress


class Shown:
    """A bar that goes on with a run, and lines: of measurements, and of all where there is no bar.

    Without a terminal there is a line for a chunk at most every ten seconds.
    """

    def __init__(self, run: RunFolder, stack: ExitStack, say: Callable[[str], None]) -> None:
        self.run, self.stack, self.say = run, stack, say
        self.total = self.done = run.config.num_updates
        self.has_bar = sys.stderr.isatty()
        self.last_line = -math.inf
        self.advance: Advance = lambda amount, note="": None

    def begin(self, updates: int, wanted: int) -> None:
        """Show the bar, and say that the program is compiled first."""
        self.done = updates
        what = str(self.run.path)
        bar = progress.bar(
            what, wanted, unit="updates", done=updates, first=COMPILING, has_lines=False
        )
        self.advance = self.stack.enter_context(bar)
        if not self.has_bar:
            self.say(f"{self.run.path}: {COMPILING}")

    def tell(self, now: Progress) -> None:
        """Go on by a chunk."""
        per_second = now.transitions_per_second
        rate = "" if per_second is None else f", {per_second:,.0f} steps/s"
        note = f"{self._words(now.replay)} in replayed levels"
        self.advance(now.num_updates - self.done, note=f"{note}{rate}")
        self.done = now.num_updates
        is_due = not self.has_bar and time.monotonic() - self.last_line >= QUIET
        if now.test is not None or self.done == self.total or is_due:
            self.last_line = time.monotonic()
            held_out = "" if now.test is None else f", {self._words(now.test)} held out"
            of_all = "" if self.done == self.total else f" of {self.total}"
            self.say(f"update {self.done}{of_all}: {note}{held_out}{rate}")

    def _words(self, value: float) -> str:
        if math.isnan(value):
            return "no episode ended"
        is_share = self.run.task.headline == "solved_rate"
        return f"{value:.1%} solved" if is_share else f"return {value:.2f}"


def train_shown(
    run: RunFolder,
    *,
    say: Callable[[str], None] = lambda line: None,
    until: int | None = None,
    is_process: bool = False,
) -> None:
    """Train a run from where it is to its end, or `until` an update, with a progress bar.

    If this is all that the process does, a second Ctrl-C ends it; else it is raised.
    """
    with ExitStack() as stack:
        shown = Shown(run, stack, say)

        def stop_at_once() -> None:
            stack.close()
            words = f"{saved_so_far(run)} What was done since is lost."
            print(f"\ndred: stopped at once. {words}", file=sys.stderr)
            leave(INTERRUPTED)

        at_once = stop_at_once if is_process else None
        try:
            train_run(run, begun=shown.begin, tell=shown.tell, until=until, at_once=at_once)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(saved_so_far(run)) from None
