"""Evaluating a run on sets of levels, and the files that come of it.

`evaluation/NAME.csv` has a line per seed, level and episode; `NAME.json` beside it says of which
checkpoint and settings, and `NAME.npz` has the levels. An evaluation that was interrupted goes on
where it was: lines are collected in `NAME.partial`, episode by episode. Results of the policies
that a run kept while it trained are in `evaluation/over-training/UPDATE`, and their levels beside
these folders.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from dred.agents.protocol import Agent
from dred.evaluation.evaluate import evaluate_compiled
from dred.files import write_text
from dred.run_folder import RunFolder
from dred.task import LevelSet, Task

HEADER = "seed,suite,level,episode,solved,return,steps"


@dataclass(frozen=True)
class EvaluationConfig:
    """What is evaluated, and how."""

    digest: str
    """Of the levels."""
    update: int
    """Of the checkpoint."""
    episodes: int = 1
    """In each level."""
    seed: int = 0
    """Decides headings and actions, with the run and its own seed."""
    greedy: bool = False
    """The most probable action, instead of one drawn from the policy."""


class Results:
    """The lines of one evaluation, as arrays."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)
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
    levels = over_training_in(run) if over_training else run.path / "evaluation"
    folder = levels / f"{config.update:08d}" if over_training else levels
    folder.mkdir(exist_ok=True, parents=True)
    final, facts = folder / f"{name}.csv", folder / f"{name}.json"
    told = json.dumps({**asdict(config), "run": run.fingerprint})
    if final.exists() and facts.exists() and facts.read_text(encoding="utf-8") == told:
        advance(len(agents) * config.episodes * len(dataset))
        return Results(final.read_text(encoding="utf-8").splitlines()[1:])
    partial = folder / f"{name}.partial"
    lines = _lines_there(partial, told, len(dataset))
    advance(len(lines))
    for more in _lines_from(len(lines) // len(dataset), run, agents, dataset, name, config):
        lines += more
        write_text(partial, "\n".join([told, *lines]) + "\n")
        advance(len(dataset))
    dataset.save(levels / f"{name}.npz")
    facts.unlink(missing_ok=True)  # the old ones, until the new table is there
    write_text(final, "\n".join([HEADER, *lines]) + "\n")
    write_text(facts, told)
    partial.unlink(missing_ok=True)
    return Results(lines)


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
