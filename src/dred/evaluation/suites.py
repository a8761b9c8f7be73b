"""Evaluating a run on sets of levels, and the files that come of it.

`evaluation/NAME.csv` has a line per seed, level and episode; `NAME.json` beside it says of which
checkpoint and settings, and `NAME.npz` has the levels. `results.py` names the files. An evaluation
that was interrupted goes on where it was: lines are collected in `NAME.partial`, episode by
episode. Results of the policies that a run kept while it trained are in
`evaluation/over-training/UPDATE`, and their levels beside these folders.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.agents.protocol import Agent
from dred.errors import ConfigError
from dred.evaluation.evaluate import evaluate_compiled
from dred.evaluation.results import (
    EvaluationConfig,
    are_there,
    is_other_set,
    place_of,
    put_aside,
    write_index,
)
from dred.files import write_text
from dred.run_folder import RunFolder
from dred.task import LevelSet, Task

HEADER = "seed,suite,level,episode,solved,return,steps"


class Results:
    """The lines of one evaluation, as arrays."""

    def __init__(self, lines: Sequence[str], path: Path) -> None:
        self.lines, self.path = list(lines), path
        rows = [line.split(",") for line in lines]
        self.seeds = np.array([int(row[0]) for row in rows])
        self.levels = np.array([int(row[2]) for row in rows])
        self.solved = np.array([row[4] == "1" for row in rows])
        self.returned = np.array([float(row[5]) for row in rows])


def noise_key(run: RunFolder, run_seed: int, *, seed: int = 0) -> PRNGKeyArray:
    """The key for what is left to chance when the agent of a run and its seed is evaluated.

    It is another one for each seed and each method, as statistics over runs take them for
    independent, and the same one each time, wherever the folder lies. `seed` gives other draws.
    """
    who = hashlib.sha256(f"{run.fingerprint} {run_seed}".encode()).digest()
    first, second = np.frombuffer(who[:8], "<u4")
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), first), second)


def over_training_in(run: RunFolder) -> Path:
    """Where the results of policies that a run kept while it trained are, a folder for each."""
    return run.path / "evaluation" / "over-training"


def evaluate_run(
    run: RunFolder,
    agents: Sequence[Agent],
    dataset: LevelSet,
    name: str,
    config: EvaluationConfig,
    *,
    over_training: bool = False,
    advance: Callable[[int], None] = lambda amount: None,
) -> Results:
    """Play every level with each seed's agent and write `evaluation/NAME.csv`, unless it is there.

    Results that are part of a curve go to the folder of their update, `over_training`. `advance` is
    told of levels played.
    """
    if set(name) & set(',\n"'):
        raise ConfigError(
            f"A set of levels cannot be called {name!r}: its name stands in CSV files, so it must "
            "have no commas, quotation marks or line breaks."
        )
    levels = over_training_in(run) if over_training else run.path / "evaluation"
    folder = levels / f"{config.update:08d}" if over_training else levels
    folder.mkdir(exist_ok=True, parents=True)
    place = place_of(folder, name, config)
    final = folder / f"{place}.csv"
    if are_there(final, config, run.fingerprint):
        advance(len(agents) * config.episodes * len(dataset))
        return Results(final.read_text(encoding="utf-8").splitlines()[1:], final)
    suite = place if is_other_set(place, name, folder, config) else name
    told = json.dumps({"suite": suite, **asdict(config), "run": run.fingerprint})
    partial = folder / f"{place}.partial"
    lines = _lines_there(partial, told, len(dataset))
    advance(len(lines))
    for more in _lines_from(len(lines) // len(dataset), run, agents, dataset, suite, config):
        lines += more
        write_text(partial, "\n".join([told, *lines]) + "\n")
        advance(len(dataset))
    put_aside(folder, place, config.update)
    dataset.save(levels / f"{place}.npz")
    final.with_suffix(".json").unlink(missing_ok=True)  # the old one, until the new table is there
    write_text(final, "\n".join([HEADER, *lines]) + "\n")
    write_text(final.with_suffix(".json"), told)
    partial.unlink(missing_ok=True)
    if not over_training:
        write_index(folder)
    return Results(lines, final)


def _lines_from(
    begin: int,
    run: RunFolder,
    agents: Sequence[Agent],
    dataset: LevelSet,
    name: str,
    config: EvaluationConfig,
) -> Generator[list[str]]:
    """The lines of one episode in every level, for each seed and episode that is still missing."""
    world = run.task.environment.prepare(dataset.levels)
    for number in range(begin, len(agents) * config.episodes):
        place, episode = divmod(number, config.episodes)
        noise = noise_key(run, run.seeds[place], seed=config.seed)
        key = jax.random.fold_in(noise, episode)
        played = _play(agents[place], run.task, world, config.greedy, key)
        yield [
            f"{run.seeds[place]},{name},{level},{episode},{solved:d},{returned:.6f},{steps}"
            for level, (solved, returned, steps) in enumerate(zip(*played, strict=True))
        ]


def _lines_there(path: Path, told: str, count: int) -> list[str]:
    """The lines of whole episodes of the same evaluation."""
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ValueError):
        return []
    return lines[: len(lines) // count * count] if first == told else []


def _play(
    agent: Agent,
    task: Task,
    world: Any,  # noqa: ANN401  (any environment's)
    greedy: bool,
    key: jax.Array,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    environment = task.environment
    levels = jnp.arange(environment.num_levels(world))
    played = evaluate_compiled(agent, environment, world, levels, key=key, greedy=greedy)
    results = (task.is_solved(played.returned), played.returned, played.steps)
    solved, returned, steps = (np.asarray(part) for part in jax.device_get(results))
    return solved, returned, steps
