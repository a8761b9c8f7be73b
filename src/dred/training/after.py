"""What a run measures while it trains, for what it has saved: after the fact, and by other code.

It looks at the newest checkpoint only, so it serves any run, however it was trained. Results of
whole suites that are there already are taken as they are, so that no gap contradicts them.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from dred.agents.probe import Information
from dred.agents.protocol import Agent
from dred.config import ProbeConfig
from dred.evaluation.evaluate import evaluate_compiled
from dred.evaluation.gaps import (
    error_of_gap,
    gap_bound,
    gen_gap,
    level_information_compiled,
    shift_gap,
)
from dred.evaluation.measured import ACCURACY, BOUND, GEN_GAP, INFORMATION, Measured, Sizes
from dred.evaluation.measured import measured_on as words_about
from dred.evaluation.shift import shift_from
from dred.evaluation.suites import noise_key
from dred.replay.distribution import drawn_from, effective_number
from dred.run_folder import RunFolder
from dred.task import LevelSet, Task
from dred.training.saved import SavedBuffer, buffers_of, newest_update, policies_of

Returns = Mapping[str, Float[np.ndarray, "run level"]]  # of each seed in each level, by suite
NOT_KNOWN = float("nan")


def measure_run(
    run: RunFolder,
    dataset: LevelSet,
    held_out: LevelSet | None = None,
    *,
    probe: ProbeConfig | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """GenGap, ShiftGap, shift and information of each seed's agent; names as in `metrics.jsonl`."""
    found = measured_of(run, dataset, held_out, probe=probe, seed=seed)
    return [
        {"seed": run_seed, **{name: one.value for name, one in measured.items()}}
        for run_seed, measured in found.items()
    ]


def measured_of(
    run: RunFolder,
    dataset: LevelSet,
    held_out: LevelSet | None = None,
    *,
    played: Returns | None = None,
    probe: ProbeConfig | None = None,
    seed: int = 0,
) -> dict[int, dict[str, Measured]]:
    """The same with errors, by seed and name; `played` are results of the suites train and test.

    What was not played is played once, as an evaluation would.
    """
    sets = {"train": dataset} if held_out is None else {"train": dataset, "test": held_out}
    known = played or {}
    found: dict[int, dict[str, Measured]] = {}
    for place, (run_seed, agent, saved) in enumerate(
        zip(run.seeds, policies_of(run), buffers_of(run), strict=True)
    ):
        key = noise_key(run, run_seed, seed=seed)
        first = jax.random.fold_in(key, 0)  # the first episode of an evaluation
        returned = {
            name: known[name][place]
            if name in known
            else returns_in(agent, run.task, levels, jnp.arange(len(levels)), key=first)
            for name, levels in sets.items()
        }
        found[run_seed] = measure(agent, saved, dataset, returned, run, probe=probe, key=key)
    return found


def measure(
    agent: Agent,
    saved: SavedBuffer,
    dataset: LevelSet,
    returned: Mapping[str, Float[np.ndarray, " level"]],
    run: RunFolder,
    *,
    probe: ProbeConfig | None,
    key: PRNGKeyArray,
) -> dict[str, Measured]:
    """Everything of one agent and its buffer, given its returns in each level of the suites."""
    task, probe = run.task, probe or run.config.probe
    key_play, key_draw, key_probe = jax.random.split(key, 3)
    draw = drawn_from(jnp.asarray(saved.average, jnp.float32))
    drawn = jax.vmap(draw)(jax.random.bits(key_draw, (len(dataset),)))
    returned = {**returned, "drawn": returns_in(agent, task, saved.levels, drawn, key=key_play)}
    weights = np.asarray(saved.average, np.float64)
    shift = shift_from(dataset.levels, saved.levels.levels, weights, task)
    world, everywhere = task.environment.prepare(dataset.levels), jnp.arange(len(dataset))
    information = level_information_compiled(
        agent, task.environment, world, everywhere, probe, key=key_probe
    )
    numbers = {
        **gaps_of(returned),
        **facts_of(information, len(dataset), task),
        "effective_levels_averaged": (effective_levels(saved), NOT_KNOWN),
    }
    if shift is not None:
        numbers["jsd_distance"] = shift.distance, NOT_KNOWN
        numbers["jsd_divergence"] = shift.divergence, NOT_KNOWN
    tested = len(returned.get("test", ()))
    window = min(run.config.average_window, newest_update(run))
    sizes = Sizes(len(dataset), tested, window, probe.length)
    return {
        name: Measured(value, error, words_about(name, sizes))
        for name, (value, error) in numbers.items()
    }


def effective_levels(saved: SavedBuffer) -> float:
    """How many equally likely levels would be as varied as those that were drawn lately."""
    return float(effective_number(jnp.asarray(saved.average)))


def returns_in(
    agent: Agent, task: Task, levels: LevelSet, chosen: jax.Array, *, key: PRNGKeyArray
) -> Float[np.ndarray, " level"]:
    """The return of one episode in each of some levels."""
    world = task.environment.prepare(levels.levels)
    played = evaluate_compiled(agent, task.environment, world, chosen, key=key)
    return np.asarray(played.returned, np.float64)


def gaps_of(returned: Mapping[str, Float[np.ndarray, " level"]]) -> dict[str, tuple[float, float]]:
    """Mean returns and the gaps between them, each with its standard error over levels."""
    found: dict[str, tuple[float, float]] = {
        f"return/{name}": (float(values.mean()), error_of_gap(values))
        for name, values in returned.items()
    }
    train, drawn = returned["train"], returned["drawn"]
    shift = float(shift_gap(drawn, np.ones_like(drawn), train))
    found["shift_gap"] = shift, error_of_gap(drawn, train)
    if "test" in returned:
        test = returned["test"]
        found[GEN_GAP] = float(gen_gap(train, test)), error_of_gap(train, test)
    return found


def facts_of(
    information: Information, num_levels: int, task: Task
) -> dict[str, tuple[float, float]]:
    """What the agent knows of the level, and the bound that follows, each with its error."""
    nats, error = float(information.nats), float(information.nats_error)
    bound = float(gap_bound(information.nats, num_levels, task.max_return))
    return {
        INFORMATION: (nats, error),
        "mutual_information_unfloored": (float(information.unfloored), error),
        ACCURACY: (float(information.accuracy), float(information.accuracy_error)),
        BOUND: (bound, bound * error / (2 * nats) if nats else NOT_KNOWN),  # as √ changes there
    }
