"""Seconds per update, by part, and how near learning comes to the machine's own matrix product.

The parts are compiled and timed on their own; the whole update is timed as it is trained. The rate
of the machine is that of a large float32 product, measured in the same run.
"""

import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from dred import progress
from dred.agents.network import HEAD_SIZE, INPUT_SIZE
from dred.agents.play import play
from dred.agents.ppo import estimate_advantages, learn
from dred.benchmarks.show import number, print_table
from dred.config import PPOConfig
from dred.envs.view import World
from dred.levels import make
from dred.presets import METHODS, train_config
from dred.training.state import Setup, TrainState, new_setup, new_state, run_key
from dred.training.update import LEVELS, update

PRODUCT = 2048  # side of the matrices of the measured product
FORWARD_AND_BACKWARD = 3  # the backward pass takes two products for each of the forward pass


def learning_flops(config: PPOConfig, num_actions: int) -> float:
    """Floating-point operations of the matrix products in one time of learning."""
    size = config.hidden_size
    recurrent = 2 * (INPUT_SIZE + size) * 4 * size
    heads = 2 * (2 * size * HEAD_SIZE + HEAD_SIZE * (num_actions + 1))
    kernel = 2 * 9 * 27 * 16
    each = recurrent + heads + kernel
    return each * config.transitions_per_update * config.epochs * FORWARD_AND_BACKWARD


def median_time(function: Callable[..., Any], *arguments: Any, repeats: int) -> tuple[float, float]:  # noqa: ANN401
    """Seconds of one call, and of the first, which compiles."""
    begun = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    first = time.perf_counter() - begun
    times: list[float] = []
    for _ in range(repeats):
        begun = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - begun)
    return statistics.median(times), first


def product_rate(repeats: int) -> float:
    """The machine's float32 matrix product, in operations a second."""
    matrix = jax.random.normal(jax.random.key(0), (PRODUCT, PRODUCT))
    seconds, _ = median_time(jax.jit(jnp.matmul), matrix, matrix, repeats=max(5, repeats))
    return 2 * PRODUCT**3 / seconds


def play_once(state: TrainState, dataset: World, key: jax.Array, setup: Setup) -> Any:  # noqa: ANN401
    """The rollout of one update."""
    key_choose, key_play, _ = jax.random.split(key, 3)
    chosen = LEVELS[setup.config.method.levels](dataset, setup=setup, key=key_choose)
    return play(
        state.learner.network,
        setup.environment,
        chosen.world,
        chosen.begun,
        length=setup.config.ppo.num_steps,
        restart=chosen.restart,
        value_ends=setup.config.ppo.bootstrap,
        key=key_play,
    )


def learn_once(state: TrainState, rollout: Any, key: jax.Array, setup: Setup) -> Any:  # noqa: ANN401
    """The learning of one update."""
    ppo = setup.config.ppo
    advantage = estimate_advantages(rollout, ppo)
    return learn(state.learner, rollout, advantage, ppo, setup.optimiser, key=key)


def measure(method: str, *, repeats: int, seed: int) -> dict[str, Any]:
    """One method at the paper's setting."""
    setup = new_setup(train_config(method, "paper"))
    key = run_key(seed)
    state = new_state(setup, key=key)
    dataset = setup.environment.prepare(make("cave-escape-train", seed=seed).levels)
    played, _ = median_time(
        jax.jit(partial(play_once, setup=setup)), state, dataset, key, repeats=repeats
    )
    rollout = jax.jit(partial(play_once, setup=setup))(state, dataset, key)
    learned, _ = median_time(
        jax.jit(partial(learn_once, setup=setup)), state, rollout, key, repeats=repeats
    )

    def whole(state: TrainState, dataset: World, key: jax.Array) -> Any:  # noqa: ANN401
        return update(state, dataset=dataset, setup=setup, key=key)

    updated, first = median_time(jax.jit(whole), state, dataset, key, repeats=repeats)
    rate = product_rate(repeats)
    flops = learning_flops(setup.config.ppo, setup.environment.num_actions)
    return {
        "method": method,
        "seconds_per_update": updated,
        "seconds_playing": played,
        "seconds_learning": learned,
        "share_not_learning": 1.0 - min(1.0, learned / updated),
        "transitions_per_second": setup.config.ppo.transitions_per_update / updated,
        "learning_gflops": flops / learned / 1e9,
        "product_gflops": rate / 1e9,
        "share_of_product": flops / learned / rate,
        "compile_seconds": first - updated,
    }


def run(*, repeats: int, seed: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure all methods; the result for JSON, and a function that prints it as a table."""
    rows: list[dict[str, Any]] = []
    with progress.bar("methods", len(METHODS), unit="methods") as advance:
        for method in METHODS:
            rows.append(measure(method, repeats=max(3, repeats), seed=seed))
            advance(1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result: dict[str, object] = {"benchmark": "train", "methods": rows, "peak_memory_mb": memory}
    return result, partial(show, rows, memory)


def show(rows: list[dict[str, Any]], memory: float) -> None:
    """Print the result as a table."""
    columns = (
        ("method", "method", "{}"),
        ("s/update", "seconds_per_update", "{:.2f}"),
        ("playing", "seconds_playing", "{:.3f}"),
        ("learning", "seconds_learning", "{:.2f}"),
        ("not learning", "share_not_learning", "{:.0%}"),
        ("transitions/s", "transitions_per_second", "{:,.0f}"),
        ("learning GFLOP/s", "learning_gflops", "{:.0f}"),
        ("product GFLOP/s", "product_gflops", "{:.0f}"),
        ("share", "share_of_product", "{:.0%}"),
        ("compile s", "compile_seconds", "{:.1f}"),
    )
    print_table(
        "One update at the paper's setting: 36 agents, 256 steps, 5 epochs, LSTM 256",
        [heading for heading, _, _ in columns],
        [[number(row[key], pattern) for _, key, pattern in columns] for row in rows],
    )
    print(f"peak memory {memory:,.0f} MB")
