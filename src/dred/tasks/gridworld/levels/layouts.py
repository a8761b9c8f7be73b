"""Layouts: where there is floor and where wall, without start, goal, moss or lava.

They take a bit a cell on disk, so that millions can be kept, and are furnished into levels later:

    make_layouts(make_plan("cave-escape-train", count=1_500_000), Path("layouts.npz"))
    furnish_file(plan_furnishing(Path("layouts.npz"), count=512), Path("levels.npz"))

Layout i of a structure is that of level i of `dred levels make` with the same settings and seed;
furnished with that seed, it becomes that level. Only where the level had to be made anew in
another layout, or the layout equals an earlier one, do they differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, SupportsIndex, cast

import numpy as np
from jaxtyping import Bool, UInt8

from dred import storage
from dred.config import check_seed
from dred.errors import DatasetError
from dred.settings import read_settings
from dred.tasks.gridworld.config import DatasetConfig
from dred.tasks.gridworld.levels import packing, placement
from dred.tasks.gridworld.levels.build import check_boards, check_outcomes, grow_file, stream_of
from dred.tasks.gridworld.levels.cave_escape import rules_of
from dred.tasks.gridworld.levels.growing import Records
from dred.tasks.gridworld.levels.packing import MadeLayouts, packed_size
from dred.tasks.gridworld.levels.placement import CONTRADICTION, Made
from dred.tasks.gridworld.levels.plan import Plan, equal_shares, find_config

ARRAYS = ("floor", "structure")


@dataclass(frozen=True, eq=False)
class Layouts:
    """Layouts of one size, in one stretch for each structure."""

    packed: UInt8[np.ndarray, "layout bytes"]
    structure: np.ndarray  # text [layout]
    shape: tuple[int, int]
    meta: Mapping[str, object]

    def __len__(self) -> int:
        return len(self.packed)

    def floor(self, index: int) -> Bool[np.ndarray, "height width"]:
        """The floor cells of one layout."""
        bits = np.unpackbits(self.packed[index], count=self.shape[0] * self.shape[1])
        return bits.reshape(self.shape).astype(np.bool_)

    @cached_property
    def stretches(self) -> dict[str, slice]:
        """Where the layouts of each structure lie."""
        starts = np.flatnonzero(np.r_[True, self.structure[1:] != self.structure[:-1]])
        ends = [*starts[1:].tolist(), len(self)]
        return {
            str(self.structure[start]): slice(start, end)
            for start, end in zip(starts.tolist(), ends, strict=True)
        }


def load_layouts(path: str | Path) -> Layouts:
    """Read a file of layouts, after every check."""
    path = Path(path)
    arrays, meta = storage.read_arrays(path, ARRAYS, what="set of layouts", check=_check_arrays)
    height, width = meta.get("height"), meta.get("width")
    packed, structure = arrays["floor"], arrays["structure"]
    if not (isinstance(height, int) and isinstance(width, int)) or (
        packed.shape[1] != packed_size((height, width))
    ):
        raise DatasetError(
            f"{path}: {packed.shape[1]} bytes a layout do not fit its height (={height}) and width "
            f"(={width}) at a bit a cell. Make or copy the file again."
        )
    layouts = Layouts(packed.astype(np.uint8), structure.astype(np.str_), (height, width), meta)
    if sum(part.stop - part.start for part in layouts.stretches.values()) != len(layouts):
        raise DatasetError(
            f"{path}: the layouts of a structure are not all in one stretch. Sort them by their "
            "structure."
        )
    return layouts


def _check_arrays(path: Path, arrays: Mapping[str, storage.Array]) -> None:
    packed, structure = arrays["floor"], arrays["structure"]
    if (
        packed.dtype != np.uint8
        or packed.ndim != 2
        or structure.dtype.kind != "U"
        or structure.shape != packed.shape[:1]
        or not len(packed)
    ):
        raise DatasetError(
            f"{path}: floor is {packed.dtype.name} {list(packed.shape)} and structure "
            f"{structure.dtype.name} {list(structure.shape)}. Expected floor uint8 [n, bytes], a "
            "bit a cell, and structure text [n], with n at least 1. Make or copy the file again."
        )


def make_layouts(plan: Plan, path: Path, *, workers: int | None = None) -> str:
    """Make the layouts of a plan straight to a file, in constant memory; returns its digest."""
    check_boards(plan)
    (height, width), count = plan.shape, plan.config.count
    records = Records(
        {"floor": ("|u1", (packed_size(plan.shape),))},
        {},
        {"layouts": count, "height": height, "width": width},
    )
    return grow_file(
        _LayoutPlan(plan), partial(_make_some, plan), path, records=records, workers=workers
    )


@dataclass(frozen=True)
class _LayoutPlan:
    """A plan of which only the layouts are made."""

    plan: Plan

    @property
    def title(self) -> str:
        """What the set is called."""
        return f"{self.plan.title}, layouts"

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of a layout."""
        return self.plan.shape

    @property
    def names(self) -> Sequence[str]:
        """The names of the structures."""
        return self.plan.names

    @property
    def counts(self) -> Sequence[int]:
        """How many layouts each structure gives."""
        return self.plan.counts

    @property
    def recipe(self) -> dict[str, object]:
        """All that the layouts depend on, for JSON."""
        return {**self.plan.recipe, "by": "dred levels make --layouts-only"}


def _make_some(
    plan: Plan, which: int, numbers: range, stop: Bool[np.ndarray, " 1"], redraw: int
) -> MadeLayouts:
    """Make the layouts with these numbers of one structure, unless told to stop."""
    structure = plan.structures[which]
    made = packing.empty_layouts(len(numbers), plan.shape)
    packing.make_layouts(
        structure.tables,
        structure.board(*plan.shape),
        structure.is_wall,
        structure.config.max_attempts,
        plan.config.tiles.min_navigable,
        stream_of(plan.config.name, structure.name, plan.seed, redraw),
        numbers.start,
        stop,
        made,
    )
    if (made.outcome == CONTRADICTION).any():
        raise structure.contradiction(*plan.shape)
    check_outcomes(made.outcome, structure.name, plan.shape, plan.config.tiles)
    return made


@dataclass(frozen=True, eq=False)
class Furnishing:
    """Layouts to furnish: how many levels, with which tiles and which random numbers."""

    layouts: Layouts
    config: DatasetConfig
    seed: int

    @property
    def title(self) -> str:
        """What the set is called."""
        return self.config.name

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the levels, without the surrounding wall."""
        return self.layouts.shape

    @property
    def names(self) -> list[str]:
        """The names of the structures."""
        return list(self.layouts.stretches)

    @property
    def counts(self) -> list[int]:
        """How many levels each structure gives: by default one in every layout."""
        if self.config.count == len(self.layouts):
            return [part.stop - part.start for part in self.layouts.stretches.values()]
        return equal_shares(self.config.count, len(self.names))

    @property
    def recipe(self) -> dict[str, object]:
        """All that the levels depend on, for JSON."""
        return {
            **made_of(self.layouts),
            "by": "dred levels furnish",
            "seed": self.seed,
            "config": asdict(self.config),
            "layouts": self.layouts.meta["digest"],
        }


def made_of(layouts: Layouts) -> dict[str, Any]:
    """How layouts were made, as they say themselves; an error if they do not."""
    made = layouts.meta.get("made")
    if not isinstance(made, dict) or "config" not in made or "seed" not in made:
        raise DatasetError(
            "These layouts do not say how they were made. Use a file from `dred levels make … "
            "--layouts-only`."
        )
    return cast("dict[str, Any]", made)


def plan_furnishing(
    path: str | Path,
    *,
    count: int | None = None,
    seed: SupportsIndex | None = None,
    preset: str | Path | None = None,
) -> Furnishing:
    """What to make of a file of layouts: one level in each, with the tiles they were made for.

    With more levels than layouts, layouts serve several times; with fewer, the first of each
    structure serve. The name, tiles and part of all levels are those of the preset or TOML file if
    one is given.
    """
    layouts = load_layouts(path)
    made = made_of(layouts)
    config = read_settings(DatasetConfig, made["config"], where=f"the recipe of {path}")
    config = replace(config, count=len(layouts) if count is None else count)
    if preset is not None:
        other = find_config(preset)[0]
        config = replace(
            config, name=other.name, tiles=other.tiles, part=other.part, parts=other.parts
        )
    return Furnishing(layouts, config, check_seed(made["seed"] if seed is None else seed))


def furnish_file(furnishing: Furnishing, path: Path, *, workers: int | None = None) -> str:
    """Make levels of layouts straight to a file, no two alike; returns its digest."""
    return grow_file(furnishing, partial(_furnish_some, furnishing), path, workers=workers)


def _furnish_some(
    furnishing: Furnishing, which: int, numbers: range, stop: Bool[np.ndarray, " 1"], redraw: int
) -> Made:
    """Make the levels with these numbers in layouts of one structure, unless told to stop."""
    config, name = furnishing.config, furnishing.names[which]
    made = placement.empty_batch(len(numbers), furnishing.shape)
    packing.furnish_layouts(
        furnishing.layouts.packed[furnishing.layouts.stretches[name]],
        rules_of(config.tiles, part=config.part, parts=config.parts),
        stream_of(config.name, name, furnishing.seed, redraw),
        numbers.start,
        stop,
        made,
    )
    check_outcomes(made.outcome, name, furnishing.shape, config.tiles)
    return made
