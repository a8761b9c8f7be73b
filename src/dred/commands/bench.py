"""`dred bench`: measure speed on this machine."""

import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import tyro

from dred import progress
from dred.errors import ConfigError, DredError, lookup
from dred.extras import how_to_install


@dataclass(frozen=True)
class Bench:
    """Measure how fast dred is here, next to others, in one run.

    NAME is wfc (layouts by wave function collapse, against the solver in the minigrid package), env
    (steps a second in the gridworld, against minigrid itself), control (steps a second of the
    control environments and of the host adapter, against Gymnasium's own), train (transitions a
    second at each preset on one device and on all, against the machine's own matrix product),
    methods (seconds per update of every method, generator and measurement), procgen (steps a
    second of the laptop preset with each network: in all, playing, learning, watching) or start
    (how long `dred --help` takes to answer, against Python).

    For example:
      dred bench wfc
      dred bench env
      dred bench wfc --json --repeats 1
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = "wfc"
    """What to measure."""
    json: bool = False
    """Print one JSON object and nothing else."""
    repeats: int = 3
    """Runs of the slow competitors, of which the median counts."""
    structures: tuple[str, ...] = ()
    """wfc: structures or pattern files; all built-in ones if not given."""
    seed: int = 0
    """Which layouts are made."""

    def run(self) -> None:
        """Measure and print."""
        import json

        if self.repeats < 1:
            raise ConfigError(f"--repeats (={self.repeats}) must be at least 1.")
        benches: Mapping[str, Callable[[], Result]] = {
            "wfc": self._wfc,
            "env": partial(self._with_gymnasium, "env"),
            "control": partial(self._with_gymnasium, "control"),
            "train": self._train,
            "methods": self._methods,
            "procgen": self._procgen,
            "start": self._start,
        }
        bench = lookup(benches, self.name, what="benchmark")
        to_stderr = partial(print, file=sys.stderr, flush=True)
        with progress.in_lines(to_stderr) if self.json else nullcontext():
            result, show = bench()
        if self.json:
            print(json.dumps(result))
        else:
            show()

    def _wfc(self) -> "Result":
        from dred.benchmarks import wfc

        return wfc.run(self.structures, repeats=self.repeats, seed=self.seed)

    def _train(self) -> "Result":
        from dred.benchmarks import presets

        return presets.run(repeats=self.repeats, seed=self.seed)

    def _methods(self) -> "Result":
        from dred.benchmarks import methods

        return methods.run(repeats=self.repeats, seed=self.seed)

    def _procgen(self) -> "Result":
        from dred.benchmarks import procgen

        return procgen.run(repeats=self.repeats, seed=self.seed)

    def _start(self) -> "Result":
        from dred.benchmarks import start

        return start.run(repeats=self.repeats)

    def _with_gymnasium(self, name: str) -> "Result":
        try:
            module = importlib.import_module(f"dred.benchmarks.{name}")
        except ModuleNotFoundError as error:
            raise DredError(
                f"The comparison needs the package {error.name!r}, which is not installed. Install "
                f"it with: {how_to_install('gym')}"
            ) from None
        return module.run(repeats=self.repeats, seed=self.seed)


Result = tuple[dict[str, object], Callable[[], None]]  # for JSON, and what prints it as a table
