"""Checks of what a task says about levels, without playing them."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from dred.task import GeneratorInput
from dred.task_checks.case import Case, NotThereError, Problems


def laid_out(case: Case) -> Problems:
    """Levels can be laid out for playing, and none is lost."""
    count = case.task.environment.num_levels(case.world)
    if count != len(case.levels):
        yield (
            f"prepare() was given {len(case.levels)} levels, and num_levels() says {count}: return "
            "arrays whose first axis is that of levels, or say in num_levels how many there are."
        )


def round_trip(case: Case) -> Problems:
    """The format reads what it writes."""
    form, levels = case.task.level_format, case.levels
    if jax.tree.structure(levels.levels) != form.treedef:
        yield (
            f"level_format.treedef is {form.treedef}, and levels are "
            f"{jax.tree.structure(levels.levels)}: name the same columns."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "levels.npz"
        form.collect(levels.levels, levels.structure, {}).save(path)
        found = form.load(path)
    yield from unlike(levels.levels, found.levels, "level_format: a set that was saved and loaded")
    if found.digest != levels.digest:
        yield "level_format: a set that was saved and loaded has another digest than before."


def unlike(one: Any, two: Any, what: str) -> Problems:  # noqa: ANN401  (batches of levels)
    """Return how two batches of levels differ, in words."""
    if jax.tree.structure(one) != jax.tree.structure(two):
        yield f"{what} has {jax.tree.structure(two)} instead of {jax.tree.structure(one)}."
        return
    named = jax.tree_util.tree_leaves_with_path(one)
    for (path, before), after in zip(named, jax.tree.leaves(two), strict=True):
        name = jax.tree_util.keystr(path) or "levels"
        before, after = np.asarray(before), np.asarray(after)
        if before.shape[1:] != after.shape[1:] or before.dtype != after.dtype:
            yield (
                f"{what} has {name} of {after.dtype}{list(after.shape[1:])} instead of "
                f"{before.dtype}{list(before.shape[1:])}."
            )
        elif not np.array_equal(before, after):
            yield f"{what} has other numbers in {name} than before."


def different(case: Case) -> Problems:
    """No two levels are the same."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(case.levels.levels)]
    rows = [b"".join(leaf[place].tobytes() for leaf in leaves) for place in range(len(case.levels))]
    first = {row: place for place, row in reversed(list(enumerate(rows)))}
    for place, row in enumerate(rows):
        if first[row] != place:
            yield f"Levels {first[row]} and {place} are the same: leave one of them out."
            return


def features(case: Case) -> Problems:
    """Features have a number for each level, by the names that are described."""
    task, count = case.task, len(case.levels)
    if task.measure is None:
        if task.features:
            yield f"features describes {list(task.features)}, and no measure gives them."
            return
        raise NotThereError("no features")
    found = task.measure(jax.tree.map(np.asarray, case.levels.levels))
    needed = {name for name, one in task.features.items() if not one.optional}
    if not needed <= set(found) <= set(task.features):
        yield f"measure gives {sorted(found)}, and features describes {sorted(task.features)}."
    for name, column in found.items():
        values = np.asarray(column)
        if values.shape != (count,):
            yield (
                f"measure gives {list(values.shape)} numbers for {name!r}, where one for each of "
                f"{count} levels is expected."
            )
        elif values.dtype.kind not in "fiub" or np.isinf(values).any():
            yield f"measure gives {values.dtype} for {name!r}, of which not all are finite numbers."


def histogram(case: Case) -> Problems:
    """Levels as a distribution: it sums to 1, and follows weights."""
    if case.task.histogram is None:
        raise NotThereError("no histogram: shift is not measured")
    levels, count = jax.tree.map(np.asarray, case.levels.levels), len(case.levels)
    plain = np.asarray(case.task.histogram(levels, None))
    only = np.zeros(count)
    only[0] = 1.0
    first = np.asarray(case.task.histogram(levels, only))
    alone = jax.tree.map(lambda leaf: leaf[:1], levels)
    for name, found in {"without weights": plain, "with weights": first}.items():
        if not np.isfinite(found).all() or found.min() < 0 or abs(found.sum() - 1.0) > 1e-3:
            yield f"histogram {name} sums to {found.sum():g}: a distribution sums to 1."
    if plain.shape != first.shape:
        yield f"histogram has the shape {list(plain.shape)}, and {list(first.shape)} with weights."
    elif not np.allclose(first, case.task.histogram(alone, None), atol=1e-5):
        yield "histogram does not follow its weights: all on one level must give that level's own."


def generators(case: Case) -> Problems:
    """Generators make levels of the same kind, by their keys."""
    own = {name: one for name, one in case.task.generators.items() if one.load is None}
    if not own:
        raise NotThereError("no generators that work without being fitted")
    dataset = jax.tree.map(jnp.asarray, case.levels.levels)
    for name, generator in own.items():
        try:
            model = None if generator.prepare is None else generator.prepare(case.levels)
        except Exception:  # of another dataset than this one; it says so when it is used
            continue
        given = GeneratorInput(dataset=dataset, parents=dataset, model=model)
        keys = (jax.random.key(case.seed), jax.random.key(case.seed))
        one, two = (generator.propose(given, generator.settings, key) for key in keys)
        shapes = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), dataset)
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), one)
        yield from unlike(shapes, blank, f"What the generator {name!r} makes")
        if not all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(two))):
            yield f"The generator {name!r} makes other levels when asked with the same key again."


def pictures(case: Case) -> Problems:
    """Levels can be drawn."""
    drawn = case.task.pictures
    if drawn is None:
        raise NotThereError("no pictures")
    pixels: Any = drawn.draw_level(case.levels[0], size=64)
    if not isinstance(pixels, np.ndarray):
        yield f"draw_level returns {type(pixels).__name__}, not an array."
        return
    found = cast("np.ndarray[Any, Any]", pixels)
    if found.dtype != np.uint8 or found.ndim != 3 or found.shape[-1] != 3:
        yield (f"draw_level returns {found.dtype}{list(found.shape)}, not uint8[height, width, 3].")


def suites(case: Case) -> Problems:
    """Suites make the sets that they name."""
    if not case.task.suites:
        raise NotThereError("no suites")
    for name, suite in case.task.suites.items():
        found: Mapping[str, Any] = suite.make(case.levels)
        if set(found) != set(suite.names):
            yield f"The suite {name!r} names {list(suite.names)} and makes {list(found)}."
