"""Fitted wave function collapse with the levels it was fitted to: fitting, loading, making levels.

Its folder has `windows.npz` in place of weights; `dred.tasks.gridworld.generators.folder` says what
else there is.
"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from dred import progress
from dred.config import check_seed
from dred.errors import lookup
from dred.settings import varied
from dred.task import FitRequest, LevelSet
from dred.tasks.gridworld.generators.fitted import mode_of
from dred.tasks.gridworld.generators.fitting import need_one_size
from dred.tasks.gridworld.generators.folder import (
    FitFolder,
    check_same,
    facts_in,
    levels_in,
    settings_in,
)
from dred.tasks.gridworld.generators.parts import all_connected
from dred.tasks.gridworld.generators.wfc.calibrate import calibrated
from dred.tasks.gridworld.generators.wfc.model import (
    FILE,
    Collapse,
    Windows,
    fit_windows,
    read_windows,
    write_windows,
)
from dred.tasks.gridworld.generators.wfc.windows import WindowsConfig
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level

KIND = "wfc"
MODES = ("new",)
FORMAT = 1
PRESETS = {"default": WindowsConfig()}


class FittedWFC:
    """Makes levels whose windows are those of the levels it was fitted to, of any size."""

    kind, modes = KIND, MODES

    def __init__(
        self,
        windows: Windows,
        config: WindowsConfig,
        dataset: LevelDataset,
        path: Path | None = None,  # the folder from which it was loaded
    ) -> None:
        self.windows, self.config, self.dataset, self.path = windows, config, dataset, path
        self.collapse = Collapse(windows, config, connected=all_connected(dataset.levels))

    def sample(
        self,
        count: int,
        *,
        mode: str = MODES[0],
        key: PRNGKeyArray,
        temperature: float = 1.0,
        shape: tuple[int, int] | None = None,
    ) -> Level:
        """So many levels; of another size, without the wall, if given.

        The temperature is that of the windows: the weight of each is raised to its inverse.
        """
        mode_of(self, mode)
        seed = seed_of(np.asarray(jax.random.bits(key, (2,), jnp.uint32)))
        return self.collapse(seed, count, shape or self.dataset.shape, temperature)

    def words(self) -> str:
        """Return what was found in the dataset."""
        names, counts = self.windows.name.tolist(), np.bincount(self.windows.catalogue).tolist()
        side = self.windows.windows.shape[1]
        each = ", ".join(
            f"{count} {name}".rstrip() for name, count in zip(names, counts, strict=True)
        )
        return f"different windows of {side}×{side}: {each}"


def seed_of(bits: UInt32[np.ndarray, " 2"]) -> np.uint64:
    """Return two random numbers of 32 bits as one."""
    high, low = (int(part) for part in bits)
    return np.uint64((high << 32) | low)


def fit_generator(levels: LevelSet, out: Path, request: FitRequest) -> FittedWFC:
    """Fit a generator to levels; one that was fitted in the same way is not fitted again."""
    dataset = cast(LevelDataset, levels)
    config = lookup(PRESETS, request.preset, what="preset of the generator")
    config = varied(config, request.changes, where="set")
    task: dict[str, Any] = {
        "format": FORMAT,
        "config": asdict(config),
        "seed": check_seed(request.seed),
    }
    if out.exists():
        check_same({**task, "digest": dataset.digest}, out)
        return load(out)
    need_one_size(dataset.levels, KIND)
    windows = fit_on(dataset, config, request.seed)
    folder = FitFolder(out, task, dataset, KIND)
    write_windows(folder.path / FILE, windows)
    folder.complete(config, dataset, command=sys.argv)
    return load(folder.final)


def fit_on(dataset: LevelDataset, config: WindowsConfig, seed: int) -> Windows:
    """Return the windows of a dataset with corrected weights, with a bar."""
    windows = fit_windows(dataset, config)
    connected = all_connected(dataset.levels)
    Collapse(windows, config, connected=connected).try_out(dataset.shape)
    total = config.rounds * len(windows.name)
    with progress.bar("fitting", total, unit="catalogues", first=progress.COMPILING) as advance:
        return calibrated(
            windows, dataset.shape, config, connected=connected, seed=seed, advance=advance
        )


def load(folder: str | Path) -> FittedWFC:
    """Return a fitted model from its folder."""
    folder = Path(folder)
    facts = facts_in(folder)
    config = settings_in(folder, facts, KIND, WindowsConfig)
    dataset = levels_in(folder, facts)
    return FittedWFC(read_windows(folder / FILE), config, dataset, folder)
