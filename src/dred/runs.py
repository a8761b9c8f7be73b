"""Runs, opened to be looked at or used.

run = dred.runs.open("runs/x")
run.config, run.metrics()                                    # .to_pandas()
policy = run.policy()
memory, action = policy.act(policy.initial_memory(), observation, key=key)
"""

from pathlib import Path

from dred.errors import ConfigError
from dred.policy import Policy
from dred.rows import Rows
from dred.run_folder import RunFolder
from dred.training.saved import SavedBuffer, buffers_of, policies_of


class Run(RunFolder):
    """A run folder with what training has left in it."""

    def metrics(self) -> Rows:
        """Return what was measured in training: a row for each chunk of updates and seed."""
        return Rows(super().metrics())

    def policy(self, seed: int | None = None, *, update: int | None = None) -> Policy:
        """Return the trained agent: of a seed, or the first; newest, or after an update."""
        agent = policies_of(self, update)[self._place_of(seed)]
        return Policy(agent, self.task.from_gym)

    def buffer(self, seed: int | None = None, *, update: int | None = None) -> SavedBuffer:
        """Return the levels in the buffer, most probable first: of a seed, or the first.

        As it is in the newest checkpoint, or in the one after an update if it is still there.
        """
        return buffers_of(self, update)[self._place_of(seed)]

    def __str__(self) -> str:
        last = self.metrics()[-1:]
        done = last[0]["update"] if last else 0
        measured = [
            f"{name} {row[name]:.3g}"
            for row in last
            for name in (f"{self.task.headline}/{suite}" for suite in ("train", "test"))
            if name in row
        ]
        words = [f"{done} of {self.config.num_updates} updates", self.record.status, *measured]
        return f"{self.path}: {self.config.method.name}, {', '.join(words)}"

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
