"""`dred evaluate`: how a trained agent does in levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.gaps import tell_gaps
from dred.commands.options import Place, Plugins
from dred.errors import ConfigError, DatasetError, did_you_mean
from dred.files import OutputError

if TYPE_CHECKING:
    from dred.evaluation.results import EvaluationConfig
    from dred.evaluation.suites import Results
    from dred.runs import Run
    from dred.task import LevelSet, Task


@dataclass(frozen=True)
class Evaluate:
    """Play every level of some sets with a trained agent, and write how it went.

    What is there already is not done again, and no results replace others: other levels of the same
    name, other --episodes and --greedy get files of their own, which RUN/evaluation/index.md lists.

    For example:
      dred evaluate runs/u --suite paper
      dred evaluate runs/u --suite test.npz mine.npz paper --episodes 3
      dred evaluate runs/u --suite test.npz --gaps
      dred evaluate runs/u --suite paper --over-training
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    plugins: Plugins = ()
    """Plug-ins, if those that runs note are elsewhere now or have changed."""
    suite: tuple[Path, ...] = (Path("paper"),)
    """Sets of levels (.npz); or paper, for the levels trained on, 2048 held out, 448 edge cases and
    216 large ones."""
    episodes: int = 1
    """Episodes in each level."""
    greedy: bool = False
    """Take the most probable action always, instead of drawing actions from the policy."""
    over_training: bool = False
    """Evaluate the policies that the run kept while it trained, at powers of two and every tenth of
    its updates, for curves in a report; instead of just the newest."""
    gaps: bool = False
    """Also measure GenGap, ShiftGap, how far the levels drawn are from the dataset, and what the
    agent knows about which level it is in; printed, and kept for reports."""
    levels: Place = None
    """Where the levels are now that it was trained on, if the run does not contain them."""
    held_out: Place = None
    """Where its other levels are now."""
    generator: Place = None
    """Where its generator is now."""
    seed: int = 0
    """Decides headings and actions."""

    def run(self) -> None:
        """Evaluate policies; one CSV file per set (and update, over training), and a line each."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.plugins import load_plugins
        from dred.runs import open_run
        from dred.training.given import now_at

        if self.episodes < 1:
            raise ConfigError(f"--episodes (={self.episodes}) must be at least 1.")
        check_seed(self.seed)
        load_plugins(self.plugins)
        keep_compiled_programs()
        run = open_run(self.path)
        now_at(run, levels=self.levels, held_out=self.held_out, generator=self.generator)
        sets = sets_named(self.suite, run)
        evaluate = self._over_training if self.over_training else self._newest
        try:
            lines = evaluate(run, sets)
        except (OutputError, KeyboardInterrupt) as error:
            kept = "Episodes that were played are kept; the same command goes on."
            raise type(error)(f"{error} {kept}".strip()) from error
        print("\n".join(lines))
        if self.gaps:
            print("\n".join(tell_gaps(run, seed=self.seed)))

    def _newest(self, run: "Run", sets: "dict[str, LevelSet]") -> list[str]:
        from dred import progress
        from dred.evaluation.suites import evaluate_run
        from dred.training.saved import newest_update, policies_of

        agents, update = policies_of(run), newest_update(run)
        lines: list[str] = []
        total, first = self._total(run, sets), progress.COMPILING
        with progress.bar("evaluating", total, unit="levels", first=first) as advance:
            for name, levels in sets.items():
                config = self._config(levels, update)
                found = evaluate_run(run, agents, levels, name, config, advance=advance)
                lines.append(
                    f"{name}: {found.solved.mean():.1%} of {len(levels)} levels solved, mean "
                    f"return {found.returned.mean():.3f}, {found.path}"
                )
                lines += lines_by_size(name, levels, found, run.task)
        return lines

    def _over_training(self, run: "Run", sets: "dict[str, LevelSet]") -> list[str]:
        from dred import progress
        from dred.evaluation.suites import over_training_in
        from dred.training.over_training import evaluate_over_training
        from dred.training.saved import kept_updates

        total = self._total(run, sets) * len(kept_updates(run))
        first = progress.COMPILING
        with progress.bar("evaluating", total, unit="levels", first=first) as advance:
            found = evaluate_over_training(run, sets, self._config, advance=advance)
        return [
            f"{name}: "
            + ", ".join(
                f"{one.solved.mean():.1%} after {update:,}" for update, one in curve.items()
            )
            + f" updates solved, {over_training_in(run)}/*/{name}.csv"
            for name, curve in found.items()
        ]

    def _total(self, run: "Run", sets: "dict[str, LevelSet]") -> int:
        return sum(len(levels) for levels in sets.values()) * len(run.seeds) * self.episodes

    def _config(self, levels: "LevelSet", update: int) -> "EvaluationConfig":
        from dred.evaluation.results import EvaluationConfig

        return EvaluationConfig(levels.digest, update, self.episodes, self.seed, self.greedy)


def lines_by_size(name: str, levels: "LevelSet", found: "Results", task: "Task") -> list[str]:
    """Return a line for each size of levels, if a set has several."""
    import numpy as np

    from dred.evaluation.by_size import name_of_part, places_by_size

    lines: list[str] = []
    for size, places in places_by_size(levels, task).items():
        here = np.isin(found.levels, places)
        lines.append(
            f"{name_of_part(name, size)}: {found.solved[here].mean():.1%} of {len(places)} levels "
            f"solved, mean return {found.returned[here].mean():.3f}"
        )
    return lines


def sets_named(names: Sequence[Path], run: "Run") -> "dict[str, LevelSet]":
    """Return the sets of levels that are named, by suites of the run's task or by files."""
    suites = run.task.suites
    sets: dict[str, LevelSet] = {}
    for path in names:
        named = suites.get(str(path))
        more = (
            {path.stem: load_set(path, run)} if named is None else named.make(run.levels("train"))
        )
        for name, levels in more.items():
            if name in sets and sets[name].digest != levels.digest:
                raise ConfigError(
                    f"Two of the sets have the same name, {name}. Rename one of the files, or "
                    "evaluate them one after the other."
                )
            sets[name] = levels
    return sets


def load_set(path: Path, run: "Run") -> "LevelSet":
    """Return the levels in a file; if there is none, say what can be named instead."""
    try:
        return run.task.level_format.load(path)
    except DatasetError:
        if path.exists() or path.suffix:
            raise
        known = ", ".join(run.task.suites) or "none"
        raise ConfigError(
            f"--suite {path}: there is no such file, and no suite of that name."
            f"{did_you_mean(str(path), run.task.suites)} Suites of {run.task.name}: {known}. Or "
            "give a file of levels (.npz)."
        ) from None
