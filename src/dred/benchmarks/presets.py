"""Transitions a second at each preset, on one device and on all, by part."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax

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
from dred.config import PPOConfig, TrainConfig
from dred.devices import most_devices
from dred.presets import train_config

# The preset `laptop` before segments, minibatches and several devices.
FORMER_LAPTOP = PPOConfig(
    learning_rate=1e-3, final_learning_rate=0.05, entropy_coefficient=0.01, bootstrap=True
)


def settings(method: str) -> dict[str, TrainConfig]:
    """What is measured: four presets, and what one of them was."""
    presets = {name: train_config(method, name) for name in ("paper", "laptop", "demo", "smoke")}
    former = replace(presets["laptop"], ppo=FORMER_LAPTOP)
    return presets | {"laptop, formerly": former}


def preset_rows(bench: Bench, *, repeats: int) -> list[dict[str, Any]]:
    """All presets of `uniform`, on one device and on as many as there are; all in turns."""
    calls: dict[str, Callable[[], Any]] = {
        "product": lambda: bench.product(bench.matrix, bench.matrix)
    }
    configs: dict[str, TrainConfig] = {}
    for name, config in settings("uniform").items():
        for devices in sorted({1, most_devices(config.ppo, jax.device_count())}):
            row = f"{name} {devices}"
            configs[row] = replace(config, devices=devices)
            calls |= calls_for(bench, row, configs[row])
    median = medians(calls, repeats)
    rate = 2 * PRODUCT**3 / median["product"]
    rows = [row_of(name, config, bench, median, rate) for name, config in configs.items()]
    alone = {row["preset"]: row["transitions_per_second"] for row in rows if row["devices"] == 1}
    return [
        row | {"over_one_device": row["transitions_per_second"] / alone[row["preset"]]}
        for row in rows
    ]


def calls_for(bench: Bench, name: str, config: TrainConfig) -> dict[str, Callable[[], Any]]:
    """Updates, and their two parts on their own."""
    setup, state = bench.start(config)
    given = bench.given(config.method.name)
    playing = jax.jit(partial(play_once, setup=setup))
    rollout = playing(state, given, bench.key).rollout
    learning = several(partial(learn_once, setup=setup))
    return {
        f"{name} playing": lambda: playing(state, given, bench.key),
        f"{name} learning": going_on(learning, bench.start(config)[1], rollout, bench.key),
        f"{name} updates": going_on(make_step(setup), bench.start(config)[1], given, bench.key),
    }


def row_of(
    name: str, config: TrainConfig, bench: Bench, median: dict[str, float], product: float
) -> dict[str, Any]:
    """One line: a preset on so many devices."""
    update, learned = (median[f"{name} {part}"] / UPDATES for part in ("updates", "learning"))
    played = median[f"{name} playing"]
    flops = learning_flops(config.ppo, bench.start(config)[1].learner.network)
    return {
        "preset": name.rpartition(" ")[0],
        "devices": config.devices,
        "hidden_size": config.ppo.hidden_size,
        "learning": f"{config.ppo.epochs} × {config.ppo.num_minibatches}",
        "segment_length": config.ppo.segment_length or config.ppo.num_steps,
        "transitions_per_second": config.ppo.transitions_per_update / update,
        "seconds_per_update": update,
        "share_playing": played / update,
        "share_learning": learned / update,
        "share_of_product": flops / learned / product,
    }


def show_presets(rows: list[dict[str, Any]]) -> None:
    """Print the rows as a table."""
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
    rows = [row | {"milliseconds": 1000 * row["seconds_per_update"]} for row in rows]
    print_table(
        "Updates of uniform at each preset; parts timed on their own",
        [heading for heading, _, _ in columns],
        [[number(row[key], pattern) for _, key, pattern in columns] for row in rows],
    )
