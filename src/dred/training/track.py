"""Metrics for others to draw: TensorBoard and Weights & Biases, both optional."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from dred.errors import ConfigError, lookup
from dred.extras import how_to_install
from dred.metrics import METRICS, of_features
from dred.run_folder import RunFolder

Row = Mapping[str, Any]
Track = Callable[[Sequence[Row]], None]  # told of every chunk: a row per seed


def tracker(name: str, run: RunFolder) -> Track:
    """The tracker of this name, for a run."""
    return lookup(TRACKERS, name, what="tracker")(run)


def check_tracker(name: str) -> None:
    """Stop at a tracker that there is not, or that is not installed."""
    lookup(TRACKERS, name, what="tracker")
    needed(*NEEDS[name])


def needed(module: str, title: str) -> Any:  # noqa: ANN401  (a module)
    """A module that only trackers need."""
    try:
        return import_module(module)
    except ImportError:
        raise ConfigError(
            f"{title} is not installed. Install it with: {how_to_install('track')}. Or train "
            "without --track: all metrics are in metrics.jsonl anyway."
        ) from None


def to_tensorboard(run: RunFolder) -> Track:
    """Curves in the folder `tensorboard` of the run, one set per seed."""
    summary = needed(*NEEDS["tensorboard"])
    writers = {
        seed: summary.Writer(str(run.path / "tensorboard" / f"seed-{seed}")) for seed in run.seeds
    }

    meanings = {one.name: one.meaning for one in (*METRICS, *of_features(run.task.features))}

    def track(rows: Sequence[Row]) -> None:
        for row in rows:
            for name, value in numbers_in(row).items():
                meaning = meanings.get(name)
                writers[row["seed"]].add_scalar(name, value, row["update"], description=meaning)
        for writer in writers.values():
            writer.flush()

    return track


def to_wandb(run: RunFolder) -> Track:
    """A run of the project `dred`; curves of several seeds have the seed in their names."""
    wandb = needed(*NEEDS["wandb"])
    logged = wandb.init(
        project="dred", name=run.path.name, dir=str(run.path), config=run.record.told["config"]
    )

    def track(rows: Sequence[Row]) -> None:
        for row in rows:
            prefix = f"seed-{row['seed']}/" if len(rows) > 1 else ""
            named = {f"{prefix}{name}": value for name, value in numbers_in(row).items()}
            logged.log(named | {"update": row["update"]})

    return track


def numbers_in(row: Row) -> dict[str, float]:
    """What can be drawn as a curve."""
    left_out = {"seed", "update"}
    return {
        name: float(value)
        for name, value in row.items()
        if name not in left_out and isinstance(value, int | float)
    }


NEEDS = {  # a module, and what it is called
    "tensorboard": ("tensorboard.summary", "TensorBoard"),
    "wandb": ("wandb", "Weights & Biases"),
}
TRACKERS: dict[str, Callable[[RunFolder], Track]] = {
    "tensorboard": to_tensorboard,
    "wandb": to_wandb,
}
