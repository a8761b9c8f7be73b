"""What a run measures while it trains, for what it has saved: after the fact, and by other code.

It looks at the newest checkpoint only, so it serves any run, however it was trained.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.agents.protocol import Agent
from dred.config import ProbeConfig
from dred.evaluation.evaluate import evaluate_compiled
from dred.evaluation.gaps import gap_bound, gen_gap, level_information_compiled, shift_gap
from dred.evaluation.shift import shift_from
from dred.evaluation.suites import noise_key
from dred.replay.distribution import drawn_from, effective_number
from dred.run_folder import RunFolder
from dred.task import LevelSet, Task
from dred.training.saved import SavedBuffer, buffers_of, policies_of


def measure_run(
    run: RunFolder,
    dataset: LevelSet,
    held_out: LevelSet | None = None,
    *,
    probe: ProbeConfig | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """GenGap, ShiftGap, shift and information of each seed's agent; names as in `metrics.jsonl`."""
    return [
        {
            "seed": run_seed,
            **measure(
                agent,
                saved,
                dataset,
                held_out,
                run.task,
                probe=probe,
                key=noise_key(run, run_seed, seed=seed),
            ),
        }
        for run_seed, agent, saved in zip(run.seeds, policies_of(run), buffers_of(run), strict=True)
    ]


def measure(
    agent: Agent,
    saved: SavedBuffer,
    dataset: LevelSet,
    held_out: LevelSet | None,
    task: Task,
    *,
    probe: ProbeConfig | None,
    key: PRNGKeyArray,
) -> dict[str, Any]:
    """The same for one agent and its buffer."""
    environment = task.environment
    key_play, key_draw, key_probe = jax.random.split(key, 3)

    def returns_in(levels: LevelSet, chosen: jax.Array) -> jax.Array:
        world = environment.prepare(levels.levels)
        return evaluate_compiled(agent, environment, world, chosen, key=key_play).returned

    train = returns_in(dataset, jnp.arange(len(dataset)))
    draw = drawn_from(jnp.asarray(saved.average, jnp.float32))
    drawn = jax.vmap(draw)(jax.random.bits(key_draw, (len(dataset),)))
    under = returns_in(saved.levels, drawn)
    weights = np.asarray(saved.average, np.float64)
    shift = shift_from(dataset.levels, saved.levels.levels, weights, task)
    information = level_information_compiled(
        agent,
        environment,
        environment.prepare(dataset.levels),
        jnp.arange(len(dataset)),
        probe or ProbeConfig(),
        key=key_probe,
    )
    row: dict[str, Any] = {
        "return/train": float(train.mean()),
        "return/drawn": float(under.mean()),
        "shift_gap": float(shift_gap(under, jnp.ones_like(under), train)),
        "effective_levels_averaged": float(effective_number(jnp.asarray(saved.average))),
        "mutual_information": float(information.nats),
        "mutual_information_unfloored": float(information.unfloored),
        "probe_accuracy": float(information.accuracy),
        "gen_gap_bound": float(gap_bound(information.nats, len(dataset), task.max_return)),
    }
    if shift is not None:
        row |= {"jsd_distance": shift.distance, "jsd_divergence": shift.divergence}
    if held_out is not None:
        test = returns_in(held_out, jnp.arange(len(held_out)))
        row |= {"return/test": float(test.mean()), "gen_gap": float(gen_gap(train, test))}
    return row
