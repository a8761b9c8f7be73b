"""Many updates, many seeds: compiled chunks, and what is written between them."""

import atexit
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dred import checkpoint
from dred.config import TrainConfig
from dred.devices import placed
from dred.evaluation.evenly import spread
from dred.evaluation.gaps import gap_bound
from dred.generation import with_room
from dred.host import HostEnvironment, rows
from dred.host_parts import names_saved
from dred.interruption import Interruption, finishing_first
from dred.run_folder import RunFolder, now
from dred.task import LevelSet, RunContext
from dred.training.chunk import train_chunk, train_chunk_on_host
from dred.training.measure import information_about, of_untrained, returns_drawn, returns_in
from dred.training.milestones import milestones
from dred.training.phases import makers_of
from dred.training.saved import in_order, save_levels, save_policies
from dred.training.simulators import simulators_of, with_simulators
from dred.training.state import Metrics, TrainState, new_setup, new_states, run_key
from dred.training.track import Track
from dred.training.watch import buffer_of, describe_buffers, weigh

Say = Callable[[str], None]
EVALUATION, PROBE = 2**31 - 1, 2**31 - 3  # numbers that no update has, for keys
KEPT_LEVELS = 64  # of the buffer, in `levels/`, at each evaluation


def say_at_once(words: str) -> None:
    """Print, also where output goes to a file."""
    print(words, flush=True)


@dataclass(frozen=True)
class Progress:
    """What to tell about a chunk of updates."""

    num_updates: int
    replay: float  # by the task's headline number: the share solved, or the mean return
    transitions_per_second: float | None  # not of a chunk that was compiled first
    test: float | None  # the same on levels held out


class Trainer:
    """A run in progress: its state, its levels, and what is written between chunks."""

    def __init__(
        self,
        run: RunFolder,
        dataset: LevelSet,
        held_out: LevelSet | None,
        *,
        models: dict[str, Any] | None = None,
        say: Say = say_at_once,
        track: Track = lambda rows: None,
    ) -> None:
        self.run, self.say, self.track = run, say, track
        self.config: TrainConfig = run.config
        self.setup = new_setup(self.config, run.task)
        self.keys = jnp.stack([run_key(seed) for seed in run.seeds])
        prepare = self.setup.environment.prepare
        roomy = with_room(self.config.method, run.task, dataset.levels, models or {})
        levels = jax.tree.map(jnp.asarray, roomy)
        self.context = RunContext(levels, models or {}, simulators_of(self.setup, run.seeds))
        self.states = placed(new_states(self.setup, levels, run.seeds), self.setup.mesh)
        sets = {"train": dataset, **({} if held_out is None else {"test": held_out})}
        self.suites = {
            name: prepare(spread(levels, self.config.evaluate_levels).levels)
            for name, levels in sets.items()
        }
        self.makers = makers_of(self.config.method)
        self.warned: set[int] = set()  # seeds whose scores were not all finite, once it was said
        self.milestones = milestones(self.config.num_updates, self.config.chunk)
        self.seconds = 0.0
        self.seconds_per_update: float | None = None  # as it went last
        self.is_compiled = False  # as it is after the first chunk
        self.begun_at, self.chunk_begun = 0, time.perf_counter()
        self.interruption = Interruption()

    @property
    def num_updates(self) -> int:
        """Updates done."""
        return int(self.states.num_updates[0])

    def restore(self) -> None:
        """Go on from the newest checkpoint that is whole, if there is one."""
        found = checkpoint.load_latest(self.run.checkpoints, self._saved_like())
        if found is None:
            self._begin_simulators()
        else:
            states, warnings = found
            for name, slots in (self.context.simulators or {}).items():
                slots.restore(jax.tree.map(np.asarray, states.simulators[name]))
            self.states = placed(with_simulators(states, None), self.setup.mesh)
            for warning in warnings:
                self.say(warning)
        self.run.cut_metrics(self.num_updates)
        rows = self.run.metrics()
        self.warned = {row["seed"] for row in rows if row.get("unusable_scores")}
        self.seconds = float(rows[-1]["seconds"]) if rows else 0.0
        self.seconds_per_update = rows[-1].get("seconds_per_update") if rows else None

    def _saved_like(self) -> TrainState:
        """Return what a checkpoint has; how large the states of simulators are is not known."""
        environment, simulators = self.setup.task.environment, self.context.simulators
        if simulators is None or not isinstance(environment, HostEnvironment):
            return self.states
        unknown = {
            name: {array: checkpoint.AnyShape() for array in names_saved(environment, slots)}
            for name, slots in simulators.items()
        }
        return with_simulators(self.states, unknown)

    def _begin_simulators(self) -> None:
        """Begin the first levels of simulators, if there are any."""
        going = {"play": self.states.ongoing, "classify": self.states.classified}
        world = self.setup.environment.prepare(self.context.dataset)  # with these a buffer begins
        for name, slots in (self.context.simulators or {}).items():
            ongoing = going.get(name, self.states.ongoing)
            if ongoing is not None:
                slots.reset_to(rows(world, ongoing.level[0]))

    def train(
        self,
        *,
        begun: Callable[[], None] = lambda: None,
        tell: Callable[[Progress], None] = lambda _: None,
        until: int | None = None,
        at_once: Callable[[], None] | None = None,
    ) -> None:
        """Train to the end, or until so many updates are done, rounded up to whole chunks.

        An interruption finishes the chunk, saves, and is raised again.
        A second one loses the chunk: `at_once` is called, from another thread, and should end the
        process; without it, it is raised. `begun` is called once interruptions are looked out for.
        """
        total = self.config.num_updates

        def stop() -> None:
            self.run.note_interruption()
            if at_once is not None:
                at_once()

        with finishing_first(self._say_what_remains, stop if at_once else None) as asked:
            self.interruption = asked
            try:
                begun()
                while self.num_updates < min(until or total, total):
                    self._one_chunk(tell, until=until)
                    if asked.is_asked and self.num_updates < total:
                        self._save()
                        raise KeyboardInterrupt
                self._end()
            except KeyboardInterrupt:
                self.run.note_interruption()
                # Else Python would end under a program that is still running.
                atexit.register(jax.block_until_ready, self.states)
                raise

    def _end(self) -> None:
        """Note that training is finished; or save, to go on later."""
        if self.num_updates < self.config.num_updates:
            self._save()
            self.run.note_interruption()
        else:
            self.run.note(status="finished", ended=now())

    def _say_what_remains(self) -> None:
        """Say what the first Ctrl-C does, and what another one would do."""
        words: list[str] = []
        if self.seconds_per_update is not None:
            size = min(self.config.chunk, self.config.num_updates - self.begun_at)
            left = size * self.seconds_per_update - (time.perf_counter() - self.chunk_begun)
            words.append(f"about {max(1, round(left))} s")
        if not self.is_compiled:
            words.append("which is compiled first")
        how_long = f" ({', '.join(words)})" if words else ""
        self.say(f"finishing this chunk{how_long}; again to stop at once, losing it")

    def _one_chunk(self, tell: Callable[[Progress], None], *, until: int | None = None) -> None:
        """Do some updates, and what is due after them; where training stops, agents are tried."""
        config, before = self.config, self.num_updates
        size = min(config.chunk, config.num_updates - before)
        self.begun_at, self.chunk_begun = before, time.perf_counter()
        chunk = train_chunk if self.context.simulators is None else train_chunk_on_host
        self.states, metrics = chunk(self.states, self.keys, self.context, self.setup, size)
        with self.interruption.waiting():
            jax.block_until_ready(self.states)
        seconds = time.perf_counter() - self.chunk_begun
        self.seconds += seconds
        rate = None
        if self.is_compiled:
            self.seconds_per_update = seconds / size
            rate = size * config.ppo.transitions_per_update * len(self.run.seeds) / seconds
        self.is_compiled = True
        after = before + size
        is_last = after == config.num_updates
        rows = self._rows(jax.device_get(metrics), after, seconds / size)
        is_due = is_last or passes(before, after, config.evaluate_every)
        if is_due or (until is not None and after >= until):
            self._evaluate(rows)
        if is_last or passes(before, after, config.probe_every):
            self._probe(rows)
        if is_last and config.measure_untrained:
            self._measure_untrained(rows)
        chances = weigh(self.states, self.setup)
        described = describe_buffers(
            self.states, chances, self.setup, self.context.dataset, in_detail=is_due
        )
        rows = [row | more for row, more in zip(rows, described, strict=True)]
        if is_due:
            self._keep_levels(np.asarray(chances.now))
        if is_due and config.drift_limit:
            self._guard(rows)
        self._warn_of_unusable_scores(rows)
        self.run.append_metrics(rows)
        self.track(rows)
        if after in self.milestones:  # before the checkpoint, after which nobody comes back here
            save_policies(self.run, after, self.states.learner.agent)
        if is_last or passes(before, after, config.checkpoint_every):
            self._save()
        headline = self.setup.task.headline
        found = {
            name: [row[f"{headline}/{name}"] for row in rows if f"{headline}/{name}" in row]
            for name in ("replay", "test")
        }
        replay = float(np.mean(found["replay"])) if found["replay"] else math.nan
        test = float(np.mean(found["test"])) if found["test"] else None
        tell(Progress(after, replay, rate, test))

    def _rows(self, metrics: Metrics, after: int, seconds: float) -> list[dict[str, Any]]:
        """One line per seed: averages over the chunk."""
        config = self.config
        rows: list[dict[str, Any]] = []
        for index, seed in enumerate(self.run.seeds):
            mean = jax.tree.map(lambda leaf, index=index: float(np.mean(leaf[index])), metrics)
            online = mean.information
            rows.append(
                {
                    "seed": seed,
                    "update": after,
                    "transitions": after * config.ppo.transitions_per_update,
                    "seconds": round(self.seconds, 3),
                    "seconds_per_update": round(seconds, 4),
                    "episodes": mean.episodes,
                    "solved_rate/replay": mean.solved_rate,
                    "return/replay": mean.mean_return,
                    "steps_per_episode": mean.mean_steps,
                    "value_loss": mean.value_loss,
                    "loss/total": mean.losses.total,
                    "loss/policy": mean.losses.policy,
                    "loss/value": mean.losses.value,
                    "entropy": mean.losses.entropy,
                    "clip_fraction": mean.losses.clip_fraction,
                    "approx_kl": mean.losses.approx_kl,
                    "gradient_norm": mean.losses.gradient_norm,
                }
            )
            if not mean.episodes and self.context.simulators is not None:  # nothing is known
                del rows[-1]["solved_rate/replay"], rows[-1]["return/replay"]
            if online is not None and not math.isnan(online.nats):
                rows[-1]["online_information"] = online.nats
                rows[-1]["online_accuracy"] = online.accuracy
        return rows

    def _evaluate(self, rows: list[dict[str, Any]]) -> None:
        """Add how the agents do on each suite, and in the levels that they replay."""
        keys = self._keys_for(EVALUATION)
        is_last = self.num_updates == self.config.num_updates
        episodes = self.config.final_episodes if is_last else 0
        found = {
            name: returns_in(self.setup, self.states, keys, world, episodes=episodes)
            for name, world in self.suites.items()
        }
        count = episodes or self.setup.environment.num_levels(self.suites["train"])
        found["drawn"] = returns_drawn(self.setup, self.states, keys, count)
        for name, means in found.items():
            for row, (rate, returned) in zip(rows, np.asarray(means), strict=True):
                row[f"solved_rate/{name}"] = float(rate)
                row[f"return/{name}"] = float(returned)
        for row in rows:
            row["shift_gap"] = row["return/drawn"] - row["return/train"]
            if "test" in self.suites:
                row["gen_gap"] = row["return/train"] - row["return/test"]

    def _probe(self, rows: list[dict[str, Any]]) -> None:
        """Add what the agents' representations tell about the training levels."""
        world = self.suites["train"]
        found = information_about(self.setup, self.states, self._keys_for(PROBE), world)
        task = self.setup.task
        bound = gap_bound(found.nats, task.environment.num_levels(world), task.max_return)
        for index, row in enumerate(rows):
            row["mutual_information"] = float(found.nats[index])
            row["mutual_information_unfloored"] = float(found.unfloored[index])
            row["probe_accuracy"] = float(found.accuracy[index])
            row["gen_gap_bound"] = float(bound[index])

    def _measure_untrained(self, rows: list[dict[str, Any]]) -> None:
        """Add what the agents got and knew before they learned."""
        keys = self._keys_for(EVALUATION), self._keys_for(PROBE)
        dataset, suites = self.context.dataset, self.suites
        found = of_untrained(self.run.seeds, keys, dataset, suites, self.setup)
        for row, more in zip(rows, found, strict=True):
            row |= more

    def _keys_for(self, purpose: int) -> Key[Array, " seed"]:
        return jax.vmap(lambda key: jax.random.fold_in(key, purpose))(self.keys)

    def _guard(self, rows: list[dict[str, Any]]) -> None:
        """Warn of levels that have drifted from the dataset and, if asked to, hold η back."""
        limit = self.config.drift_limit
        scale = np.array(self.states.eta_scale)
        for index, row in enumerate(rows):
            distance = row["jsd_distance"]
            if distance > limit:
                self.say(
                    f"update {row['update']}, seed {row['seed']}: the levels drawn are "
                    f"{distance:.3f} from the dataset, beyond the limit of {limit:g}."
                )
                scale[index] /= 2
            elif distance < 0.8 * limit:
                scale[index] = min(1.0, 2 * scale[index])
        if self.config.drift_lowers_eta:
            self.states = eqx.tree_at(lambda s: s.eta_scale, self.states, jnp.asarray(scale))

    def _warn_of_unusable_scores(self, rows: list[dict[str, Any]]) -> None:
        """Say once that scores were not finite."""
        for row in rows:
            if row["unusable_scores"] and row["seed"] not in self.warned:
                self.warned.add(row["seed"])
                self.say(
                    f"update {row['update']}, seed {row['seed']}: {row['unusable_scores']} scores "
                    "of levels were not finite and were not used; these levels keep the scores "
                    "they had, if any. The critic may have diverged: look at loss/value, and try "
                    "a smaller learning rate."
                )

    def _keep_levels(self, weights: Float[np.ndarray, "seed slot"]) -> None:
        """Write the levels that are most probable to be replayed now."""
        for index, seed in enumerate(self.run.seeds):
            buffer = buffer_of(self.states, index)
            kept = in_order(
                buffer,
                buffer.levels.level,
                weights[index],
                self.makers,
                self.setup.task.level_format,
                most=KEPT_LEVELS,
            )
            name = f"update-{self.num_updates:08d}-seed-{seed}.npz"
            save_levels(self.run.path / "levels" / name, kept, self.setup.task.level_format)

    def _save(self) -> None:
        path = checkpoint.path_of(self.run.checkpoints, self.num_updates)
        names: checkpoint.Arrays = {"makers": np.array(self.makers)}
        states = self.states
        if self.context.simulators is not None:
            saved = {name: slots.save() for name, slots in self.context.simulators.items()}
            states = with_simulators(states, saved)
        checkpoint.save(path, states, keep=self.config.keep_checkpoints, beside=names)


def passes(before: int, after: int, every: int) -> bool:
    """Whether a multiple of `every` lies between; never if that is 0."""
    return bool(every) and before // every != after // every
