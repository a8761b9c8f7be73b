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
UPDATES = 4  # in one compiled call, as in training
FORWARD_AND_BACKWARD = 3  # the backward pass takes two products for each of the forward pass


def learning_flops(config: PPOConfig, num_actions: int) -> float:
    """Floating-point operations of the matrix products in one time of learning."""
    size = config.hidden_size
    recurrent = 2 * (INPUT_SIZE + size) * 4 * size
    heads = 2 * (2 * size * HEAD_SIZE + HEAD_SIZE * (num_actions + 1))
    kernel = 2 * 9 * 27 * 16
    each = recurrent + heads + kernel
    return each * config.transitions_per_update * config.epochs * FORWARD_AND_BACKWARD


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds until a call's results are there."""
    begun = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - begun


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


def learn_once(state: TrainState, rollout: Any, key: jax.Array, setup: Setup) -> TrainState:  # noqa: ANN401
    """The learning of one update."""
    ppo = setup.config.ppo
    advantage = estimate_advantages(rollout, ppo)
    learner, _ = learn(state.learner, rollout, advantage, ppo, setup.optimiser, key=key)
    return TrainState(learner, state.num_updates)


def several(
    step: Callable[[TrainState, Any, jax.Array], TrainState],
) -> Callable[[TrainState, Any, jax.Array], TrainState]:
    """Several steps in one compiled call, as in training."""

    @jax.jit
    def steps(state: TrainState, given: Any, key: jax.Array) -> TrainState:  # noqa: ANN401
        keys = jax.random.split(key, UPDATES)
        return jax.lax.scan(lambda state, key: (step(state, given, key), None), state, keys)[0]

    return steps


def measure(method: str, *, repeats: int, seed: int) -> dict[str, Any]:
    """One method at the paper's setting. The parts take turns, so that noise falls on all alike."""
    setup = new_setup(train_config(method, "paper"))
    key = run_key(seed)
    state = new_state(setup, key=key)
    dataset = setup.environment.prepare(make("cave-escape-train", seed=seed).levels)
    playing = jax.jit(partial(play_once, setup=setup))
    learning = several(partial(learn_once, setup=setup))
    updating = several(
        lambda state, given, key: update(state, dataset=given, setup=setup, key=key)[0]
    )
    product = jax.jit(jnp.matmul)
    matrix = jax.random.normal(jax.random.key(0), (PRODUCT, PRODUCT))
    rollout = playing(state, dataset, key)
    calls: dict[str, Callable[[], Any]] = {
        "playing": lambda: playing(state, dataset, key),
        "learning": lambda: learning(state, rollout, key),
        "updating": lambda: updating(state, dataset, key),
        "product": lambda: product(matrix, matrix),
    }
    first = {name: seconds_of(call) for name, call in calls.items()}
    times = [{name: seconds_of(call) for name, call in calls.items()} for _ in range(repeats)]
    median = {name: statistics.median(each[name] for each in times) for name in calls}
    updated, learned = median["updating"] / UPDATES, median["learning"] / UPDATES
    rate = 2 * PRODUCT**3 / median["product"]
    flops = learning_flops(setup.config.ppo, setup.environment.num_actions)
    return {
        "method": method,
        "seconds_per_update": updated,
        "seconds_playing": median["playing"],
        "seconds_learning": learned,
        "share_not_learning": 1.0 - min(1.0, learned / updated),
        "transitions_per_second": setup.config.ppo.transitions_per_update / updated,
        "learning_gflops": flops / learned / 1e9,
        "product_gflops": rate / 1e9,
        "share_of_product": flops / learned / rate,
        "compile_seconds": first["updating"] - median["updating"],
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
