"""The files of evaluations: none replaces another that asked something else, and an index.

The first evaluation on a set called NAME is `NAME.csv`. One of other levels under that name, or
with other episodes or other actions, gets a name that says what is different, such as
`NAME-3-episodes.csv` or `NAME-greedy.csv`. If a later checkpoint is evaluated in the same way, the
former results become `NAME-after-600-updates.csv`. `index.md` lists them all.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dred.files import write_text

INDEX = "index.md"
ENDINGS = (".csv", ".json", ".npz")


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


def told_in(path: Path) -> dict[str, Any]:
    """Return what a file beside results says about them; empty if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def are_there(path: Path, config: EvaluationConfig, run: str) -> bool:
    """Return whether the results of this very evaluation are there, of the run so called."""
    told = told_in(path.with_suffix(".json"))
    told.pop("suite", None)
    return path.exists() and told == {**asdict(config), "run": run}


def place_of(folder: Path, name: str, config: EvaluationConfig) -> str:
    """Return the name of the files for an evaluation on a set."""
    first = told_in(folder / f"{name}.json")
    if not first:
        return name
    words = {
        "digest": config.digest[:8],
        "episodes": f"{config.episodes}-episode{'s' if config.episodes > 1 else ''}",
        "greedy": "greedy" if config.greedy else "drawn",
        "seed": f"seed-{config.seed}",
    }
    asked = asdict(config)
    return "-".join([name, *(word for key, word in words.items() if first.get(key) != asked[key])])


def is_other_set(place: str, name: str, folder: Path, config: EvaluationConfig) -> bool:
    """Return whether a set has another's name, so that its files were given a name of their own."""
    return place != name and told_in(folder / f"{name}.json").get("digest") != config.digest


def put_aside(folder: Path, place: str, update: int) -> None:
    """Rename the results of an earlier checkpoint under a name that is needed."""
    former = told_in(folder / f"{place}.json").get("update")
    if former is None or former == update:
        return
    for ending in ENDINGS:
        path = folder / f"{place}{ending}"
        if path.exists():
            path.rename(folder / f"{place}-after-{former}-updates{ending}")


def write_index(folder: Path) -> None:
    """List all evaluations in a folder."""
    header = ("results", "suite", "updates", "episodes", "actions", "seed", "digest of the levels")
    rows = [header, ("---",) * len(header)]
    for path in sorted(folder.glob("*.csv")):
        told = told_in(path.with_suffix(".json"))
        rows.append((path.name, *described(told, path.stem)))
    write_text(folder / INDEX, "".join(f"| {' | '.join(row)} |\n" for row in rows))


def described(told: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the columns of the index for one evaluation."""
    actions = "most probable" if told.get("greedy") else "drawn"
    numbers = (str(told.get(key, "?")) for key in ("update", "episodes"))
    digest = str(told.get("digest", "?"))[:12]
    return str(told.get("suite", name)), *numbers, actions, str(told.get("seed", "?")), digest


def preference(told: Mapping[str, Any]) -> tuple[int, bool, int]:
    """Return by what reports choose among evaluations of one suite: the largest is taken.

    The latest checkpoint, actions drawn from the policy rather than the most probable ones, and as
    many episodes as there are.
    """
    return int(told.get("update", 0)), not told.get("greedy", False), int(told.get("episodes", 1))
