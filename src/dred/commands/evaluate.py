"""`dred evaluate`: how a trained agent does in levels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError


@dataclass(frozen=True)
class Evaluate:
    """Play every level of some sets with a trained agent, and write how it went.

    For example:
      dred evaluate runs/u --suite test.npz
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    suite: tuple[Path, ...]
    """Sets of levels (.npz)."""
    episodes: int = 1
    """Episodes in each level."""
    seed: int = 0
    """Decides headings and actions."""

    def run(self) -> None:
        """Evaluate the newest checkpoint; one CSV file per set, and a line each."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.evaluation.suites import evaluate_run
        from dred.levels import load
        from dred.runs import open_run
        from dred.training.saved import policies_of

        if self.episodes < 1:
            raise ConfigError(f"--episodes (={self.episodes}) must be at least 1.")
        keep_compiled_programs()
        run = open_run(self.path)
        sets = {path.stem: load(path) for path in self.suite}
        if len(sets) != len(self.suite):
            raise ConfigError("Two of the sets have the same file name; rename one.")
        networks = policies_of(run)
        for name, dataset in sets.items():
            rows = evaluate_run(
                run, networks, dataset, name, episodes=self.episodes, seed=check_seed(self.seed)
            )
            solved = sum(row.solved for row in rows) / len(rows)
            returned = sum(row.returned for row in rows) / len(rows)
            print(
                f"{name}: {solved:.1%} of {len(dataset)} levels solved, mean return "
                f"{returned:.3f}, {run.path / 'evaluation' / name}.csv"
            )
