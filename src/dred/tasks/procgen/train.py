"""Many updates: the simulators, and what is written between updates."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dred import checkpoint
from dred.checkpoint import AnyShape
from dred.config import ProcgenConfig
from dred.errors import CheckpointError
from dred.run_folder import RunFolder, now
from dred.tasks.procgen.levels import ProcgenLevels
from dred.tasks.procgen.state import State, new_setup, new_state
from dred.tasks.procgen.states import FirstStates
from dred.tasks.procgen.update import Metrics, Returns, draw_watched_levels, update
from dred.training.state import FIRST_WEIGHTS, key_of_update, run_key
from dred.training.train import Say, finishing_first, passes

FIRST_WATCHED = 2**31 - 4  # a number that no update has, for keys
SAVED = ("state", "length", "level", "reward", "ended")


@dataclass(frozen=True)
class Progress:
    """What to tell about an update."""

    num_updates: int
    returned: float | None  # mean, of episodes that ended
    steps_per_second: float


class Trainer:
    """A run in progress."""

    def __init__(self, run: RunFolder, *, say: Say = print) -> None:
        self.run, self.say = run, say
        self.config = config = run.settings(ProcgenConfig)
        self.seed = run.seeds[0]
        self.key = run_key(self.seed)
        self.setup = new_setup(config)
        self.state: State = new_state(self.setup, key=jax.random.fold_in(self.key, FIRST_WEIGHTS))
        first_states = FirstStates(config.game, difficulty=config.difficulty)
        self.envs, self.watched = (
            ProcgenLevels(
                config.game, count, difficulty=config.difficulty, first_states=first_states
            )
            for count in (config.ppo.num_envs, 2 * config.watch_envs)
        )
        self.seconds = 0.0

    @property
    def num_updates(self) -> int:
        """Updates done."""
        return int(self.state.num_updates)

    def restore(self) -> None:
        """Go on from the newest checkpoint that is whole, or begin if there is none."""
        unknown = {name: AnyShape() for name in SAVED}
        like = (self.state, {"play": unknown, "watch": unknown})
        found = checkpoint.load_latest(self.run.checkpoints, like)
        if found is None:
            self._begin()
        else:
            (self.state, saved), warnings = found
            for envs, name in ((self.envs, "play"), (self.watched, "watch")):
                envs.restore({part: np.asarray(array) for part, array in saved[name].items()})
            for warning in warnings:
                self.say(warning)
        self.run.cut_metrics(self.num_updates)
        rows = self.run.metrics()
        self.seconds = float(rows[-1]["seconds"]) if rows else 0.0

    def _begin(self) -> None:
        """Levels 0, 1, 2 and so on, as released; any where the agent is only watched."""
        self.envs.reset_to(np.arange(self.config.ppo.num_envs) % self.config.num_levels)
        key = jax.random.fold_in(self.key, FIRST_WATCHED)
        self.watched.reset_to(np.asarray(draw_watched_levels(self.config, key=key))[0])

    def train(self, *, tell: Callable[[Progress], None] = lambda _: None) -> None:
        """Train to the end. An interruption finishes the update, saves, and is raised again."""
        config = self.config
        with finishing_first() as interrupted:
            while self.num_updates < config.num_updates:
                tell(self._one_update())
                is_last, stops = self.num_updates == config.num_updates, interrupted()
                due = passes(self.num_updates - 1, self.num_updates, config.checkpoint_every)
                if is_last or stops or due:
                    self._save()
                if is_last or stops:
                    self.run.note(status="finished" if is_last else "interrupted", ended=now())
                if stops:
                    raise KeyboardInterrupt

    def _one_update(self) -> Progress:
        begun = time.perf_counter()
        key = key_of_update(self.key, self.state.num_updates)
        self.state, metrics = update(self.state, self.envs, self.watched, setup=self.setup, key=key)
        found: Metrics = jax.device_get(metrics)
        seconds = time.perf_counter() - begun
        self.seconds += seconds
        row = self._row(found, seconds)
        self.run.append_metrics([row])
        steps = self.config.ppo.transitions_per_update
        return Progress(self.num_updates, row.get("return/replay"), steps / seconds)

    def _row(self, found: Metrics, seconds: float) -> dict[str, Any]:
        learned, watched = found
        losses, information = learned.losses, watched.information
        row: dict[str, Any] = {
            "seed": self.seed,
            "update": self.num_updates,
            "transitions": self.num_updates * self.config.ppo.transitions_per_update,
            "seconds": round(self.seconds, 3),
            "seconds_per_update": round(seconds, 4),
            **mean_return("replay", learned.returned),
            **mean_return("train", watched.train),
            **mean_return("test", watched.test),
            **known(
                mutual_information=float(information.nats),
                mutual_information_unfloored=float(information.unfloored),
                probe_accuracy=float(information.accuracy),
            ),
            "eta": float(learned.eta),
            "effective_levels": float(learned.effective_levels),
            "unseen_levels": int(learned.unseen),
            "value_loss": float(learned.value_loss),
            "loss/total": float(losses.total),
            "loss/policy": float(losses.policy),
            "loss/value": float(losses.value),
            "entropy": float(losses.entropy),
            "clip_fraction": float(losses.clip_fraction),
            "approx_kl": float(losses.approx_kl),
            "gradient_norm": float(losses.gradient_norm),
        }
        if "return/train" in row:
            if "return/test" in row:
                row["gen_gap"] = row["return/train"] - row["return/test"]
            if "return/replay" in row:
                row["shift_gap"] = row["return/replay"] - row["return/train"]
        return row

    def _save(self) -> None:
        path = checkpoint.path_of(self.run.checkpoints, self.num_updates)
        saved = {"play": self.envs.save(), "watch": self.watched.save()}
        checkpoint.save(path, (self.state, saved), keep=self.config.keep_checkpoints)


def known(**values: float) -> dict[str, float]:
    """Those of these numbers that could be measured."""
    return {name: value for name, value in values.items() if not math.isnan(value)}


def mean_return(name: str, returned: Returns) -> dict[str, float | int]:
    """The mean return of the episodes that ended, if any did, and how many they were."""
    count = int(returned.episodes)
    mean = {f"return/{name}": float(returned.total) / count} if count else {}
    return {f"episodes/{name}": count, **mean}


def trained(run: RunFolder, *, say: Say = print) -> State:
    """The state in the newest checkpoint of a run."""
    config = run.settings(ProcgenConfig)
    blank = jax.eval_shape(lambda: new_state(new_setup(config), key=run_key(0)))
    found = checkpoint.load_latest(run.checkpoints, (blank,))
    if found is None:
        raise CheckpointError(
            f"{run.path} has no checkpoint yet. Continue it with `dred procgen resume {run.path}`."
        )
    (state,), warnings = found
    for warning in warnings:
        say(warning)
    return state
