"""Studies in Procgen: games × strategies × numbers of levels × seeds, as jobs like any others.

STUDY/runs/GAME-STRATEGY-|L|-seed-K/   a run, evaluated; if settings are varied, they follow |L|
STUDY/report/                          what came of it
STUDY/summary.csv                      a line for each run that is finished
"""

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from dred.config import ProcgenConfig
from dred.errors import lookup
from dred.presets import STRATEGIES
from dred.settings import read_settings
from dred.studies.config import ProcgenStudyConfig
from dred.studies.grid import Variant, as_words, folder_part, variants, with_variant
from dred.studies.jobs import RunJob, State
from dred.studies.study import folder_of, read_table
from dred.tasks.procgen.evaluate import is_evaluated
from dred.tasks.procgen.gather import outcome_of
from dred.tasks.procgen.presets import PROCGEN_BUDGETS, procgen_config
from dred.tasks.procgen.simulator import GAMES

MEASURED = ("train", "test", "gen_gap", "shift_gap", "effective_levels", "information")


@dataclass(frozen=True)
class ProcgenStudy:
    """A study and its folder."""

    config: ProcgenStudyConfig
    path: Path

    @property
    def report(self) -> Path:
        """Where the report is."""
        return self.path / "report"


@dataclass(frozen=True)
class TrainInProcgen(RunJob):
    """A run in Procgen. Training ends with an evaluation."""

    study: ProcgenStudy
    game: str
    strategy: str
    num_levels: int
    variant: Variant
    seed: int

    @property
    def config(self) -> ProcgenConfig:
        """The settings that the study asks for."""
        asked = self.study.config
        base = procgen_config(self.game, self.strategy, asked.preset)
        config = replace(
            base,
            difficulty=asked.difficulty,
            num_levels=self.num_levels,
            num_updates=asked.updates or base.num_updates,
        )
        where = f"{self.study.path.name}, grid, for {self.strategy}"
        return with_variant(config, self.variant, where=where)

    def state(self) -> State:
        """Finished once the final agent is evaluated."""
        if not self.has_begun:
            return "waiting"
        return "finished" if self.is_trained and is_evaluated(self.run) else "begun"

    def commands(self) -> list[list[str]]:
        """Train, go on, or just evaluate."""
        path = str(self.run.path)
        if self.is_trained:
            return [["procgen", "evaluate", path]]
        if self.has_begun:
            return [["procgen", "resume", path]]
        asked, config = self.study.config, self.config
        train = ["procgen", "train", self.game, "--strategy", self.strategy, "--out", path]
        train += ["--preset", asked.preset, "--difficulty", asked.difficulty]
        train += ["--num-levels", str(self.num_levels), "--updates", str(config.num_updates)]
        return [[*train, "--seed", str(self.seed), *as_words(self.variant)]]

    def check(self) -> None:
        """Stop if the run that is there was made with other settings than the study's."""
        if self.has_begun:
            self.stop_if_other(self.config, self.run.settings(ProcgenConfig))

    def summary(self) -> dict[str, object]:
        """Once it is finished: what it is, which settings were varied, and how its agent does."""
        outcome = outcome_of(self.run)
        return {
            **{"game": self.game, "strategy": self.strategy, "num_levels": self.num_levels},
            **{**dict(self.variant), "seed": self.seed},
            **{name: f"{getattr(outcome, name):.6f}" for name in MEASURED},
        }


def read_procgen_study(file: Path) -> ProcgenStudy:
    """The study that a TOML file describes; its folder is beside the file unless it says where."""
    config = read_settings(ProcgenStudyConfig, read_table(file), where=str(file))
    for game in config.games:
        lookup({name: name for name in GAMES}, game, what=f"game in {file}")
    for strategy in config.strategies:
        lookup(STRATEGIES, strategy, what=f"strategy in {file}")
    lookup(PROCGEN_BUDGETS, config.preset, what=f"preset in {file}")
    study = ProcgenStudy(config, folder_of(file, config.out))
    for job in runs_in_procgen(study):
        _ = job.config  # stops at what cannot be, before anything is made
    return study


def runs_in_procgen(study: ProcgenStudy) -> list[TrainInProcgen]:
    """The runs, in order."""
    config = study.config
    changes = variants(config.grid, where=study.path.name)
    return [
        TrainInProcgen(
            study,
            f"{game}-{strategy}-{count}{folder_part(variant)}-seed-{seed}",
            game,
            strategy,
            count,
            variant,
            seed,
        )
        for seed, count, game, strategy, variant in product(
            config.seeds, config.num_levels, config.games, config.strategies, changes
        )
    ]
