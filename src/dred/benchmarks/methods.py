"""How long updates of each method take, and generators, measurements and large buffers."""

import resource
from collections.abc import Callable
from functools import partial
from typing import Any

from dred import progress
from dred.benchmarks.show import number, print_table
from dred.benchmarks.updates import NUM_ENVS, Bench
from dred.compute import use_devices
from dred.presets import METHODS, train_config
from dred.tasks.gridworld.task import GRIDWORLD


def run(*, repeats: int, seed: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure all methods; the result for JSON, and a function that prints it as a table."""
    repeats = max(3, repeats)
    use_devices()
    bench = Bench(seed)
    rows: list[dict[str, Any]] = []
    with progress.bar("measuring", len(METHODS) + 2, unit="parts") as advance:
        parts = bench.parts(repeats=repeats)
        advance(1)
        for method in METHODS:
            rows.append(bench.method(method, parts, repeats=repeats))
            advance(1)
        of_plr = next(row["seconds_per_update"] for row in rows if row["method"] == "plr")
        rows = [row | {"ratio_to_plr": row["seconds_per_update"] / of_plr} for row in rows]
        generating = bench.generating(repeats=repeats)
        measuring = measured_share(bench.measuring("vae-dred", repeats=repeats), of_plr)
        sizes = bench.sizes(repeats=repeats)
        advance(1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result: dict[str, object] = {
        "benchmark": "methods",
        "parts": parts,
        "methods": rows,
        "seconds_generating": generating,
        "measuring": measuring,
        "buffer_sizes": sizes,
        "peak_memory_mb": memory,
    }
    return result, partial(show, result)


def measured_share(seconds: dict[str, float], per_update: float) -> dict[str, float]:
    """Seconds of each measurement, and all as a share of training at the usual intervals."""
    config = train_config("plr", "paper", GRIDWORLD.budgets)
    evaluation = 2 * seconds["train or test"] + seconds["drawn"] + seconds["levels"]
    cost = evaluation / config.evaluate_every + seconds["probe"] / config.probe_every
    return {**seconds, "share": cost / per_update}


def show(result: dict[str, Any]) -> None:
    """Print the result as tables."""
    parts = result["parts"]
    print(
        f"playing {parts['seconds_playing']:.3f} s, learning {parts['seconds_learning']:.2f} s at "
        f"{parts['learning_gflops']:.0f} GFLOP/s, which is {parts['share_of_product']:.0%} of a "
        f"large product's {parts['product_gflops']:.0f}"
    )
    columns = (
        ("method", "method", "{}"),
        ("s/update", "seconds_per_update", "{:.2f}"),
        ("rollouts", "rollouts_per_update", "{:.2f}"),
        ("over its parts", "ratio_to_parts", "{:.2f}x"),
        ("over plr", "ratio_to_plr", "{:.2f}x"),
        ("not learning", "share_not_learning", "{:.0%}"),
        ("transitions/s", "transitions_per_second", "{:,.0f}"),
        ("compile s", "compile_seconds", "{:.1f}"),
    )
    print_table(
        "One update at the paper's setting: 36 agents, 256 steps, 5 epochs, LSTM 256",
        [heading for heading, _, _ in columns],
        [[number(row[key], pattern) for _, key, pattern in columns] for row in result["methods"]],
    )
    for name, seconds in result["seconds_generating"].items():
        share = seconds / result["methods"][0]["seconds_per_update"]
        print(f"{NUM_ENVS} levels by {name}: {1000 * seconds:.1f} ms, {share:.1%} of an update")
    measuring = result["measuring"]
    parts = ", ".join(
        f"{name} {value:.2f} s" for name, value in measuring.items() if name != "share"
    )
    print(f"measuring ({parts}): {measuring['share']:.1%} of training")
    for row in result["buffer_sizes"]:
        print(
            f"accel with a full buffer of {row['capacity']:,} levels: "
            f"{row['seconds_per_update']:.2f} s an update, {row['ratio']:.2f}x"
        )
    print(f"peak memory {result['peak_memory_mb']:,.0f} MB")
