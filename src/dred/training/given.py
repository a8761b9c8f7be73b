"""What a run was given: levels and a generator, which it contains unless they are very large."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dred.config import TrainConfig
from dred.errors import ConfigError, DatasetError
from dred.generation import digest_of_fitted
from dred.run_folder import RunFolder
from dred.task import LevelSet, Task

MOST_BYTES = 100_000_000  # of a set or a generator that a run contains
OPTIONS = {"train": "--levels", "test": "--held-out"}


@dataclass(frozen=True)
class Kept:
    """What `run.json` notes of what a run was given, and how to write what it contains."""

    levels: Mapping[str, Mapping[str, str]]
    generator: Mapping[str, str] | None
    contents: Mapping[str, Callable[[Path], object]]


def kept(
    sets: Mapping[str, LevelSet],
    files: Mapping[str, Path],
    generator: Path | None,
    config: TrainConfig,
    task: Task,
) -> Kept:
    """Return what a new run contains, and what it only notes the place of.

    `files` has those of the sets that come from a file, after which copies are called.
    """
    places: dict[str, dict[str, str]] = {}
    contents: dict[str, Callable[[Path], object]] = {}
    for name, levels in sets.items():
        file = files.get(name)
        place = f"given/{name}.npz" if file is None else f"given/{name}/{file.stem}.npz"
        if file is not None and bytes_of(levels) > MOST_BYTES:
            place = str(file.resolve())
        else:
            contents[place] = levels.save
        places[name] = noted(place, levels.digest)
    if generator is None:
        return Kept(places, None, contents)
    place = "given/generator"
    if size_of(generator) > MOST_BYTES:
        place = str(generator.resolve())
    else:
        contents[place] = partial(copy, generator)
    return Kept(places, noted(place, digest_of_fitted(config.method, task, generator)), contents)


def noted(path: str, digest: str) -> dict[str, str]:
    """Return what `run.json` says of a file or folder."""
    return {"path": path, "digest": digest}


def bytes_of(levels: LevelSet) -> int:
    """Return how much memory the arrays of a set take."""
    import jax

    return sum(leaf.nbytes for leaf in jax.tree.leaves(levels.levels))


def size_of(path: Path) -> int:
    """Return how much a file, or all in a folder, takes."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def copy(source: Path, target: Path) -> None:
    """Copy a file, or a folder with all that is in it."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def now_at(
    run: RunFolder,
    *,
    levels: Path | None = None,
    held_out: Path | None = None,
    generator: Path | None = None,
) -> None:
    """Note where things are now that a run was given; they must be the same."""
    for name, path in (("train", levels), ("test", held_out)):
        if path is not None:
            find_levels(run, name, path)
    if generator is not None:
        given = run.record.generator
        if given is None:
            raise ConfigError(f"{run.path} was given no generator. Leave out --generator.")
        digest = digest_of_fitted(run.config.method, run.task, generator)
        check_same(run, generator, "--generator", given.digest, digest)
        run.note(generator=noted(str(generator.resolve()), digest))


def find_levels(run: RunFolder, name: str, path: Path) -> None:
    """Note where a set of levels is now."""
    given = run.record.levels.get(name)
    if given is None:
        raise ConfigError(f"{run.path} was given no such levels. Leave out {OPTIONS[name]}.")
    digest = run.task.level_format.load(path).digest
    check_same(run, path, OPTIONS[name], given.digest, digest)
    told = run.record.told["levels"]
    run.note(levels={**told, name: noted(str(path.resolve()), digest)})


def check_same(run: RunFolder, path: Path, option: str, expected: str, found: str) -> None:
    """Stop at something else than a run was given."""
    if found != expected:
        raise DatasetError(
            f"{option} {path} is not what {run.path} was given: its digest is {found[:12]}, and "
            f"should be {expected[:12]}. Give the place of the same one, or start a new run."
        )
