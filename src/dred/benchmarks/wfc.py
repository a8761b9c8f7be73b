"""Layouts by wave function collapse: ours, per structure and size, against Minigrid's solver.

Ours is timed warm, on one core, over a batch of layouts. Minigrid's `execute_wfc` is given the same
pattern, window, symmetries and periodicity; it builds its catalogue anew for every layout and gives
up at the first contradiction, so its time per layout is that of all its calls over its successes.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from dred import progress
from dred.benchmarks.show import number, print_table
from dred.errors import DredError
from dred.extras import how_to_install
from dred.tasks.gridworld.levels.compiled import seed_from, sub_seed
from dred.tasks.gridworld.levels.wfc.structures import Structure, builtin, find_structure

SMALL, LARGE = 13, 43  # insides of 15×15 and 45×45 levels
BATCH = {SMALL: 200, LARGE: 20}
ROUNDS = 3
MAX_CALLS = 20  # of Minigrid's solver, if each ends in a contradiction


def run(
    names: Sequence[str], *, repeats: int, seed: int
) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure all structures; the result for JSON, and a function that prints it as a table."""
    structures = [find_structure(name) for name in names or builtin()]
    rows: list[dict[str, object]] = []
    with progress.bar("structures", len(structures), unit="structures") as advance:
        for structure in structures:
            rows.append(measure(structure, repeats=repeats, seed=seed))
            advance(1)
    speedups = [cast(float, row["speedup"]) for row in rows if row["speedup"] is not None]
    result: dict[str, object] = {
        "benchmark": "wfc",
        "least_speedup": min(speedups) if speedups else None,
        "structures": rows,
    }
    return result, lambda: show(rows)


def measure(structure: Structure, *, repeats: int, seed: int) -> dict[str, object]:
    """One structure at both sizes, and Minigrid at the small one."""
    row: dict[str, object] = {
        "structure": structure.name,
        "pattern_width": structure.config.pattern_width,
        "patterns": len(structure.tables.weight),
    }
    for side in (SMALL, LARGE):
        row[f"ms_{side}"], row[f"attempts_{side}"] = time_ours(structure, side, seed=seed)
    theirs = time_minigrid(structure, SMALL, repeats=repeats, seed=seed)
    row.update(theirs)
    ours = cast(float, row[f"ms_{SMALL}"])
    for name, against in (("speedup", "minigrid_ms"), ("speedup_solver", "minigrid_solver_ms")):
        slow = theirs[against]
        row[name] = None if slow is None else slow / ours
    return row


def time_ours(structure: Structure, side: int, *, seed: int) -> tuple[float, float]:
    """Milliseconds a layout, retries included, and attempts a success."""
    stream = seed_from(f"bench/{structure.name}", seed)
    seeds = np.array([sub_seed(stream, index) for index in range(BATCH[side])], np.uint64)
    structure.collapse(seeds[:1], height=side, width=side)  # compile, and build the catalogue
    times: list[float] = []
    attempts = np.zeros(0)
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        _, attempts = structure.collapse(seeds, height=side, width=side)
        times.append((time.perf_counter() - begun) / len(seeds) * 1000)
    if attempts.min() == 0:
        raise structure.contradiction(side, side)
    return statistics.median(times), float(attempts.mean())


def time_minigrid(
    structure: Structure, side: int, *, repeats: int, seed: int
) -> dict[str, float | None]:
    """Milliseconds a layout of Minigrid: of a whole call, and of its solver alone."""
    try:
        from minigrid.envs.wfc.wfclogic.control import (
            execute_wfc,
        )
    except ImportError:
        raise DredError(
            "The comparison needs the minigrid package, which is not installed. Install it with: "
            f"{how_to_install('gym')}"
        ) from None
    shade = np.linspace(0, 255, len(structure.is_wall)).astype(np.int64)
    image = np.repeat(shade[structure.template][:, :, None], 3, axis=2)
    random = np.random.default_rng(seed)
    whole: list[float] = []
    solver: list[float] = []
    successes = 0
    while len(whole) < repeats or (not successes and len(whole) < MAX_CALLS):
        begun = time.perf_counter()
        solution, stats = cast(
            "tuple[object, dict[str, float | None]]",
            execute_wfc(
                image,
                pattern_width=structure.config.pattern_width,
                rotations=8 if structure.config.symmetries == "all" else 1,
                output_size=(side, side),
                attempt_limit=1,
                output_periodic=structure.config.periodic_output,
                input_periodic=structure.config.periodic_input,
                np_random=random,
            ),
        )
        ended = time.perf_counter()
        whole.append((ended - begun) * 1000)
        solver.append((ended - cast(float, stats["time solve start"])) * 1000)
        successes += solution is not None
    if not successes:
        return {"minigrid_ms": None, "minigrid_solver_ms": None}
    scale = len(whole) / successes
    return {
        "minigrid_ms": statistics.median(whole) * scale,
        "minigrid_solver_ms": statistics.median(solver) * scale,
    }


def show(rows: Sequence[dict[str, object]]) -> None:
    """Print the result as a table."""
    columns = (
        ("structure", "structure", "{}"),
        ("K", "pattern_width", "{}"),
        ("windows", "patterns", "{}"),
        (f"ms {SMALL}×{SMALL}", f"ms_{SMALL}", "{:.3f}"),
        ("attempts", f"attempts_{SMALL}", "{:.2f}"),
        (f"ms {LARGE}×{LARGE}", f"ms_{LARGE}", "{:.1f}"),
        ("attempts", f"attempts_{LARGE}", "{:.2f}"),
        ("minigrid ms", "minigrid_ms", "{:.0f}"),
        ("faster", "speedup", "{:,.0f}×"),
        ("its solver alone", "minigrid_solver_ms", "{:.0f}"),
        ("faster", "speedup_solver", "{:,.0f}×"),
    )
    print_table(
        "One layout, one core, warm",
        [heading for heading, _, _ in columns],
        [[number(row[key], pattern) for _, key, pattern in columns] for row in rows],
    )
