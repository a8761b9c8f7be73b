"""`dred train` and `dred resume`."""

import sys
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.options import Changes
from dred.errors import ConfigError, DatasetError, lookup

if TYPE_CHECKING:
    from dred.config import TrainConfig
    from dred.runs import Run
    from dred.tasks.gridworld.levels import LevelDataset


@dataclass(frozen=True)
class Train:
    """Train an agent and write a run folder.

    METHOD is one of
      uniform   levels of the dataset, all alike
      plr       levels of the dataset, those with a high value loss more often
      dr        new random levels all the time
      rplr      random levels, of which those that teach something are kept and replayed
      accel     the same, from empty rooms, with small changes to the levels that were replayed
      accel-d   the same, from the dataset
      el-dred   the dataset, and more and more of small changes to it that teach something
      vae-dred  the dataset, and more and more of levels like it from a fitted generator
      resample-dred  the same with levels of the process that made the dataset: an upper bound

    For example:
      dred train plr --levels train.npz --held-out test.npz --out runs/plr --preset laptop
      dred train vae-dred --levels train.npz --generator vae --out runs/vae-dred
      dred train accel --levels train.npz --out runs/accel --preset smoke --seeds 0 1 2
      dred train el-dred --levels train.npz --out runs/half --set method.eta.end=0.5
    """

    method: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="METHOD")]
    """How levels are chosen."""
    levels: Path
    """The dataset of levels (.npz)."""
    out: Path
    """The run folder to write. It must not exist yet."""
    generator: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """A generator fitted to these levels with `dred fit`, for vae-dred."""
    held_out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Other levels, to see how the agent does in them while it trains."""
    preset: str = "laptop"
    """How much: paper (the paper's own, half a day), laptop (some five minutes on two cores), demo
    (a minute) or smoke (to see that it works); example for the levels of docs/overfitting.md."""
    updates: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Updates, instead of the preset's number."""
    changes: Changes = ()
    """Other settings to change, such as method.eta.end=0.5 or ppo.epochs=3. Reports then show a
    method of its own, called after them."""
    seed: int = 0
    """Another seed gives another run."""
    seeds: tuple[int, ...] = ()
    """Several seeds, trained in one program, instead of --seed."""
    drift_limit: float = 0.0
    """Warn if the levels drawn get farther than this from the dataset (Jensen–Shannon distance)."""
    drift_lowers_eta: bool = False
    """Then also draw fewer generated levels, until they are nearer again."""
    devices: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Devices over which the agents are spread: cores of a CPU, or accelerators; 0 for all, as in
    the presets laptop and demo."""
    track: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Also send metrics to tensorboard or wandb (pip install 'dred[track]')."""

    def run(self) -> None:
        """Train from the beginning."""
        from dred.config import check_seed
        from dred.presets import train_config
        from dred.runs import create_run
        from dred.studies.grid import from_words, with_variant
        from dred.tasks.gridworld.generators.models import facts_of, model_for
        from dred.tasks.gridworld.levels import load
        from dred.training.track import TRACKERS

        config = train_config(self.method, self.preset)
        if self.drift_lowers_eta and not self.drift_limit:
            raise ConfigError("--drift-lowers-eta needs a --drift-limit.")
        config = replace(
            config,
            num_updates=config.num_updates if self.updates is None else self.updates,
            drift_limit=self.drift_limit,
            drift_lowers_eta=self.drift_lowers_eta,
        )
        config = with_variant(config, from_words(chain(*self.changes)), where="--set")
        config = spread_out(config, config.devices if self.devices is None else self.devices)
        seeds = tuple(check_seed(seed) for seed in self.seeds or (self.seed,))
        if len(set(seeds)) != len(seeds):
            raise ConfigError(f"--seeds {list(seeds)} names a seed twice.")
        paths = {"train": self.levels, **({"test": self.held_out} if self.held_out else {})}
        sets = {name: load(path) for name, path in paths.items()}
        check_sizes(sets)
        model = model_for(config.method, sets["train"], self.generator)
        if self.track is not None:
            lookup(TRACKERS, self.track, what="tracker")
        run = create_run(
            self.out,
            config=config,
            seeds=seeds,
            levels={
                name: {"path": str(path.resolve()), "digest": sets[name].digest}
                for name, path in paths.items()
            },
            generator=None if self.generator is None else facts_of(self.generator),
            command=sys.argv,
            track=self.track,
        )
        carry_on(run, sets, model)


@dataclass(frozen=True)
class Resume:
    """Continue a run that was interrupted, exactly as if it had not been.

    For example:
      dred resume runs/u
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    seed: int = 0
    """Accepted for uniformity; the run has its own."""

    def run(self) -> None:
        """Go on from the last checkpoint."""
        from dred.compute import use_devices
        from dred.runs import open_run
        from dred.tasks.gridworld.generators.models import facts_of, model_for

        run = open_run(self.path)
        use_devices(run.config.devices)
        sets = {name: run.levels(name) for name in run.facts["levels"]}
        noted = run.facts.get("generator") or {}
        path = Path(noted["path"]) if noted else None
        model = model_for(run.config.method, sets["train"], path)
        if path is not None and facts_of(path) != noted:
            raise DatasetError(
                f"{path} has changed since {self.path} began. Put the old generator back, or start "
                "a new run."
            )
        carry_on(run, sets, model)


def spread_out(config: "TrainConfig", devices: int) -> "TrainConfig":
    """The settings for so many devices, 0 for as many as agents can be shared out to equally."""
    from dred.compute import use_devices
    from dred.devices import most_devices

    if devices < 0:
        raise ConfigError(f"--devices (={devices}) must be 0, for all there are, or more.")
    available = use_devices(devices)
    return replace(config, devices=devices or most_devices(config.ppo, available))


def check_sizes(sets: "dict[str, LevelDataset]") -> None:
    """Stop at sets of different sizes."""
    sizes = {dataset.shape for dataset in sets.values()}
    if len(sizes) > 1:
        raise DatasetError(f"All levels of a run must have one size; these have {sorted(sizes)}.")


def carry_on(run: "Run", sets: "dict[str, LevelDataset]", model: object) -> None:
    """Train a run from where it is, with a progress bar; no other process may do so meanwhile."""
    from dred.files import held

    with held(run.path):
        train_on(run, sets, model)


def train_on(run: "Run", sets: "dict[str, LevelDataset]", model: object) -> None:
    """The same, once nobody else can."""
    from dred import progress
    from dred.compute import keep_compiled_programs
    from dred.training.track import tracker
    from dred.training.train import Progress, Trainer

    keep_compiled_programs()
    told = run.facts.get("track")
    track = tracker(told, run) if told else lambda rows: None
    trainer = Trainer(run, sets["train"], sets.get("test"), model=model, track=track)
    trainer.restore()
    total, done = trainer.config.num_updates, trainer.num_updates
    if done >= total:
        print(f"{run.path} is finished: {total} updates")
        return
    run.note(status="running")
    try:
        with progress.bar(str(run.path), total, unit="updates", done=done) as advance:
            last = done

            def tell(now: Progress) -> None:
                nonlocal last
                advance(
                    now.num_updates - last,
                    note=f"{now.solved_rate:.0%} solved, {now.transitions_per_second:,.0f} steps/s",
                )
                last = now.num_updates
                tested = (
                    "" if now.test_solved_rate is None else f"{now.test_solved_rate:.1%} held out"
                )
                if tested or now.num_updates == total:
                    print(
                        f"update {now.num_updates}: {now.solved_rate:.1%} solved in training, "
                        f"{tested + ', ' if tested else ''}"
                        f"{now.transitions_per_second:,.0f} steps/s",
                        flush=True,
                    )

            trainer.train(tell=tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Saved. Continue with: dred resume {run.path}") from None
    print(f"{run.path}: {total} updates")
