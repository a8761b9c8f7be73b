"""Beginning and continuing runs: what `dred train`, `dred resume` and `dred.train` share."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dred.checkpoint import checkpoints_in, update_of
from dred.compute import keep_compiled_programs, use_devices
from dred.config import TrainConfig, check_seed
from dred.devices import most_devices
from dred.errors import ConfigError, DatasetError
from dred.files import OutputError, held
from dred.generation import digest_of_fitted, models_for
from dred.host import HostEnvironment
from dred.registry import full_name
from dred.run_folder import RunFolder, check_free, create_run
from dred.task import LevelSet, Task
from dred.training.given import kept
from dred.training.simulators import check_one_seed
from dred.training.state import check_config
from dred.training.track import check_tracker, tracker
from dred.training.train import Progress, Trainer


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
    check_free(out)
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
        for name, given in inputs.sets.items()
        if isinstance(given, str | Path) and Path(given).exists()
    }
    sets = {
        name: task.level_format.load(given) if isinstance(given, str | Path) else given
        for name, given in inputs.sets.items()
    }
    check_sizes(sets, task)
    models_for(config.method, task, sets["train"], inputs.generator)
    if track is not None:
        check_tracker(track)
    given = kept(sets, files, inputs.generator, config, task)
    return create_run(
        out,
        task=full_name(task_name, Path()),
        config=config,
        seeds=seeds,
        levels=given.levels,
        contents=given.contents,
        generator=given.generator,
        command=command,
        track=track,
        preset=preset,
        changes=changes,
    )


def spread_out(config: TrainConfig, devices: int) -> TrainConfig:
    """Return the settings for so many devices, 0 for all that agents can be shared out to."""
    if devices < 0:
        raise ConfigError(f"--devices (={devices}) must be 0, for all there are, or more.")
    available = use_devices(devices)
    return replace(config, devices=devices or most_devices(config.ppo, available))


def check_sizes(sets: Mapping[str, LevelSet], task: Task) -> None:
    """Stop at sets whose levels cannot be in one run, if those of the task must have one size."""
    if task.sizes_of is not None:
        return
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
    at_once: Callable[[], None] | None = None,
) -> None:
    """Train a run from where it is to its end; no other process may do so meanwhile.

    `begun` hears how many updates are done and wanted, `tell` of each chunk of them. With `until`
    it stops once so many updates are done, as it would stop if it were interrupted there. `at_once`
    ends the process, after a second Ctrl-C.
    """
    if until is not None and until < 1:
        raise ConfigError(f"--until (={until}) must be at least 1.")
    if run.record.status == "finished":
        return
    with held(run.path):
        use_devices(run.config.devices)
        keep_compiled_programs()
        try:
            trainer = trainer_of(run)
            done, total = trainer.num_updates, trainer.config.num_updates
            wanted = min(until or total, total)
            if done < wanted:
                run.note(status="running")
                trainer.train(
                    begun=lambda: begun(done, wanted), tell=tell, until=wanted, at_once=at_once
                )
        except KeyboardInterrupt:
            run.note_interruption()
            raise
        except OutputError as error:
            with suppress(OutputError):  # there may be no room for that either
                run.note_interruption()
            raise OutputError(f"{reason_of(error)} {saved_so_far(run)}") from error


def reason_of(error: OutputError) -> str:
    """Return what stopped a run that was being written, in words."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return str(error)
    what = (cause.strerror or str(cause)).lower()
    return f"The run could not be written: {what}. Make room or permission there, and go on."


def trainer_of(run: RunFolder) -> Trainer:
    """Return the training of a run as it was left."""
    sets = {name: run.levels(name) for name in run.record.levels}
    trainer = Trainer(
        run,
        sets["train"],
        sets.get("test"),
        models=models_of(run, sets["train"]),
        track=tracker(run.record.track, run) if run.record.track else lambda rows: None,
    )
    trainer.restore()
    return trainer


def saved_so_far(run: RunFolder) -> str:
    """Return how much of a run is on disk, and how to go on, in words."""
    saved = checkpoints_in(run.checkpoints)
    if not saved:
        return f"Nothing was saved yet. Begin it again with: dred resume {run.path}."
    done = f"{update_of(saved[-1]):,} of {run.config.num_updates:,} updates"
    return f"Saved: {done}. Continue with: dred resume {run.path}."


def models_of(run: RunFolder, dataset: LevelSet) -> dict[str, Any]:
    """Return the models of a run's generators, which must not have changed."""
    given = run.record.generator
    if given is None:
        return models_for(run.config.method, run.task, dataset, None)
    path = run.place_of(given)
    if not path.exists():
        raise DatasetError(
            f"{run.path} was given the generator {path}, which is not there any more. Say where it "
            "is now with --generator FOLDER."
        )
    models = models_for(run.config.method, run.task, dataset, path)
    if digest_of_fitted(run.config.method, run.task, path) != given.digest:
        raise DatasetError(
            f"{path} has changed since {run.path} began. Put the old generator back, or start a "
            "new run."
        )
    return models
