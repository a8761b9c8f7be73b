"""Transitions a second at each preset, on one device and on all, by part."""

import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from dred import progress
from dred.benchmarks.clock import medians
from dred.benchmarks.show import number, print_table
from dred.benchmarks.updates import (
    PRODUCT,
    UPDATES,
    Bench,
    going_on,
    learn_once,
    learning_flops,
    make_step,
    play_once,
    several,
)
from dred.compute import use_devices
from dred.config import PPOConfig, TrainConfig
from dred.devices import most_devices
from dred.presets import train_config
from dred.tasks.gridworld.task import GRIDWORLD

# The preset `laptop` before segments, minibatches and several devices.
FORMER_LAPTOP = PPOConfig(
    learning_rate=1e-3, final_lr_fraction=0.05, entropy_coefficient=0.01, bootstrap=True
)


def settings(method: str) -> dict[str, TrainConfig]:
    """What is measured: four presets, and what one of them was."""
    presets = {
        name: train_config(method, name, GRIDWORLD.budgets)
        for name in ("paper", "laptop", "demo", "smoke")
    }
    former = replace(presets["laptop"], ppo=FORMER_LAPTOP, agent=presets["paper"].agent)
    return presets | {"laptop, formerly": former}


def run(*, repeats: int, seed: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure all presets; the result for JSON, and a function that prints it as a table."""
    use_devices()
    result: dict[str, Any] = {
        "benchmark": "train",
        **measured(Bench(seed), repeats=max(3, repeats)),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    return result, partial(show, result)


def measured(bench: Bench, *, repeats: int) -> dict[str, Any]:
    """All presets of `uniform`, on one device and on as many as there are; all in turns."""
    configs: dict[str, TrainConfig] = {}
    for name, config in settings("uniform").items():
        for devices in sorted({1, most_devices(config.ppo, jax.device_count())}):
            configs[f"{name} {devices}"] = replace(config, devices=devices)
    calls: dict[str, Callable[[], Any]] = {
        "product": lambda: bench.product(bench.matrix, bench.matrix)
    }
    flops: dict[str, float] = {}
    with progress.bar("compiling and measuring", len(configs) + repeats, unit="parts") as advance:
        for row, config in configs.items():
            flops[row], parts = calls_for(bench, row, config)
            calls |= parts
            advance(1)
        median = medians(calls, repeats, after_each=lambda: advance(1))
    product = 2 * PRODUCT**3 / median["product"]
    rows = [row_of(row, config, median, flops[row] / product) for row, config in configs.items()]
    alone = {row["preset"]: row["transitions_per_second"] for row in rows if row["devices"] == 1}
    rows = [
        row | {"over_one_device": row["transitions_per_second"] / alone[row["preset"]]}
        for row in rows
    ]
    return {"presets": rows, "product_gflops": product / 1e9}


def calls_for(
    bench: Bench, name: str, config: TrainConfig
) -> tuple[float, dict[str, Callable[[], Any]]]:
    """What learning computes in an update, and calls that make updates and their two parts."""
    setup, state = bench.start(config)
    given = bench.given(config.method.name)
    playing = jax.jit(partial(play_once, setup=setup))
    rollout = playing(state, given, bench.key).rollout
    learning = several(partial(learn_once, setup=setup))
    calls: dict[str, Callable[[], Any]] = {
        f"{name} playing": lambda: playing(state, given, bench.key),
        f"{name} learning": going_on(learning, bench.start(config)[1], rollout, bench.key),
        f"{name} updates": going_on(make_step(setup), bench.start(config)[1], given, bench.key),
    }
    for call in calls.values():
        jax.block_until_ready(call())
    return learning_flops(config.ppo, state.learner.agent), calls


def row_of(
    name: str, config: TrainConfig, median: dict[str, float], least_learning: float
) -> dict[str, Any]:
    """One line: a preset on so many devices; learning could take `least_learning` seconds."""
    update, learned = (median[f"{name} {part}"] / UPDATES for part in ("updates", "learning"))
    played = median[f"{name} playing"]
    return {
        "preset": name.rpartition(" ")[0],
        "devices": config.devices,
        "hidden_size": config.agent.hidden_size,
        "learning": f"{config.ppo.epochs} × {config.ppo.num_minibatches}",
        "segment_length": config.ppo.segment_length or config.ppo.num_steps,
        "transitions_per_second": config.ppo.transitions_per_update / update,
        "seconds_per_update": update,
        "share_playing": played / update,
        "share_learning": learned / update,
        "share_of_product": least_learning / learned,
    }


def show(result: dict[str, Any]) -> None:
    """Print the result as a table."""
    columns = (
        ("preset", "preset", "{}"),
        ("devices", "devices", "{}"),
        ("LSTM", "hidden_size", "{}"),
        ("epochs × minibatches", "learning", "{}"),
        ("segments", "segment_length", "{}"),
        ("transitions/s", "transitions_per_second", "{:,.0f}"),
        ("over one device", "over_one_device", "{:.2f}x"),
        ("ms/update", "milliseconds", "{:.1f}"),
        ("playing", "share_playing", "{:.0%}"),
        ("learning", "share_learning", "{:.0%}"),
        ("of a large product", "share_of_product", "{:.0%}"),
    )
    rows = [row | {"milliseconds": 1000 * row["seconds_per_update"]} for row in result["presets"]]
    print_table(
        "Updates of uniform at each preset; parts timed on their own",
        [heading for heading, _, _ in columns],
        [[number(row[key], pattern) for _, key, pattern in columns] for row in rows],
    )
    print(f"a large product: {result['product_gflops']:.0f} GFLOP/s on all cores")
    print(f"peak memory {result['peak_memory_mb']:,.0f} MB")
