"""Steps a second in the gridworld: random actions, views, and a new level at each episode's end.

Ours is one compiled scan. Minigrid plays the same levels with random actions, in one environment,
and in 32 that Gymnasium steps one after the other. All in one process, the median of repeats.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import SyncVectorEnv
from jaxtyping import Array, PRNGKeyArray

from dred import progress
from dred.agents.episodes import Start, begin, next_level, play_on, uniform
from dred.benchmarks.show import number, print_table
from dred.tasks.gridworld.environment import GridworldEnvironment, State
from dred.tasks.gridworld.levels import LevelDataset, concatenate, make
from dred.tasks.gridworld.minigrid import to_minigrid
from dred.tasks.gridworld.view import World

BATCHES = (32, 4096)
STEPS_PER_RUN = 2**18  # of all agents together
MINIGRID_STEPS = 1500


@eqx.filter_jit
def random_play(
    env: GridworldEnvironment, world: World, start: Start, key: PRNGKeyArray, length: int
) -> tuple[Start, Array, Array, Array]:
    """Play random actions for a while; everything an agent would learn from is computed."""
    num_agents = start.level.shape[0]
    key_action, key_start = jax.random.split(key)
    actions = jax.random.randint(key_action, (length, num_agents), 0, env.num_actions)
    bits = jax.random.bits(key_start, (length, num_agents, 2))
    chooses = next_level(uniform(env.num_levels(world)))

    def step(
        now: tuple[Start, State], drawn: tuple[Array, Array]
    ) -> tuple[tuple[Start, State], tuple[Array, Array, Array]]:
        action, bits_t = drawn
        played = play_on(env, world, *now, action, next_start=chooses, bits=bits_t)
        ended = played.terminated | played.truncated
        return (played.start, played.state), (played.observation.image, played.reward, ended)

    first = (start, begin(env, world, start))
    (after, _), (images, rewards, ended) = jax.lax.scan(step, first, (actions, bits))
    return after, images, rewards, ended


def time_ours(dataset: LevelDataset, batch: int, *, repeats: int, seed: int) -> float:
    """Steps a second of all agents together."""
    env = GridworldEnvironment()
    world = env.prepare(dataset.levels)
    levels = jnp.arange(batch) % len(dataset)
    start = Start(levels, jax.random.bits(jax.random.key(seed), (batch,)))
    length = STEPS_PER_RUN // batch
    times: list[float] = []
    for repeat in range(repeats + 1):  # the first run compiles
        begun = time.perf_counter()
        jax.block_until_ready(random_play(env, world, start, jax.random.key(repeat), length))
        times.append(time.perf_counter() - begun)
    return batch * length / statistics.median(times[1:])


def time_minigrid(dataset: LevelDataset, count: int, *, seed: int) -> float:
    """Steps a second of Minigrid in this many environments, one after the other."""
    random = np.random.default_rng(seed)

    def build(index: int) -> gymnasium.Env[Any, Any]:
        # Observations without the mission text, which has no place in a batch.
        return gymnasium.wrappers.FilterObservation(
            to_minigrid(dataset[index % len(dataset)]), ("image", "direction")
        )

    envs = SyncVectorEnv([partial(build, index) for index in range(count)])
    envs.reset(seed=seed)
    rounds = max(1, MINIGRID_STEPS // count)
    actions = random.integers(0, 7, size=(rounds, count))
    begun = time.perf_counter()
    for row in actions:
        envs.step(row)
    return rounds * count / (time.perf_counter() - begun)


def time_one_minigrid(dataset: LevelDataset, *, seed: int) -> float:
    """Steps a second of one Minigrid environment without anything around it."""
    env = to_minigrid(dataset[0])
    env.reset(seed=seed)
    actions = np.random.default_rng(seed).integers(0, 7, size=MINIGRID_STEPS).tolist()
    begun = time.perf_counter()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return MINIGRID_STEPS / (time.perf_counter() - begun)


def run(*, repeats: int, seed: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure; the result for JSON, and a function that prints it as a table."""
    with progress.bar("measuring", 3 * len(BATCHES) + 2, unit="parts") as advance:
        train, test = make("cave-escape-train", seed=seed), make("cave-escape-test", seed=seed)
        sets = {
            "15×15, 512 levels": train,
            "15×15, 2560 levels": concatenate([train, test]),  # as much memory as …
            "45×45, 216 levels": make("cave-escape-hardcore", seed=seed),  # … this
        }
        ours: dict[tuple[str, int], float] = {}
        for name, dataset in sets.items():
            for batch in BATCHES:
                ours[name, batch] = time_ours(dataset, batch, repeats=max(5, repeats), seed=seed)
                advance(1)
        theirs = {1: time_one_minigrid(train, seed=seed)}
        advance(1)
        theirs[32] = time_minigrid(train, 32, seed=seed)
        advance(1)
    rows = [
        {
            "batch": batch,
            "levels": name,
            "steps_per_second": rate,
            "microseconds_per_step": 1e6 * batch / rate,
            "times_minigrid": rate / max(theirs.values()),
        }
        for (name, batch), rate in ours.items()
    ]
    small, same_memory, large = sets
    ratios = {
        f"{batch} agents, against {base}": ours[base, batch] / ours[large, batch]
        for batch in BATCHES
        for base in (small, same_memory)
    }
    result: dict[str, object] = {
        "benchmark": "env",
        "ours": rows,
        "minigrid_steps_per_second": {str(count): rate for count, rate in theirs.items()},
        "cost_of_45_over_15": ratios,
    }
    return result, partial(show, rows, theirs, ratios)


def show(rows: list[dict[str, Any]], theirs: dict[int, float], ratios: dict[str, float]) -> None:
    """Print the result as tables."""
    table = [
        (
            f"dred, {row['batch']} agents, {row['levels']}",
            number(row["steps_per_second"], "{:,.0f}"),
            number(row["microseconds_per_step"], "{:.1f}"),
            number(row["times_minigrid"], "{:,.0f}×"),
        )
        for row in rows
    ]
    best = max(theirs.values())
    table += [
        (
            f"minigrid, {count} environment{'s' * (count > 1)}, 15×15",
            number(rate, "{:,.0f}"),
            number(1e6 * count / rate, "{:.1f}"),
            number(rate / best, "{:.1f}×"),
        )
        for count, rate in theirs.items()
    ]
    title = "Random actions, with views and restarts in new levels"
    headings = ("", "steps/s", "µs for all to step", "of minigrid's best")
    print_table(title, headings, table)
    for which, ratio in ratios.items():
        print(f"a 45×45 step costs {ratio:.2f} times a 15×15 step ({which})")
