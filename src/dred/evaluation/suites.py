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

from dred.agents.network import ActorCritic
from dred.evaluation.evaluate import evaluate_compiled
from dred.files import write_text
from dred.runs import Run
from dred.tasks.gridworld.environment import Gridworld
from dred.tasks.gridworld.levels.build import make
from dred.tasks.gridworld.levels.dataset import LevelDataset, concatenate

PAPER = ("train", "test", "edge", "hardcore")  # the sets of the suite `paper`
HEADER = "seed,suite,level,episode,solved,return,steps"


@dataclass(frozen=True)
class Task:
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
    """The likeliest action, instead of one drawn from the policy."""


def paper_suite(train: LevelDataset) -> dict[str, LevelDataset]:
    """The four sets of the paper: the levels trained on, 2048 held out, 448 edge cases, 216 large.

    All but the first are made anew, which takes seconds and gives the same levels each time.
    """
    edge = concatenate([make(f"cave-escape-edge-{kind}") for kind in ("moss", "lava")])
    sets = (train, make("cave-escape-test"), edge, make("cave-escape-hardcore"))
    return dict(zip(PAPER, sets, strict=True))


class Results:
    """The lines of one evaluation, as arrays."""

    def __init__(self, lines: Sequence[str]) -> None:
        rows = [line.split(",") for line in lines]
        self.solved = np.array([row[4] == "1" for row in rows])
        self.returned = np.array([float(row[5]) for row in rows])


def noise_key(run: Run, run_seed: int, *, seed: int = 0) -> PRNGKeyArray:
    """The key for what is left to chance when the agent of a run and its seed is evaluated.

    It is another one for each seed and each method, as statistics over runs take them for
    independent, and the same one each time, wherever the folder lies. `seed` gives other draws.
    """
    who = hashlib.sha256(f"{run.fingerprint} {run_seed}".encode()).digest()
    first, second = np.frombuffer(who[:8], "<u4")
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), first), second)


def over_training_in(run: Run) -> Path:
    """Where the results of policies that a run kept while it trained are, a folder for each."""
    return run.path / "evaluation" / "over-training"


def evaluate_run(
    run: Run,
    networks: Sequence[ActorCritic],
    dataset: LevelDataset,
    name: str,
    task: Task,
    *,
    over_training: bool = False,
    advance: Callable[[int], None] = lambda amount: None,
) -> Results:
    """Play every level with each seed's agent and write `evaluation/NAME.csv`, unless it is there.

    Results that are part of a curve go to the folder of their update, `over_training`. `advance` is
    told of levels played.
    """
    levels = over_training_in(run) if over_training else run.path / "evaluation"
    folder = levels / f"{task.update:08d}" if over_training else levels
    folder.mkdir(exist_ok=True, parents=True)
    final, facts = folder / f"{name}.csv", folder / f"{name}.json"
    told = json.dumps({**asdict(task), "run": run.fingerprint})
    if final.exists() and facts.exists() and facts.read_text(encoding="utf-8") == told:
        advance(len(networks) * task.episodes * len(dataset))
        return Results(final.read_text(encoding="utf-8").splitlines()[1:])
    partial = folder / f"{name}.partial"
    lines = _lines_there(partial, told, len(dataset))
    advance(len(lines))
    for more in _lines_from(len(lines) // len(dataset), run, networks, dataset, name, task):
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
    run: Run,
    networks: Sequence[ActorCritic],
    dataset: LevelDataset,
    name: str,
    task: Task,
) -> Generator[list[str]]:
    """The lines of one episode in every level, for each seed and episode that is still missing."""
    environment = Gridworld()
    world = environment.prepare(dataset.levels)
    for number in range(begin, len(networks) * task.episodes):
        place, episode = divmod(number, task.episodes)
        noise = noise_key(run, run.seeds[place], seed=task.seed)
        key = jax.random.fold_in(noise, episode)
        played = _play(networks[place], environment, world, task.greedy, key)
        yield [
            f"{run.seeds[place]},{name},{level},{episode},{solved:d},{returned:.6f},{steps}"
            for level, (solved, returned, steps) in enumerate(zip(*played, strict=True))
        ]


def _lines_there(path: Path, told: str, count: int) -> list[str]:
    """The lines of whole episodes of the same task."""
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ValueError):
        return []
    return lines[: len(lines) // count * count] if first == told else []


def _play(
    network: ActorCritic,
    environment: Gridworld,
    world: Any,  # noqa: ANN401  (any environment's)
    greedy: bool,
    key: jax.Array,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    levels = jnp.arange(world.start.shape[0])
    played = jax.device_get(
        evaluate_compiled(network, environment, world, levels, key=key, greedy=greedy)
    )
    return np.asarray(played.solved), np.asarray(played.returned), np.asarray(played.steps)
