"""What a study consists of: a TOML file, the folder it fills, and the jobs that fill it.

    STUDY/levels/train.npz, test.npz     the levels
    STUDY/vae/                           a fitted generator, by the name of its kind, for each that
                                         a method needs; vae-seed-K/ if fitted for each seed
    STUDY/methods/NAME.toml              the methods that the file has as tables
    STUDY/runs/METHOD-seed-K/            a run for each method and seed, evaluated; if settings are
                                         varied, METHOD-SETTING=VALUE-seed-K; with several tasks or
                                         sets of levels, TASK-METHOD-LEVELS-…
    STUDY/report/                        what came of it
    STUDY/summary.csv                    a line for each run that is finished

All that is known of a job's progress is what is on disk, so a study that was stopped at any moment
goes on from there, here or elsewhere, and what is finished is never done again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

from dred.config import MethodConfig, TrainConfig
from dred.errors import ConfigError, lookup
from dred.files import write_text
from dred.generation import fitted_generator
from dred.plugins import load_plugins
from dred.presets import train_config
from dred.registry import find_method, find_task, full_name
from dred.settings import read_settings
from dred.settings import read_table as read_table
from dred.settings_text import as_toml
from dred.studies.config import MoreRunsConfig, StudyConfig
from dred.studies.find import find_study
from dred.studies.grid import Variant, as_file_name, flat, variants, with_variant
from dred.studies.rungs import check_search
from dred.task import Task
from dred.training.state import check_config


class Combination(NamedTuple):
    """What one run of a study is."""

    seed: int
    task: str
    levels: str  # one of its sets; empty if there is just one
    method: str
    variant: Variant


@dataclass(frozen=True)
class Study:
    """A study and its folder."""

    config: StudyConfig
    path: Path
    folder: Path
    """Where the study's file is, and what is beside it."""

    def levels(self, name: str, given: str = "") -> str:
        """Return the levels to train on or held out, "train" or "test", as commands name them.

        `given` is one of the study's `level_sets`. Nothing if the task has levels of its own.
        """
        source = given or self.source(name)
        if source.endswith(".npz"):
            return str(self.folder / source)
        is_made = bool(source) and self.makes_levels
        return str(self.path / "levels" / f"{name}.npz") if is_made else source

    @property
    def makes_levels(self) -> bool:
        """Return whether levels are made, rather than named as the task's own."""
        return self.task.make_levels is not None or self.task.default_levels is None

    def source(self, name: str) -> str:
        """Return where they come from: a name, or a file beside the study."""
        said = {"train": self.config.levels, "test": self.config.held_out}[name]
        source = said or self.task.usual_levels.get(name, "")
        return str(self.folder / source) if source.endswith(".toml") else source

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the names of its tasks."""
        return self.config.tasks or (self.config.task,)

    @property
    def task(self) -> Task:
        """Return what kind of problem its runs are about: the first task, where there are more."""
        return find_task(self.tasks[0])

    @cached_property
    def methods(self) -> dict[str, MethodConfig]:
        """Its methods, by name."""
        found = [find_method(said, self.folder) for said in self.config.methods]
        names = [method.name for method in found]
        if len(set(names)) != len(names):
            raise ConfigError(f"{self.path.name}: two of the methods have one name: {names}.")
        return dict(zip(names, found, strict=True))

    def method_word(self, name: str) -> str:
        """How a command names a method: a name or a file."""
        said = dict(zip(self.methods, self.config.methods, strict=True))[name]
        if isinstance(said, str):
            return str((self.folder / said).resolve()) if said.endswith(".toml") else said
        return str(self.path / "methods" / f"{as_file_name(name)}.toml")

    @property
    def plugins(self) -> list[str]:
        """The files that register what it names."""
        return [str((self.folder / file).resolve()) for file in self.config.plugins]

    def generator(self, method: str, seed: int) -> Path | None:
        """Return where the fitted generator of a run is, if its method needs one."""
        name = fitted_generator(self.methods[method], self.task)
        return self.path / self.fit_name(name, seed) if name else None

    def fit_name(self, model: str, seed: int) -> str:
        """Return what the fit of a kind of model is called that the runs of a seed have."""
        return f"{model}-seed-{seed}" if self.config.fit_each_seed else model

    @property
    def report(self) -> Path:
        """Where the report is."""
        return self.path / "report"

    @property
    def fitted(self) -> tuple[str, ...]:
        """Return the names of the generators that its methods need fitted."""
        names = [fitted_generator(method, self.task) for method in self.methods.values()]
        return tuple(dict.fromkeys(filter(None, names)))

    def train_config(self, method: str, variant: Variant = ()) -> TrainConfig:
        """The settings of a method's runs, with these changes."""
        task = self.task
        config = train_config(self.methods[method], self.config.preset, task.budgets, task.methods)
        updates = self.config.updates or config.num_updates
        where = f"{self.path.name}, grid, for {method}"
        config = replace(config, num_updates=updates, devices=self.config.devices)
        return with_variant(config, variant, where=where)

    @cached_property
    def combinations(self) -> list[Combination]:
        """What its runs are, in order: all with the first seed, then all with the next."""
        config, usual = self.config, MoreRunsConfig(seeds=self.config.seeds)
        found = [
            Combination(*one)
            for some in (usual, *self.more_runs)
            for one in product(
                some.seeds or config.seeds,
                some.tasks or self.tasks,
                some.level_sets or config.level_sets or ("",),
                some.methods or tuple(self.methods),
                self.variants,
            )
        ]
        if len(set(map(str, found))) != len(found):
            raise ConfigError(f"{self.path.name}: a table [[also]] names runs that are there.")
        return sorted(found, key=lambda one: config.seeds.index(one.seed))

    @property
    def more_runs(self) -> list[MoreRunsConfig]:
        """The tables [[also]], which name methods, tasks and seeds that the study has."""
        where = f"{self.path.name}, also"
        found = [read_settings(MoreRunsConfig, one, where=where) for one in self.config.also]
        known = {"method": tuple(self.methods), "task": self.tasks, "seed": self.config.seeds}
        for one in found:
            given = {"method": one.methods, "task": one.tasks, "seed": one.seeds}
            for what, names in given.items():
                for name in names:
                    lookup(
                        {str(n): n for n in known[what]},
                        str(name),
                        what=f"{what} of {self.path.name}",
                    )
        return found

    @property
    def variants(self) -> list[Variant]:
        """The changes of settings with which each method is trained."""
        combined = variants(self.config.grid, where=self.path.name)
        found = [*combined, *(tuple(flat(one).items()) for one in self.config.variants)]
        if len(set(map(str, found))) != len(found):
            raise ConfigError(f"{self.path.name}: two variants change the same settings alike.")
        return found


def check_is_file(file: Path) -> None:
    """Stop at a folder where the file of a study should be, and say what it is."""
    if file.is_dir():
        what = "a run" if (file / "run.json").exists() else "a folder"
        raise ConfigError(
            f"{file} is {what}, and not a study. Give the TOML file that names the methods and "
            "seeds to compare, such as studies/laptop.toml; what a single run came to, `dred "
            "evaluate` and `dred report` show."
        )


def read_study(file: Path, *, plugins: Sequence[Path] = ()) -> Study:
    """The study that a TOML file describes; its folder is beside the file unless it says where.

    The name of a study that comes with dred will do (`find_study`). Its jobs load these plug-ins,
    too.
    """
    check_is_file(file)
    source, file = find_study(file)
    config = read_settings(StudyConfig, read_table(source), where=str(file))
    files = [*config.plugins, *(str(path.resolve()) for path in plugins)]
    config = replace(
        config,
        task=full_name(config.task, file.parent),
        tasks=tuple(full_name(task, file.parent) for task in config.tasks),
        plugins=tuple(files),
    )
    study = Study(config, folder_of(file, config.out), file.parent)
    load_plugins(study.plugins)
    for name in study.tasks:
        find_task(name)
    if not study.source("train") and not config.level_sets and study.task.default_levels is None:
        raise ConfigError(f"{file}: {study.task.name} needs levels to train on: levels = FILE.npz.")
    lookup(study.task.budgets, config.preset, what=f"preset in {file}")
    presets = {name: one for one in study.task.generators.values() for name in one.fit_presets}
    if presets:
        lookup(presets, config.generator_preset, what=f"generator preset in {file}")
    configs = [study.train_config(*which) for which in product(study.methods, study.variants)]
    _ = study.combinations  # stops at runs that are named twice
    for one in configs:  # stops at what cannot be, before anything is made
        check_config(one, study.task)
    if config.search is not None:
        has_held_out = bool(study.levels("test")) or study.task.default_levels is not None
        totals, where = [one.num_updates for one in configs], f"{file}, search"
        check_search(config.search, totals, study.task, has_held_out=has_held_out, where=where)
    return study


def write_methods(study: Study) -> None:
    """Write the methods that are tables of the study, for the commands of its jobs."""
    for said, method in zip(study.config.methods, study.methods.values(), strict=True):
        if not isinstance(said, str):
            write_text(Path(study.method_word(method.name)), as_toml(method))


def folder_of(file: Path, out: str) -> Path:
    """The folder that a study fills."""
    return file.parent / (out or file.stem)
