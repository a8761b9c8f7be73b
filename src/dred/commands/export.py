"""`dred export`: a trained agent for programs without dred."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.commands.options import Plugins


@dataclass(frozen=True)
class Export:
    """Write a trained policy as plain arrays, to act with NumPy alone.

    `dred/exported_policy.py` reads it; that file needs nothing but NumPy and can be copied.

    For example:
      dred export runs/u --out policy.npz
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    out: Path
    """Where to write the policy (.npz)."""
    update: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """After which update, of those that the run kept; the newest if not given."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="K")] = None
    """The agent of which seed; the run's first if not given."""
    half: bool = False
    """Round weights to 16 bits: half the size, and nearly always the same actions."""
    plugins: Plugins = ()
    """Plug-ins, if those that the run notes are elsewhere now or have changed."""

    def run(self) -> None:
        """Export and say what was written."""
        from dred.export import export_policy
        from dred.files import check_writable
        from dred.plugins import load_plugins
        from dred.runs import open_run

        load_plugins(self.plugins)
        run = open_run(self.path)
        check_writable(self.out)
        digest = export_policy(run, self.out, seed=self.seed, update=self.update, half=self.half)
        print(f"{self.out}: policy of {run.config.method.name}, digest {digest[:12]}")
