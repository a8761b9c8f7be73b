"""`dred procgen`: adaptive level sampling in Procgen, the paper's section 3."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dred.commands.options import Changes
from dred.errors import DredError

if TYPE_CHECKING:
    from rich.table import Table

    from dred.run_folder import RunFolder as Run
    from dred.tasks.procgen.evaluate import Scores
    from dred.tasks.procgen.study import TrainInProcgen

RunFolder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]


@dataclass(frozen=True)
class TrainProcgen:
    """Train an agent in a Procgen game, then see how it does in training and in test levels.

    GAME is one of the sixteen: bigfish, bossfight, caveflyer, chaser, climber, coinrun, dodgeball,
    fruitbot, heist, jumper, leaper, maze, miner, ninja, plunder, starpilot.

    STRATEGY says which training level comes next: uniform; value-l1, where the critic is most
    wrong; mi, where the level is hardest to guess from what the agent makes of it; and value-l1
    mixed, later on, with either of the others.

    For example:
      dred procgen train bigfish --strategy value-l1 --out runs/fish
      dred procgen train miner --strategy uniform --preset paper --num-levels 500 --out runs/miner
      dred procgen train maze --strategy value-l1+mi --set strategy.eta.end=0.5 --out runs/maze
    """

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """The game."""
    out: Annotated[Path, tyro.conf.arg(metavar="RUN")]
    """The run folder to make."""
    strategy: str = "uniform"
    """uniform, value-l1, mi, value-l1+uniform or value-l1+mi."""
    preset: str = "laptop"
    """How much: paper (25 million steps), laptop (about an hour) or smoke (seconds)."""
    difficulty: Literal["easy", "hard"] = "easy"
    """Of the game."""
    num_levels: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Levels to train on, instead of the preset's number."""
    updates: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Updates, instead of the preset's number."""
    changes: Changes = ()
    """Other settings to change, such as strategy.eta.end=0.5. Reports then show a strategy of its
    own, called after them."""
    seed: int = 0
    """Another seed gives another run."""

    def run(self) -> None:
        """Train from the beginning."""
        from dred.config import check_seed
        from dred.errors import lookup
        from dred.run_folder import create_run
        from dred.studies.grid import from_words, with_variant
        from dred.tasks.procgen.presets import procgen_config
        from dred.tasks.procgen.simulator import GAMES, need_procgen

        lookup({name: name for name in GAMES}, self.game, what="Procgen game")
        base = procgen_config(self.game, self.strategy, self.preset)
        config = replace(
            base,
            difficulty=self.difficulty,
            num_levels=base.num_levels if self.num_levels is None else self.num_levels,
            num_updates=base.num_updates if self.updates is None else self.updates,
        )
        config = with_variant(config, from_words(chain(*self.changes)), where="--set")
        need_procgen()
        seeds = (check_seed(self.seed),)
        name = f"procgen/{self.game}"
        run = create_run(
            self.out, task=name, config=config, seeds=seeds, levels={}, command=sys.argv
        )
        carry_on(run)


@dataclass(frozen=True)
class ResumeProcgen:
    """Continue a run in Procgen that was interrupted, exactly as if it had not been.

    For example:
      dred procgen resume runs/fish
    """

    path: RunFolder
    """The run folder."""
    seed: int = 0
    """Accepted for uniformity; the run has its own."""

    def run(self) -> None:
        """Go on from the last checkpoint."""
        from dred.runs import open_run

        carry_on(open_run(self.path))


@dataclass(frozen=True)
class EvaluateProcgen:
    """Play with a trained agent in training levels, in test levels, and in levels as it drew them.

    For example:
      dred procgen evaluate runs/fish
      dred procgen evaluate runs/fish --episodes 1000
    """

    path: RunFolder
    """The run folder."""
    episodes: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Episodes in training levels, rounded up to equally many in each, and as many in the other
    two; if not given, the preset's number."""
    seed: int = 0
    """Decides actions and test levels."""

    def run(self) -> None:
        """Evaluate and print."""
        from dred.config import check_seed
        from dred.files import held
        from dred.runs import open_run

        run, seed = open_run(self.path), check_seed(self.seed)
        with held(run.path):
            evaluate_and_print(run, self.episodes, seed)


@dataclass(frozen=True)
class ReportProcgen:
    """Compare runs in Procgen: a page, tables and figures.

    For example:
      dred procgen report runs/fish-u runs/fish-v --out report
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folders."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """The folder to make."""
    seed: int = 0
    """Decides the resamples of intervals."""

    def run(self) -> None:
        """Write it."""
        from dred.runs import open_run
        from dred.tasks.procgen.gather import curves_of, outcomes_of, setups_of
        from dred.tasks.procgen.report import write_report

        runs = [open_run(path) for path in self.runs]
        write_report(
            outcomes_of(runs),
            self.out,
            curves=curves_of(runs),
            setups=setups_of(runs),
            seed=self.seed,
        )
        print(self.out / "report.html")


@dataclass(frozen=True)
class StudyProcgen:
    """Do all that is missing of a study in Procgen: runs, evaluations, report.

    It can be stopped at any moment; the same command goes on. What is finished is not done again.

    For example:
      dred procgen study studies/procgen-laptop.toml
      dred procgen study studies/procgen-laptop.toml --status
      dred procgen study studies/procgen-paper.toml --on ray --cpus 8 --gpus 1
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY.toml")]
    """The study."""
    status: bool = False
    """Only show how far it is."""
    on: Literal["local", "ray"] = "local"
    """Here, one run after the other, or on a Ray cluster that shares the study's folder."""
    cpus: float = 2.0
    """Ray: processors for each run."""
    gpus: float = 0.0
    """Ray: accelerators for each run; a part of one is possible."""
    seed: int = 0
    """Decides the resamples of intervals; the study names the seeds of its runs."""

    def run(self) -> None:
        """Run it."""
        from rich.console import Console

        from dred.commands.study import do_runs
        from dred.studies.summary import write_summary
        from dred.tasks.procgen.simulator import need_procgen
        from dred.tasks.procgen.study import read_procgen_study, runs_in_procgen

        study = read_procgen_study(self.file)
        jobs = runs_in_procgen(study)
        if self.status:
            Console().print(status_table(study.path, jobs))
            return
        need_procgen()
        for job in jobs:
            job.check()
        failures = do_runs(study.path, [], jobs, on=self.on, cpus=self.cpus, gpus=self.gpus)
        finished = tuple(job.run.path for job in jobs if job.state() == "finished")
        if finished:
            ReportProcgen(finished, out=study.report, seed=self.seed).run()
            print(write_summary(study.path, jobs))
        if failures:
            raise DredError(f"{len(failures)} of {len(jobs)} runs failed. The first: {failures[0]}")


def status_table(path: Path, jobs: "Sequence[TrainInProcgen]") -> "Table":
    """A row per run: how far it is, and how well its agent does."""
    from rich.table import Column, Table

    from dred.commands.study import how_far

    name = Column("run", overflow="fold")
    table = Table(name, "state", "updates", "return, train", "test", title=str(path))
    for job in jobs:
        total = job.config.num_updates
        table.add_row(*how_far(job, total, ("return/train", "return/test"), ".2f"))
    return table


VERBS: Mapping[str, type] = {
    "train": TrainProcgen,
    "resume": ResumeProcgen,
    "evaluate": EvaluateProcgen,
    "report": ReportProcgen,
    "study": StudyProcgen,
}


def carry_on(run: "Run") -> None:
    """Train a run from where it is, with a progress bar, and evaluate it."""
    from dred.compute import keep_compiled_programs
    from dred.config import ProcgenConfig
    from dred.files import held
    from dred.tasks.procgen.evaluate import is_evaluated

    total = run.settings(ProcgenConfig).num_updates
    keep_compiled_programs()
    with held(run.path):
        if run.record.status != "finished":
            train_on(run)
        print(f"{run.path}: {total} updates")
        if not is_evaluated(run):
            evaluate_and_print(run, None, 0)


def train_on(run: "Run") -> None:
    """Train to the end; nobody else may do so meanwhile."""
    from dred import progress
    from dred.tasks.procgen.train import Progress, Trainer

    trainer = Trainer(run)
    trainer.restore()
    total, done = trainer.config.num_updates, trainer.num_updates
    every = trainer.config.checkpoint_every
    run.note(status="running")
    try:
        with progress.bar(str(run.path), total, unit="updates", done=done) as advance:

            def tell(now: Progress) -> None:
                score = "" if now.returned is None else f"return {now.returned:.2f}, "
                advance(1, note=f"{score}{now.steps_per_second:,.0f} steps/s")
                if now.num_updates % every == 0:
                    print(words_of(run.metrics()[-every:]), flush=True)

            trainer.train(tell=tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Continue with: dred procgen resume {run.path}") from None


def words_of(rows: "Sequence[Mapping[str, Any]]") -> str:
    """A line about some updates: means of what was measured in them."""

    def mean(name: str) -> str:
        values = [row[name] for row in rows if name in row]
        return f"{sum(values) / len(values):.2f}" if values else "–"

    return (
        f"update {rows[-1]['update']}: return {mean('return/replay')} as levels are drawn, "
        f"{mean('return/train')} in training levels, {mean('return/test')} in test levels; "
        f"I(L; b) {mean('mutual_information')} nats"
    )


def evaluate_and_print(run: "Run", episodes: int | None, seed: int) -> "Scores":
    """Evaluate a run with a progress bar, and say what came of it."""
    from dred import progress
    from dred.compute import keep_compiled_programs
    from dred.config import ProcgenConfig
    from dred.tasks.procgen.evaluate import episodes_in, evaluate

    keep_compiled_programs()
    total = 3 * episodes_in(run.settings(ProcgenConfig), episodes)
    try:
        with progress.bar("evaluating", total, unit="episodes") as advance:
            scores = evaluate(run, episodes=episodes, seed=seed, advance=advance)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Evaluate with: dred procgen evaluate {run.path}") from None
    print(
        f"{run.path}: return {scores.train:.2f} in training levels, {scores.test:.2f} in test "
        f"levels; GenGap {scores.gen_gap:.2f}, ShiftGap {scores.shift_gap:.2f} with "
        f"{scores.effective_levels:.1f} levels in effect, I(L; b) {scores.mutual_information:.2f} "
        f"nats, accuracy {scores.probe_accuracy:.1%}"
    )
    return scores
