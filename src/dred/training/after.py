"""What a run measures while it trains, for what it has saved: after the fact, and by other code.

It looks at the newest checkpoint only, so it serves any run, however it was trained.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.agents.network import ActorCritic
from dred.config import ProbeConfig
from dred.evaluation.evaluate import evaluate_compiled
from dred.evaluation.gaps import gap_bound, gen_gap, level_information_compiled, shift_gap
from dred.evaluation.suites import noise_key
from dred.replay.distribution import drawn_from, effective_number
from dred.runs import Run
from dred.tasks.gridworld.environment import Gridworld
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.shift import shift_between
from dred.training.saved import SavedBuffer, buffers_of, policies_of


def measure_run(
    run: Run,
    dataset: LevelDataset,
    held_out: LevelDataset | None = None,
    *,
    probe: ProbeConfig | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """GenGap, ShiftGap, shift and information of each seed's agent; names as in `metrics.jsonl`."""
    return [
        {
            "seed": run_seed,
            **measure(
                network,
                saved,
                dataset,
                held_out,
                probe=probe,
                key=noise_key(run, run_seed, seed=seed),
            ),
        }
        for run_seed, network, saved in zip(
            run.seeds, policies_of(run), buffers_of(run), strict=True
        )
    ]


def measure(
    network: ActorCritic,
    saved: SavedBuffer,
    dataset: LevelDataset,
    held_out: LevelDataset | None,
    *,
    probe: ProbeConfig | None,
    key: PRNGKeyArray,
) -> dict[str, Any]:
    """The same for one agent and its buffer."""
    environment = Gridworld()
    key_play, key_draw, key_probe = jax.random.split(key, 3)

    def returns_in(levels: LevelDataset, chosen: jax.Array) -> jax.Array:
        world = environment.prepare(levels.levels)
        return evaluate_compiled(network, environment, world, chosen, key=key_play).returned

    train = returns_in(dataset, jnp.arange(len(dataset)))
    draw = drawn_from(jnp.asarray(saved.average, jnp.float32))
    drawn = jax.vmap(draw)(jax.random.bits(key_draw, (len(dataset),)))
    under = returns_in(saved.levels, drawn)
    weights = np.asarray(saved.average, np.float64)
    shift = shift_between(saved.levels, dataset, first_weights=weights)
    information = level_information_compiled(
        network,
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
        "jsd_distance": shift.distance,
        "jsd_divergence": shift.divergence,
        "effective_levels_averaged": float(effective_number(jnp.asarray(saved.average))),
        "mutual_information": float(information.nats),
        "mutual_information_unfloored": float(information.unfloored),
        "probe_accuracy": float(information.accuracy),
        "gen_gap_bound": float(gap_bound(information.nats, len(dataset))),
    }
    if held_out is not None:
        test = returns_in(held_out, jnp.arange(len(held_out)))
        row |= {"return/test": float(test.mean()), "gen_gap": float(gen_gap(train, test))}
    return row
