"""How training gets faster with devices, each number in a process of its own, taking turns.

python docs/measure_scaling.py               # the table of docs/scaling.md: on a quiet machine
python docs/measure_scaling.py 1 2 --rounds 3
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace

AGENTS = 32  # which 1, 2, 4 and 8 devices can share out
UPDATES = 4  # in a piece of work that is timed


def measured(preset: str, devices: int) -> None:
    """Do a piece of work for each line that comes, and answer with its seconds."""
    from dred.compute import keep_compiled_programs, use_devices

    keep_compiled_programs()
    use_devices(devices)

    import jax
    import jax.numpy as jnp

    from dred.devices import placed
    from dred.levels import make
    from dred.presets import train_config
    from dred.task import RunContext
    from dred.tasks.gridworld.levels.level import Level
    from dred.tasks.gridworld.task import GRIDWORLD
    from dred.training.chunk import train_chunk
    from dred.training.state import new_setup, new_states, run_key

    config = train_config("uniform", preset, GRIDWORLD.budgets)
    ppo = replace(config.ppo, num_envs=AGENTS)
    setup = new_setup(replace(config, ppo=ppo, devices=devices), GRIDWORLD)
    levels = Level(*(jnp.asarray(part) for part in make("cave-escape-train", count=64).levels))
    states = placed(new_states(setup, levels, (0,)), setup.mesh)
    keys = jnp.stack([run_key(0)])
    for _ in sys.stdin:
        began = time.perf_counter()
        states, _ = jax.block_until_ready(
            train_chunk(states, keys, RunContext(levels), setup, UPDATES)
        )
        print(time.perf_counter() - began, flush=True)


def taking_turns(preset: str, counts: list[int], rounds: int) -> dict[int, list[float]]:
    """Return the seconds of pieces of work, one of each number of devices in every round."""
    words = [sys.executable, __file__, "--preset", preset, "--worker"]
    workers = {
        count: subprocess.Popen(
            [*words, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for count in counts
    }
    seconds: dict[int, list[float]] = {count: [] for count in counts}
    for turn in range(rounds + 2):  # the first compiles, the second finds its place
        for count, worker in workers.items():
            assert worker.stdin is not None and worker.stdout is not None
            print(turn, file=worker.stdin, flush=True)
            answer = float(worker.stdout.readline())
            if turn > 1:
                seconds[count].append(answer)
    for worker in workers.values():
        worker.communicate()
    return seconds


def main() -> None:
    """Measure, and print the lines of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("devices", nargs="*", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--preset", default="laptop")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--worker", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        measured(given.preset, given.worker)
        return
    seconds = taking_turns(given.preset, given.devices, given.rounds)
    first = given.devices[0]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {given.rounds} rounds")
    for count, found in seconds.items():
        pairs = zip(seconds[first], found, strict=True)
        ratios = sorted(one / other for one, other in pairs)
        each = 1000 * statistics.median(found) / UPDATES
        middle = statistics.median(ratios)
        print(
            f"| `{given.preset}` | {count} | {each:.0f} | {middle:.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}) |"
        )


if __name__ == "__main__":
    main()
