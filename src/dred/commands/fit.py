"""`dred fit`."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import tyro

from dred.errors import ConfigError, lookup
from dred.files import OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import PRNGKeyArray

    from dred.tasks.gridworld.config import VAEConfig
    from dred.tasks.gridworld.generators.fitted import FittedModel
    from dred.tasks.gridworld.generators.folder import FitFolder
    from dred.tasks.gridworld.levels import LevelDataset


@dataclass(frozen=True)
class Fit:
    """Fit a model to a set of levels, and write a generator.

    If it is interrupted, the same command goes on from where it was.

    For example:
      dred fit --levels train.npz --out vae
      dred fit --levels train.npz --out vae-short --epochs 20
      dred fit --levels train.npz --out masked --model masked
      dred fit --levels train.npz --out vae-best --sweep 20 --folds 5
      dred fit --task control/pendulum --levels devices.npz --out device-vae

    A search writes sweep.csv (the candidates), relations.csv (how the bound goes with solvability
    and distance) and sweep.png.
    """

    levels: Path
    """The levels to fit to (.npz)."""
    out: Path
    """The folder to write. It must not exist yet, unless the same fit was interrupted there."""
    held_out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Other levels of the same kind, to say how near to them the model's levels are."""
    task: str = "gridworld"
    """What kind of problem the levels are of."""
    model: str = "vae"
    """Which of the task's generators that learn."""
    preset: str = "default"
    """Which settings: default, paper for those of the released code, or paper-table for those
    printed in the paper."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Passes over the levels, instead of the preset's number."""
    sweep: int = 0
    """Try so many random settings first, and fit with those of the highest bound."""
    folds: int = 0
    """Cross-validate: hold back each of so many parts of the levels in turn; in a search, for each
    of the settings, whose bound is then the mean."""
    judged: int = 1024
    """Levels of each source by which the model is judged at the end."""
    seed: int = 0
    """Another seed gives another model."""
    is_own: tyro.conf.Suppress[bool] = True
    """Not a step of another command, which has no such options."""

    def run(self) -> None:
        """Fit, save, and judge what the model makes."""
        if (self.task, self.model) != ("gridworld", "vae"):
            self._fit_another()
            return
        from dred.compute import keep_compiled_programs
        from dred.tasks.gridworld.generators.folder import FitFolder
        from dred.tasks.gridworld.generators.vae.fit import begin
        from dred.tasks.gridworld.generators.vae.whole import finish, fit_on, keys_of
        from dred.tasks.gridworld.generators.vae.words import history_words
        from dred.tasks.gridworld.levels import load
        from dred.tasks.gridworld.presets import VAES

        config = lookup(VAES, self.preset, what="preset")
        if self.epochs is not None:
            config = replace(config, epochs=self.epochs)
        if self.judged < 1:
            raise ConfigError(f"--judged (={self.judged}) must be at least 1.")
        if self.sweep < 0 or self.folds < 0 or self.folds == 1:
            raise ConfigError(
                f"--sweep (={self.sweep}) must be 0 or more, and --folds (={self.folds}) 0 or at "
                "least 2."
            )
        dataset = load(self.levels)
        held_out = None if self.held_out is None else load(self.held_out)
        task = self._task(config, held_out)
        keep_compiled_programs()
        key_fit, key_judge = keys_of(self.seed)
        begin(dataset.levels, config, key=key_fit)  # says now what cannot be fitted
        folder = FitFolder(self.out, task, dataset)
        try:
            if self.sweep:
                drawn = candidates_of(config, self.sweep, self.seed)
                config = search(folder, dataset, held_out, config, drawn, self.folds, key_fit)
            if self.folds:
                cross_validate(folder, dataset, config, self.folds, key_fit)
            fitting = fit_on(folder, dataset, config, key_fit)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(folder.words_to_go_on()) from None
        except OutputError as error:
            raise OutputError(f"{error} {folder.words_to_go_on()}") from error
        generator = finish(folder, fitting, config, dataset, command=sys.argv)
        print(history_words(folder.history, has_advice=self.is_own))
        print(f"{self.out}: {config.epochs} epochs")
        report(generator, held_out, self.judged, key_judge)

    def _fit_another(self) -> None:
        """Fit another model, and say how near its levels are to those it was fitted to."""
        from dred import api
        from dred.evaluation.sources import source_distances
        from dred.registry import find_task
        from dred.tasks.gridworld.generators import FittedModel
        from dred.tasks.gridworld.generators.vae.whole import keys_of

        if self.sweep or self.folds:
            raise ConfigError("--sweep and --folds are for the gridworld's VAE.")
        task = find_task(self.task)
        held_out = None if self.held_out is None else task.level_format.load(self.held_out)
        changes = {} if self.epochs is None else {"epochs": self.epochs}
        fitted = api.fit(
            self.levels,
            out=self.out,
            model=self.model,
            task=self.task,
            preset=self.preset,
            set=changes,
            seed=self.seed,
        )
        if isinstance(fitted, FittedModel):
            print(fitted.words())
            print(self.out)
            report(
                fitted, cast("LevelDataset | None", held_out), self.judged, keys_of(self.seed)[1]
            )
            return
        load = task.generators[self.model].load
        models = {} if load is None else {self.model: load(self.out, fitted.dataset)}
        print(source_distances(task, fitted.dataset, held_out, models, seed=self.seed))
        print(f"{self.out}: {self.model} of {len(fitted.dataset)} levels of {task.name}")

    def _task(self, config: "VAEConfig", held_out: "LevelDataset | None") -> dict[str, Any]:
        """Return all on which the weights and the tables depend, besides the levels fitted to."""
        from dred.tasks.gridworld.generators.vae.whole import fit_task

        task = fit_task(config, seed=self.seed, sweep=self.sweep, folds=self.folds)
        if self.sweep:  # its candidates are compared with the levels held out
            task["held_out"] = None if held_out is None else held_out.digest
        return task


def candidates_of(base: "VAEConfig", count: int, seed: int) -> "list[VAEConfig]":
    """Return so many random settings; the first of a longer list are those of a shorter one."""
    import numpy as np

    from dred.tasks.gridworld.generators.vae.search import drawn_settings

    return [drawn_settings(base, np.random.default_rng([seed, i])) for i in range(count)]


def search(
    folder: "FitFolder",
    dataset: "LevelDataset",
    held_out: "LevelDataset | None",
    base: "VAEConfig",
    drawn: "Sequence[VAEConfig]",
    num_folds: int,
    key: "PRNGKeyArray",
) -> "VAEConfig":
    """Fit each of the candidates, and return that with the highest bound on levels held back."""
    from dred import progress
    from dred.tasks.gridworld.generators.vae.search import candidates, parts_held_back, trial

    rows = folder.rows("sweep")
    parts = parts_held_back(len(dataset), num_folds, base, key=key)
    fits = [(number, fold) for number in range(len(drawn)) for fold in range(len(parts))]
    with progress.bar("searching", len(fits), unit="fits", done=len(rows)) as advance:
        for number, fold in fits[len(rows) :]:
            row = trial(dataset, drawn[number], parts[fold], held_out, key=key)
            rows.append({"number": number, "fold": fold, **row})
            folder.write_rows("sweep", rows)
            advance(1, note=f"bound {row['elbo/held_back'] or float('nan'):.0f}")
    found = candidates(rows)
    tell_search(folder, [one._asdict() for one in found])
    best = found[0].number
    if num_folds:  # what `cross_validate` would find for the best is known already
        folder.write_rows("folds", [row for row in rows if row["number"] == best])
    return drawn[best]


def tell_search(folder: "FitFolder", found: "Sequence[dict[str, Any]]") -> None:
    """Print and write the candidates of a search, and how their bounds go with their levels."""
    from dred.files import write_text
    from dred.reports import sweep
    from dred.reports.kit.table import to_csv, to_markdown

    for table in (sweep.candidate_table(found), sweep.relation_table(found)):
        write_text(folder.path / f"{table.name}.csv", to_csv(table))
        print(to_markdown(table))
    sweep.scatter(found, folder.path / "sweep.png")


def cross_validate(
    folder: "FitFolder",
    dataset: "LevelDataset",
    config: "VAEConfig",
    count: int,
    key: "PRNGKeyArray",
) -> None:
    """Fit without each part of the levels in turn, and say how probable that part was then."""
    import numpy as np

    from dred import progress
    from dred.tasks.gridworld.generators.vae.fit import fit
    from dred.tasks.gridworld.generators.vae.search import parts_held_back
    from dred.tasks.gridworld.generators.vae.words import in_nats

    rows = folder.rows("folds")
    parts = parts_held_back(len(dataset), count, config, key=key)
    with progress.bar("cross-validating", len(parts), unit="folds", done=len(rows)) as advance:
        for number, held_back in list(enumerate(parts))[len(rows) :]:
            _, history = fit(dataset.levels, config, key=key, held_back=held_back)
            rows.append({"fold": number, "levels": len(held_back), **history[-1]})
            folder.write_rows("folds", rows)
            advance(1, note=f"bound {history[-1]['elbo/held_back']:.0f}")
    for row in rows:
        print(f"fold {row['fold']}, held back, in nats: {in_nats(row, 'held_back')}")
    bounds = [row["elbo/held_back"] for row in rows]
    print(f"{len(rows)} folds: bound {np.mean(bounds):.0f} ± {np.std(bounds):.0f}")


def report(
    generator: "FittedModel", held_out: "LevelDataset | None", count: int, key: "PRNGKeyArray"
) -> None:
    """Print how good a generator's levels are, beside those of other sources."""
    from dred.tasks.gridworld.generators.compare import other_sources
    from dred.tasks.gridworld.generators.quality import assess, drift_words, in_words

    dataset = generator.dataset
    made = {mode: generator.sample(count, mode=mode, key=key) for mode in generator.modes}
    sources = {**made, **other_sources(dataset, count, key=key), "the dataset": dataset.levels}
    rows = {name: assess(levels, dataset, held_out) for name, levels in sources.items()}
    print(in_words(rows))
    drift = drift_words(rows[generator.modes[0]], rows["the dataset"])
    print(drift, end="\n" if drift else "")
