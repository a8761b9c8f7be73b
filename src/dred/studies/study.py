"""What a study consists of: a TOML file, the folder it fills, and the jobs that fill it.

    STUDY/levels/train.npz, test.npz     the levels
    STUDY/vae/                           a generator, if a method needs one
    STUDY/runs/METHOD-seed-K/            a run for each method and seed, evaluated; if settings are
                                         varied, METHOD-SETTING=VALUE-seed-K
    STUDY/report/                        what came of it
    STUDY/summary.csv                    a line for each run that is finished

All that is known of a job's progress is what is on disk, so a study that was stopped at any moment
goes on from there, here or elsewhere, and what is finished is never done again.
"""

import tomllib
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from dred.config import TrainConfig
from dred.errors import ConfigError, lookup
from dred.generation import needs_fitted
from dred.presets import METHODS, train_config
from dred.registry import find_task
from dred.settings import read_settings
from dred.studies.config import StudyConfig
from dred.studies.grid import Variant, flat, variants, with_variant
from dred.task import Task


@dataclass(frozen=True)
class Study:
    """A study and its folder."""

    config: StudyConfig
    path: Path

    def levels(self, name: str) -> Path:
        """Where the levels to train on or those held out are: "train" or "test"."""
        source = self.source(name)
        is_file = source.endswith(".npz")
        return self.path.parent / source if is_file else self.path / "levels" / f"{name}.npz"

    def source(self, name: str) -> str:
        """Where they come from: a name, or a file beside the study."""
        source = {"train": self.config.levels, "test": self.config.held_out}[name]
        return str(self.path.parent / source) if source.endswith(".toml") else source

    @property
    def task(self) -> Task:
        """What kind of problem its runs are about."""
        return find_task(self.config.task)

    @property
    def generator(self) -> Path:
        """Where the generator is, if there is one."""
        return self.path / "vae"

    @property
    def report(self) -> Path:
        """Where the report is."""
        return self.path / "report"

    @property
    def needs_generator(self) -> bool:
        """Whether a method makes levels with a fitted model."""
        return any(needs_fitted(METHODS[method], self.task) for method in self.config.methods)

    def train_config(self, method: str, variant: Variant = ()) -> TrainConfig:
        """The settings of a method's runs, with these changes."""
        config = train_config(method, self.config.preset, self.task.budgets)
        updates = self.config.updates or config.num_updates
        where = f"{self.path.name}, grid, for {method}"
        config = replace(config, num_updates=updates, devices=self.config.devices)
        return with_variant(config, variant, where=where)

    @property
    def variants(self) -> list[Variant]:
        """The changes of settings with which each method is trained."""
        combined = variants(self.config.grid, where=self.path.name)
        found = [*combined, *(tuple(flat(one).items()) for one in self.config.variants)]
        if len(set(map(str, found))) != len(found):
            raise ConfigError(f"{self.path.name}: two variants change the same settings alike.")
        return found


def read_study(file: Path) -> Study:
    """The study that a TOML file describes; its folder is beside the file unless it says where."""
    config = read_settings(StudyConfig, read_table(file), where=str(file))
    for method in config.methods:
        lookup(METHODS, method, what=f"method in {file}")
    study = Study(config, folder_of(file, config.out))
    lookup(study.task.budgets, config.preset, what=f"preset in {file}")
    presets = {name: one for one in study.task.generators.values() for name in one.fit_presets}
    if presets:
        lookup(presets, config.generator_preset, what=f"generator preset in {file}")
    for method, variant in product(config.methods, study.variants):
        study.train_config(method, variant)  # stops at what cannot be, before anything is made
    return study


def read_table(file: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(
            f"There is no file {file}. Give a TOML file such as studies/laptop.toml."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from None


def folder_of(file: Path, out: str) -> Path:
    """The folder that a study fills."""
    return file.parent / (out or file.stem)
