"""How near the levels of a task's generators are to a dataset, and to levels held out."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dred.errors import DredError
from dred.evaluation.shift import shift_from
from dred.rows import Rows
from dred.task import Generator, GeneratorInput, Levels, LevelSet, Task

JUDGED = 1024  # levels of each source


def source_distances(
    task: Task,
    dataset: LevelSet,
    held_out: LevelSet | None,
    models: Mapping[str, Any],
    *,
    seed: int = 0,
) -> Rows:
    """Return a row for each generator: Jensen–Shannon distances of its levels, nearest first.

    `models` has what was fitted, by the generator's name; one that was not, or that cannot make
    levels from this dataset, is left out. The dataset's own row tells what to compare with.
    """
    levels = jax.tree.map(jnp.asarray, dataset.levels)
    sets = {"dataset": dataset, **({} if held_out is None else {"held out": held_out})}
    sources: dict[str, Levels] = {"the dataset": dataset.levels}
    for name, generator in task.generators.items():
        made = _made(generator, levels, dataset, models.get(name), jax.random.key(seed))
        sources |= {} if made is None else {name: made}
    rows = [
        {"levels from": name}
        | {f"distance to {other}": _distance(task, some, known) for other, known in sets.items()}
        for name, some in sources.items()
    ]
    last = f"distance to {list(sets)[-1]}"
    return Rows(sorted(rows, key=lambda row: row[last]))


def _made(
    generator: Generator,
    levels: Levels,
    dataset: LevelSet,
    model: Any,  # noqa: ANN401  (what was fitted)
    key: jax.Array,
) -> Levels | None:
    if generator.load is not None and model is None:
        return None
    if model is None and generator.prepare is not None:
        try:
            model = generator.prepare(dataset)
        except DredError:
            return None
    some = np.arange(JUDGED) % len(dataset)
    parents = jax.tree.map(lambda leaf: leaf[some], levels)
    given = GeneratorInput(dataset=levels, parents=parents, model=model)
    return jax.tree.map(np.asarray, generator.propose(given, generator.settings, key))


def _distance(task: Task, levels: Levels, known: LevelSet) -> float:
    count = jax.tree.leaves(levels)[0].shape[0]
    shift = shift_from(known.levels, levels, np.full(count, 1.0 / count), task)
    return float("nan") if shift is None else shift.distance
