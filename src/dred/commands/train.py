"""`dred train` and `dred resume`."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.options import Changes
from dred.errors import ConfigError
from dred.progress import Advance

if TYPE_CHECKING:
    from dred.run_folder import RunFolder
    from dred.training.train import Progress


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
    task: str = "gridworld"
    """What kind of problem: gridworld, or one of your own, as FILE.py:NAME."""
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
        from dred.presets import train_config
        from dred.registry import find_task
        from dred.studies.grid import from_words, with_variant
        from dred.training.begin import Inputs, begin_run, spread_out

        task = find_task(self.task)
        config = train_config(self.method, self.preset, task.budgets)
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
        run = begin_run(
            self.out,
            config,
            Inputs(self.levels, self.held_out, self.generator),
            task=task,
            task_name=self.task,
            seeds=self.seeds or (self.seed,),
            command=sys.argv,
            track=self.track,
        )
        carry_on(run)


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
        from dred.runs import open_run

        carry_on(open_run(self.path))


def carry_on(run: "RunFolder") -> None:
    """Train a run from where it is, with a progress bar."""
    from dred import progress
    from dred.training.begin import train_run

    total = run.config.num_updates
    with ExitStack() as stack:
        done = total
        advance: Advance = lambda amount, note="": None  # noqa: E731  (until there is a bar)

        def begin(updates: int, wanted: int) -> None:
            nonlocal done, advance
            done = updates
            if done < wanted:
                bar = progress.bar(str(run.path), wanted, unit="updates", done=done)
                advance = stack.enter_context(bar)

        def tell(now: "Progress") -> None:
            nonlocal done
            rate = f"{now.transitions_per_second:,.0f} steps/s"
            advance(now.num_updates - done, note=f"{now.solved_rate:.0%} solved, {rate}")
            done = now.num_updates
            tested = now.test_solved_rate
            if tested is not None or done == total:
                held_out = "" if tested is None else f"{tested:.1%} held out, "
                print(
                    f"update {done}: {now.solved_rate:.1%} solved in training, {held_out}{rate}",
                    flush=True,
                )

        try:
            train_run(run, begun=begin, tell=tell)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Saved. Continue with: dred resume {run.path}") from None
    print(f"{run.path}: {total} updates")
