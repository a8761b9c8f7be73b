"""`dred train` and `dred resume`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.config import assembled
from dred.commands.options import Changes, Place, Plugins
from dred.errors import ConfigError

if TYPE_CHECKING:
    from dred.run_folder import RunFolder


@dataclass(frozen=True)
class Train:
    """Train an agent and write a run folder.

    METHOD is one of
      uniform   levels of the dataset, uniformly at random
      plr       levels of the dataset, those with a high value loss more often
      dr        new random levels all the time
      rplr      random levels, of which those that teach something are kept and replayed
      accel     the same, from empty rooms, with small changes to the levels that were replayed
      accel-d   the same, from the dataset
      el-dred   the dataset, and more and more of small changes to it that teach something
      vae-dred  the dataset, and more and more of levels like it from a fitted generator
      resample-dred  the same with levels of the process that made the dataset: an upper bound

    For Procgen there are also value-l1, mi, value-l1+uniform and value-l1+mi, of the paper's
    section 3. A TOML file has a method of your own (docs/settings-and-plugins.md).

    For example:
      dred train plr --levels train.npz --held-out test.npz --out runs/plr --preset laptop
      dred train vae-dred --levels train.npz --generator vae --out runs/vae-dred
      dred train accel --levels train.npz --out runs/accel --preset smoke --seeds 0 1 2
      dred train el-dred --levels train.npz --out runs/half --set method.eta.end=0.5
      dred train value-l1 --task procgen/bigfish --out runs/fish
      dred train mine.toml --levels train.npz --out runs/mine --config settings.toml
    """

    method: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="METHOD")]
    """How levels are chosen."""
    out: Path
    """The run folder to write. It must not exist yet."""
    levels: Place = None
    """The dataset of levels (.npz); in Procgen also a range, 0-199, which is the default."""
    task: str = "gridworld"
    """What kind of problem: gridworld, procgen/GAME, or one of your own, as FILE.py:NAME."""
    generator: Place = None
    """A generator fitted to these levels with `dred fit`, for vae-dred."""
    held_out: Place = None
    """Other levels, to see how the agent does in them while it trains."""
    preset: str = "laptop"
    """How much: paper (the paper's own, half a day), laptop (some five minutes on two cores), demo
    (a minute), smoke (seconds, to see that it works), or example, for the levels of
    docs/overfitting.md."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE.toml")] = None
    """Settings that differ from the preset's, as `dred config` prints them."""
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
    plugins: Plugins = ()
    """Files that register scores, generators, methods or tasks of your own."""
    until: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Stop after so many updates of those that the settings ask for; `dred resume` goes on."""
    track: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Also send metrics to tensorboard or wandb, which are an extra of dred, called track."""

    def run(self) -> None:
        """Train from the beginning."""
        from dred.training.begin import Inputs, begin_run, spread_out

        task, made = assembled(
            self.method,
            task=self.task,
            preset=self.preset,
            config=self.config,
            changes=self.changes,
            plugins=self.plugins,
            options=self._options(),
        )
        config = made.config
        run = begin_run(
            self.out,
            spread_out(config, config.devices if self.devices is None else self.devices),
            Inputs(self.levels, self.held_out, self.generator),
            task=task,
            task_name=self.task,
            seeds=self.seeds or (self.seed,),
            command=sys.argv,
            track=self.track,
            preset=self.preset,
            changes=made.changes,
        )
        if made.changes:
            print(made.words(), flush=True)
        carry_on(run, until=self.until)

    def _options(self) -> dict[str, object]:
        """Return the settings that have an option of their own, where it was given."""
        if self.drift_lowers_eta and not self.drift_limit:
            raise ConfigError("--drift-lowers-eta needs a --drift-limit.")
        if self.updates is not None and self.updates < 1:
            raise ConfigError(f"--updates (={self.updates}) must be at least 1.")
        given: dict[str, object] = {}
        if self.updates is not None:
            given["num_updates"] = self.updates
        if self.drift_limit:
            given |= {"drift_limit": self.drift_limit, "drift_lowers_eta": self.drift_lowers_eta}
        return given


@dataclass(frozen=True)
class Resume:
    """Continue a run that was interrupted, exactly as if it had not been.

    A run contains its levels and its generator, so it can be moved. Only if they were very large,
    or if an earlier version made the run, may it have to be told where they are now.

    For example:
      dred resume runs/u
      dred resume runs/u --levels /data/train.npz --generator /data/vae
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    until: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Stop again after so many updates in all."""
    plugins: Plugins = ()
    """Plug-ins, and the file of its task, if those that the run notes are elsewhere now or have
    changed."""
    levels: Place = None
    """Where the levels are now that it trains on, if it does not contain them."""
    held_out: Place = None
    """Where its other levels are now."""
    generator: Place = None
    """Where its generator is now."""

    def run(self) -> None:
        """Go on from the last checkpoint."""
        from dred.plugins import load_plugins
        from dred.run_folder import RunFolder

        load_plugins(self.plugins)
        run = RunFolder(self.path)
        if self.until is not None and self.until < 1:
            raise ConfigError(f"--until (={self.until}) must be at least 1.")
        if run.record.status == "finished":
            print(f"{run.path}: {run.config.num_updates} updates, all done already")
            return
        if self.levels or self.held_out or self.generator:
            from dred.training.given import now_at

            now_at(run, levels=self.levels, held_out=self.held_out, generator=self.generator)
        carry_on(run, until=self.until)


def carry_on(run: "RunFolder", *, until: int | None = None) -> None:
    """Train a run from where it is, and say how it goes."""
    from functools import partial

    from dred.training.shown import train_shown

    train_shown(run, say=partial(print, flush=True), until=until, is_process=True)
    done = run.metrics()[-1]["update"]
    print(f"{run.path}: {done} updates")
