"""What a study consists of: a TOML file, the folder it fills, and the jobs that fill it.

    STUDY/levels/train.npz, test.npz     the levels
    STUDY/vae/                           a generator, if a method needs one
    STUDY/runs/METHOD-seed-K/            a run for each method and seed, evaluated
    STUDY/report/                        what came of it

All that is known of a job's progress is what is on disk, so a study that was stopped at any moment
goes on from there, here or elsewhere, and what is finished is never done again.
"""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dred.config import StudyConfig, TrainConfig
from dred.errors import ConfigError, lookup
from dred.generators.models import needs_fitted
from dred.presets import BUDGETS, METHODS, VAES, train_config
from dred.settings import read_settings


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
        """Where they come from."""
        return {"train": self.config.levels, "test": self.config.held_out}[name]

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
        return any(needs_fitted(METHODS[method]) for method in self.config.methods)

    def train_config(self, method: str) -> TrainConfig:
        """The settings of a method's runs."""
        config = train_config(method, self.config.preset)
        updates = self.config.updates or config.num_updates
        return replace(config, num_updates=updates)

    @property
    def pairs(self) -> list[tuple[str, int]]:
        """Method and seed of each run, in order: all methods with the first seed, and so on."""
        return [(method, seed) for seed in self.config.seeds for method in self.config.methods]


def read_study(file: Path) -> Study:
    """The study that a TOML file describes; its folder is beside the file unless it says where."""
    config = read_settings(StudyConfig, read_table(file), where=str(file))
    for method in config.methods:
        lookup(METHODS, method, what=f"method in {file}")
    lookup(BUDGETS, config.preset, what=f"preset in {file}")
    lookup(VAES, config.generator_preset, what=f"generator preset in {file}")
    return Study(config, folder_of(file, config.out))


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
