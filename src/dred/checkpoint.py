"""Saving the state of a run, and restoring it exactly. No pickle; a digest tells damage.

A checkpoint is an `.npz` file with one array per leaf of the state, named by its path, and `meta`
(JSON) with the SHA-256 of them all. It is written under another name and then renamed.
"""

import json
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

from dred.errors import CheckpointError, reason_of
from dred.files import replacing
from dred.former import with_modern_names
from dred.storage import DAMAGE, digest_of, read_archive

StateT = TypeVar("StateT")
Arrays = dict[str, NDArray[np.generic]]


class AnyShape:
    """A leaf of `like`, below, for an array whose size is not known beforehand."""


def path_of(folder: Path, num_updates: int) -> Path:
    """Where the checkpoint after so many updates is."""
    return folder / f"update-{num_updates:08d}.npz"


def update_of(path: Path) -> int:
    """The number of updates in the name of a checkpoint."""
    return int(path.stem.removeprefix("update-"))


def checkpoints_in(folder: Path) -> list[Path]:
    """All checkpoints of a run, oldest first."""
    return sorted(folder.glob("update-*.npz"))


def save(
    path: Path,
    state: Any,  # noqa: ANN401  (any pytree)
    *,
    keep: int,
    beside: Arrays | None = None,
) -> None:
    """Write a checkpoint, and remove older ones beyond the last `keep`."""
    write(path, state, beside=beside)
    for old in checkpoints_in(path.parent)[:-keep]:
        old.unlink()


def write(
    path: Path,
    state: Any,  # noqa: ANN401  (any pytree)
    *,
    beside: Arrays | None = None,
) -> None:
    """Write the arrays of a pytree with their digest, whole or not at all.

    `beside` has more arrays, which say what numbers in the state mean.
    """
    arrays = {**_arrays_of(state), **(beside or {})}
    meta = json.dumps({"format": 1, "digest": digest_of(arrays, sorted(arrays))})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, meta=np.array(meta), **arrays)


def read(path: Path) -> Arrays:
    """The arrays of a checkpoint, by number and path of the leaf, checked against its digest."""
    try:
        arrays = read_archive(path)
        meta = dict(json.loads(str(arrays.pop("meta"))))
    except DAMAGE as error:
        raise CheckpointError(
            f"{path} cannot be read: {reason_of(error)}. It is damaged or cut short."
        ) from None
    if meta.get("digest") != digest_of(arrays, sorted(arrays)):
        raise CheckpointError(f"{path} does not match its digest: it was changed or damaged.")
    return arrays


def load(path: Path, like: StateT) -> StateT:
    """The state in a checkpoint, which must have the structure and shapes of `like`.

    The leaves of `like` may be arrays or just tell shapes, as those of `jax.eval_shape`. Arrays by
    names of an earlier version are found, too.
    """
    expected = _named_leaves(like)
    arrays = with_modern_names(read(path), expected)
    for name, array in expected.items():
        wanted = "something" if isinstance(array, AnyShape) else list(array.shape)
        found = list(arrays[name].shape) if name in arrays else "nothing"
        if found != wanted and (wanted != "something" or found == "nothing"):
            raise CheckpointError(
                f"{path} has {found} for {name}, where these settings need {wanted}. It belongs to "
                "a run with other settings."
            )
    leaves = [jax.numpy.asarray(arrays[name]) for name in expected]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def load_latest(folder: Path, like: StateT) -> tuple[StateT, list[str]] | None:
    """The newest checkpoint that is whole, and what was wrong with newer ones; None without any.

    Stops if there are some and none can be used, rather than to begin anew and lose them.
    """
    problems: list[str] = []
    for path in reversed(checkpoints_in(folder)):
        try:
            state = load(path, like)
            return state, [f"{problem} Falling back to the one before." for problem in problems]
        except CheckpointError as error:
            problems.append(str(error))
    if problems:
        raise CheckpointError(
            f"None of the checkpoints in {folder} can be used. {problems[0]} Move them elsewhere "
            "to begin anew."
        )
    return None


def read_latest(folder: Path) -> Arrays | None:
    """The arrays of the newest checkpoint that is whole; None if none is."""
    for path in reversed(checkpoints_in(folder)):
        try:
            return read(path)
        except CheckpointError:
            continue
    return None


def _arrays_of(state: Any) -> Arrays:  # noqa: ANN401  (any pytree)
    return {name: np.asarray(leaf) for name, leaf in _named_leaves(state).items()}


def _named_leaves(state: Any) -> dict[str, Any]:  # noqa: ANN401  (any pytree)
    leaves, _ = jax.tree.flatten_with_path(state)
    return {
        f"{number:03d}{jax.tree_util.keystr(path)}": leaf
        for number, (path, leaf) in enumerate(leaves)
    }
