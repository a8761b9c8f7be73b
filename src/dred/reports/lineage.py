"""What a buffer holds, and which levels its levels were made from: the ancestry of levels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dred.errors import DatasetError
from dred.reports.kit.drawing import Drawing
from dred.reports.kit.pictures import Picture
from dred.reports.kit.sheet import sheet
from dred.reports.kit.table import Cell, Table
from dred.reports.material import Method, Training
from dred.reports.pictures import picture_of
from dred.task import LevelSet, Task

FACTS = ("probability", "score", "number", "parent", "generation", "birth")
MOST_FILES = 200  # of saved levels, in which ancestors are looked for


class Kept(NamedTuple):
    """A level that was in a buffer, and what was known of it."""

    level: Any
    made_by: str
    facts: Mapping[str, float | None]  # by the names in FACTS


class Shown(NamedTuple):
    """The most probable levels of one agent's buffer, and the ancestry of the most derived."""

    training: Training
    update: int
    kept: tuple[Kept, ...]
    lines: tuple[tuple[Kept, ...], ...]  # from the first ancestor that is known to the level itself


def saved_buffers(training: Training) -> list[tuple[int, Path]]:
    """Return the files of levels that a training left, with their updates, oldest first."""
    pattern = f"update-*-seed-{training.seed}.npz"
    found = sorted((training.run.path / "levels").glob(pattern))
    return [(int(path.name.split("-")[1]), path) for path in found]


def read_kept(path: Path, task: Task) -> list[Kept]:
    """Return the levels in such a file, most probable first; none if it cannot be read."""
    try:
        levels = task.level_format.load(path)
    except DatasetError:
        return []
    facts: dict[str, Any] = dict(levels.meta)
    columns = {name: facts.get(name, [None] * len(levels)) for name in FACTS}
    return [
        Kept(level, str(levels.structure[i]), {name: columns[name][i] for name in FACTS})
        for i, level in enumerate(each(levels))
    ]


def buffer_of(
    method: Method, dataset: LevelSet | None, *, most: int = 12, deepest: int = 2
) -> Shown | None:
    """Return what a method's first agent would replay at the end; None if nothing was saved."""
    training = method.trainings[0]
    files = saved_buffers(training)
    if not files:
        return None
    update, newest = files[-1]
    kept = read_kept(newest, training.run.task)
    if not kept:
        return None
    known = ancestors_of(
        files,
        dataset if method.config.method.initial_buffer == "dataset" else None,
        training.run.task,
    )
    by_depth = sorted(kept, key=lambda one: -(one.facts["generation"] or 0))
    chains = [line_of(one, known) for one in by_depth[:deepest] if one.facts["generation"]]
    return Shown(training, update, tuple(kept[:most]), tuple(chains))


def ancestors_of(
    files: Sequence[tuple[int, Path]], dataset: LevelSet | None, task: Task
) -> dict[int, Kept]:
    """Return every level that was ever saved, by its number; the dataset has the first ones."""
    known: dict[int, Kept] = {}
    if dataset is not None:
        known = {
            i: Kept(level, "dataset", {"number": i, "parent": -1, "generation": 0})
            for i, level in enumerate(each(dataset))
        }
    for _, path in files[-MOST_FILES:]:
        known |= {
            int(one.facts["number"]): one
            for one in read_kept(path, task)
            if one.facts["number"] is not None
        }
    return known


def each(levels: LevelSet) -> list[Any]:
    """Return the levels of a set, one by one."""
    return [levels[i] for i in range(len(levels))]


def line_of(one: Kept, known: Mapping[int, Kept], *, longest: int = 6) -> tuple[Kept, ...]:
    """Return a level after those it was made from, as far back as they are known."""
    line = [one]
    while len(line) < longest:
        parent = line[0].facts["parent"]
        if parent is None or parent < 0 or int(parent) not in known:
            break
        line.insert(0, known[int(parent)])
    return tuple(line)


def captioned(one: Kept, task: Task) -> Picture:
    """Return a level of a buffer with its ancestry in words."""
    facts = one.facts
    number, parent = facts.get("number"), facts.get("parent")
    title = f"{one.made_by}" + ("" if number is None else f" · no. {int(number)}")
    lines: list[str] = []
    if facts.get("score") is not None:
        lines.append(f"score {facts['score']:.3g}")
    if facts.get("probability") is not None:
        lines.append(f"{100 * float(facts['probability'] or 0):.2g} % of draws")
    if facts.get("generation"):
        origin = "" if parent is None or parent < 0 else f" from no. {int(parent)}"
        lines.append(f"generation {int(facts['generation'] or 0)}{origin}")
    return Picture(picture_of(one.level, task), title, tuple(lines))


def buffer_sheet(name: str, shown: Shown) -> Drawing:
    """Return the gallery of a buffer and the ancestry of its levels, as a file."""
    task = shown.training.run.task
    rows: list[tuple[str, list[Picture]]] = []
    for first in range(0, len(shown.kept), 6):
        heading = f"{name}: most probable levels after {shown.update} updates" if first == 0 else ""
        rows.append((heading, [captioned(one, task) for one in shown.kept[first : first + 6]]))
    rows += [
        (f"{name}: ancestry of level {number_of(line[-1])}", [captioned(one, task) for one in line])
        for line in shown.lines
    ]
    return Drawing(f"buffer-{name}", f"Levels in the buffer of {name}.", sheet(rows))


def number_of(one: Kept) -> str:
    """Return a level's own number."""
    number = one.facts.get("number")
    return "?" if number is None else str(int(number))


def buffers_table(buffers: Mapping[str, Shown | None]) -> Table:
    """Return the levels of all galleries, with all that is known of them."""
    data = [
        (
            name,
            shown.training.seed,
            shown.update,
            one.made_by,
            *(float("nan") if one.facts.get(f) is None else one.facts[f] or 0 for f in FACTS),
        )
        for name, shown in buffers.items()
        if shown is not None
        for one in shown.kept
    ]
    return Table(
        "buffers",
        "The most probable levels of each method's first seed",
        ("Method", "Seed", "Update", "Made by", *(fact.capitalize() for fact in FACTS)),
        tuple(
            tuple(Cell(f"{v:.4g}" if isinstance(v, float) else str(v)) for v in row) for row in data
        ),
        ("method", "seed", "update", "made_by", *FACTS),
        tuple(data),
        "A parent of −1 means that a level was not made from another.",
    )
