"""Runs, opened to be looked at or used.

run = dred.runs.open("runs/x")
run.config, run.metrics()
policy = run.policy()
"""

from pathlib import Path

from dred.agents.protocol import Agent
from dred.errors import ConfigError
from dred.run_folder import RunFolder
from dred.training.saved import SavedBuffer, buffers_of, policies_of


class Run(RunFolder):
    """A run folder with what training has left in it."""

    def policy(self, seed: int | None = None, *, update: int | None = None) -> Agent:
        """Return the trained agent: of a seed, or the first; newest, or after an update."""
        return policies_of(self, update)[self._place_of(seed)]

    def buffer(self, seed: int | None = None) -> SavedBuffer:
        """Return the levels in the buffer, most probable first: of a seed, or the first."""
        return buffers_of(self)[self._place_of(seed)]

    def _place_of(self, seed: int | None) -> int:
        wanted = self.seeds[0] if seed is None else seed
        if wanted not in self.seeds:
            raise ConfigError(f"{self.path} has the seeds {list(self.seeds)}, not {wanted}.")
        return self.seeds.index(wanted)


def open(path: str | Path) -> Run:
    """Open an existing run."""
    return open_run(path)


def open_run(path: str | Path) -> Run:
    """Open an existing run."""
    run = Run(Path(path))
    _ = run.record  # says what is wrong if it is none
    return run
