"""Training with a progress bar: what `dred train`, `dred resume` and `dred.train` show."""

import math
from collections.abc import Callable
from contextlib import ExitStack

from dred import progress
from dred.progress import Advance
from dred.run_folder import RunFolder
from dred.training.begin import train_run
from dred.training.train import Progress


class Shown:
    """A bar that goes on with a run, and a line for each measurement."""

    def __init__(self, run: RunFolder, stack: ExitStack, say: Callable[[str], None]) -> None:
        self.run, self.stack, self.say = run, stack, say
        self.total = self.done = run.config.num_updates
        self.advance: Advance = lambda amount, note="": None

    def begin(self, updates: int, wanted: int) -> None:
        """Show the bar, unless there is nothing to do."""
        self.done = updates
        if updates < wanted:
            bar = progress.bar(str(self.run.path), wanted, unit="updates", done=updates)
            self.advance = self.stack.enter_context(bar)

    def tell(self, now: Progress) -> None:
        """Go on by a chunk."""
        rate = f"{now.transitions_per_second:,.0f} steps/s"
        note = f"{self._words(now.replay)} in replayed levels"
        self.advance(now.num_updates - self.done, note=f"{note}, {rate}")
        self.done = now.num_updates
        if now.test is not None or self.done == self.total:
            held_out = "" if now.test is None else f"{self._words(now.test)} held out, "
            self.say(f"update {self.done}: {note}, {held_out}{rate}")

    def _words(self, value: float) -> str:
        if math.isnan(value):
            return "no episode ended"
        is_share = self.run.task.headline == "solved_rate"
        return f"{value:.1%} solved" if is_share else f"return {value:.2f}"


def train_shown(
    run: RunFolder, *, say: Callable[[str], None] = lambda line: None, until: int | None = None
) -> None:
    """Train a run from where it is to its end, or `until` an update, with a progress bar."""
    with ExitStack() as stack:
        shown = Shown(run, stack, say)
        try:
            train_run(run, begun=shown.begin, tell=shown.tell, until=until)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Saved. Continue with: dred resume {run.path}") from None
