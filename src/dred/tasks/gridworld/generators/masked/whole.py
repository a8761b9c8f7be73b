"""Fitting the masked model from beginning to end, from where it was left if it was interrupted."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np

from dred import progress
from dred.compute import keep_compiled_programs
from dred.config import check_seed
from dred.errors import lookup
from dred.files import OutputError
from dred.settings import varied
from dred.task import FitRequest, LevelSet
from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.fitting import Fitting
from dred.tasks.gridworld.generators.folder import FitFolder, check_same
from dred.tasks.gridworld.generators.masked.fit import Lessons, begin, fit, has_stopped, lessons_of
from dred.tasks.gridworld.generators.masked.fitted import AHEAD, KIND, MODES, FittedMasked, load
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.sizes import largest, padded
from dred.tasks.gridworld.presets import MASKED

FORMAT = 3  # what an older version began is begun again
DRAWN = 100  # what the key of a fit is used for, after those of `fitting`


def fit_generator(levels: LevelSet, out: Path, request: FitRequest) -> FittedMasked:
    """Fit a generator to levels; one that was fitted in the same way is not fitted again."""
    dataset = cast(LevelDataset, levels)
    config = lookup(MASKED, request.preset, what="preset of the generator")
    config = varied(config, request.changes, where="set")
    task: dict[str, Any] = {
        "format": FORMAT,
        "config": asdict(config),
        "seed": check_seed(request.seed),
    }
    if out.exists():
        check_same({**task, "digest": dataset.digest}, out)
        return load(out)
    keep_compiled_programs()
    key = jax.random.key(request.seed)
    lessons = lessons_of(dataset, config)
    blank = begin(lessons, config, key=key)  # says now what cannot be fitted
    folder = FitFolder(out, task, dataset, KIND)
    try:
        fitting = fit_on(folder, blank, lessons, config, key)
        draw_ahead(FittedMasked(fitting.best, config, dataset), folder.path / AHEAD, key)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(folder.words_to_go_on()) from None
    except OutputError as error:
        raise OutputError(f"{error} {folder.words_to_go_on()}") from error
    folder.finish(fitting, config, dataset, command=sys.argv)
    return load(folder.final)


def draw_ahead(fitted: FittedMasked, path: Path, key: jax.Array) -> None:
    """Write the levels of which training takes its new ones."""
    count = fitted.config.ahead
    if not count:
        return
    shapes = fitted.config.ahead_shapes or [fitted.dataset.shape]
    each = [len(some) for some in np.array_split(np.arange(count), len(shapes))]
    parts: list[Level] = []
    with progress.bar("drawing levels ahead", count, unit="levels") as advance:
        for number, (shape, few) in enumerate(zip(shapes, each, strict=True)):
            own = jax.random.fold_in(key, DRAWN + number)
            made = fitted.sample(few, key=own, shape=shape, tell=advance)
            parts.append(padded(made, largest(shapes)))
    levels = Level(*(np.concatenate(several) for several in zip(*parts, strict=True)))
    names = np.full(count, f"{KIND}-{MODES[0]}")
    LevelDataset(*levels, structure=names, meta={"fitted_to": fitted.dataset.digest}).save(path)


def fit_on(
    folder: FitFolder,
    blank: Fitting[MaskedModel],
    lessons: Lessons,
    config: MaskedConfig,
    key: jax.Array,
) -> Fitting[MaskedModel]:
    """Fit from where it was left, with a bar."""
    fitting = folder.restore(blank)
    done, first = int(fitting.epochs), progress.COMPILING
    with progress.bar("fitting", config.epochs, unit="epochs", done=done, first=first) as advance:

        def tell(row: dict[str, float], fitting: Fitting[MaskedModel]) -> None:
            folder.note(row, fitting)
            is_last = has_stopped(folder.history, config.patience)
            advance(
                config.epochs - len(folder.history) + 1 if is_last else 1,
                note=f"bound {row['bound/held_back']:.1f} nats held back",
            )

        before = folder.history
        fitting, _ = fit(lessons, config, key=key, fitting=fitting, history=before, tell=tell)
    return fitting
