"""Beginning and continuing runs: what `dred train`, `dred resume` and `dred.train` share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dred.compute import keep_compiled_programs, use_devices
from dred.config import TrainConfig, check_seed
from dred.devices import most_devices
from dred.errors import ConfigError, DatasetError, lookup
from dred.files import held
from dred.generation import digest_of_fitted, models_for
from dred.host import HostEnvironment
from dred.registry import full_name
from dred.run_folder import RunFolder, create_run
from dred.task import LevelSet, Task
from dred.training.state import check_config
from dred.training.track import TRACKERS, tracker
from dred.training.train import Progress, Trainer, check_one_seed


@dataclass(frozen=True)
class Inputs:
    """What a run is given."""

    levels: str | Path | LevelSet | None = None
    held_out: str | Path | LevelSet | None = None
    generator: Path | None = None

    @property
    def sets(self) -> "dict[str, str | Path | LevelSet]":
        """Return the sets of levels or their files, by what they are for."""
        given = {"train": self.levels, "test": self.held_out}
        return {name: levels for name, levels in given.items() if levels is not None}

    def with_defaults(self, task: Task) -> "Inputs":
        """Return the same with the task's own levels where none were given."""
        if task.default_levels is not None:
            usual = task.default_levels()
            return Inputs(
                usual["train"] if self.levels is None else self.levels,
                usual.get("test") if self.held_out is None else self.held_out,
                self.generator,
            )
        if self.levels is None:
            raise ConfigError(f"The task {task.name} needs levels to train on: give --levels FILE.")
        return self


def begin_run(
    out: Path,
    config: TrainConfig,
    inputs: Inputs,
    *,
    task: Task,
    task_name: str,
    seeds: Sequence[int],
    command: Sequence[str],
    track: str | None = None,
    preset: str = "",
    changes: Mapping[str, tuple[object, object]] | None = None,
) -> RunFolder:
    """Check everything, then make the folder of a new run."""
    seeds = tuple(check_seed(seed) for seed in seeds)
    if len(set(seeds)) != len(seeds):
        raise ConfigError(f"--seeds {list(seeds)} names a seed twice.")
    check_config(config, task)
    if isinstance(task.environment, HostEnvironment):
        check_one_seed(task, seeds)
        task.environment.need()
    inputs = inputs.with_defaults(task)
    files = {
        name: Path(given)
        if isinstance(given, str | Path) and Path(given).exists()
        else out / "given" / f"{name}.npz"
        for name, given in inputs.sets.items()
    }
    sets = {
        name: task.level_format.load(given) if isinstance(given, str | Path) else given
        for name, given in inputs.sets.items()
    }
    check_sizes(sets)
    models_for(config.method, task, sets["train"], inputs.generator)
    if track is not None:
        lookup(TRACKERS, track, what="tracker")
    return create_run(
        out,
        task=full_name(task_name, Path()),
        config=config,
        seeds=seeds,
        levels={
            name: {"path": str(path.resolve()), "digest": sets[name].digest}
            for name, path in files.items()
        },
        given={
            files[name]: sets[name]
            for name in inputs.sets
            if files[name].is_relative_to(out / "given")
        },
        generator=None if inputs.generator is None else noted(config, task, inputs.generator),
        command=command,
        track=track,
        preset=preset,
        changes=changes,
    )


def noted(config: TrainConfig, task: Task, generator: Path) -> dict[str, str]:
    """Return what a run notes of its generator, to find the same one again."""
    digest = digest_of_fitted(config.method, task, generator)
    return {"path": str(generator.resolve()), "digest": digest}


def spread_out(config: TrainConfig, devices: int) -> TrainConfig:
    """Return the settings for so many devices, 0 for all that agents can be shared out to."""
    if devices < 0:
        raise ConfigError(f"--devices (={devices}) must be 0, for all there are, or more.")
    available = use_devices(devices)
    return replace(config, devices=devices or most_devices(config.ppo, available))


def check_sizes(sets: Mapping[str, LevelSet]) -> None:
    """Stop at sets whose levels cannot be in one run."""
    shapes = {
        tuple(tuple(leaf.shape[1:]) for leaf in leaves_of(levels)) for levels in sets.values()
    }
    if len(shapes) > 1:
        sizes = sorted(max(shape, key=len) for shape in shapes)
        raise DatasetError(f"All levels of a run must have one size; these have {sizes}.")


def leaves_of(levels: LevelSet) -> list[Any]:
    """Return the arrays of a set."""
    import jax

    return jax.tree.leaves(levels.levels)


def train_run(
    run: RunFolder,
    *,
    begun: Callable[[int, int], None] = lambda done, total: None,
    tell: Callable[[Progress], None] = lambda now: None,
    until: int | None = None,
) -> None:
    """Train a run from where it is to its end; no other process may do so meanwhile.

    `begun` hears how many updates are done and wanted, `tell` of each chunk of them. With `until`
    it stops once so many updates are done, as it would stop if it were interrupted there.
    """
    if until is not None and until < 1:
        raise ConfigError(f"--until (={until}) must be at least 1.")
    with held(run.path):
        use_devices(run.config.devices)
        keep_compiled_programs()
        sets = {name: run.levels(name) for name in run.record.levels}
        trainer = Trainer(
            run,
            sets["train"],
            sets.get("test"),
            models=models_of(run, sets["train"]),
            track=tracker(run.record.track, run) if run.record.track else lambda rows: None,
        )
        trainer.restore()
        wanted = min(until or trainer.config.num_updates, trainer.config.num_updates)
        begun(trainer.num_updates, wanted)
        if trainer.num_updates < wanted:
            run.note(status="running")
            trainer.train(tell=tell, until=wanted)


def models_of(run: RunFolder, dataset: LevelSet) -> dict[str, Any]:
    """Return the models of a run's generators, which must not have changed."""
    given = run.record.generator
    path = None if given is None else Path(given.path)
    models = models_for(run.config.method, run.task, dataset, path)
    if (
        given is not None
        and path is not None
        and digest_of_fitted(run.config.method, run.task, path) != given.digest
    ):
        raise DatasetError(
            f"{path} has changed since {run.path} began. Put the old generator back, or start a "
            "new run."
        )
    return models
