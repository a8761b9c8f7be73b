"""Galleries: all levels of a set, filtered and in order of a feature, and their pictures."""

import io
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from starlette.responses import Response

from dred.errors import ConfigError, lookup
from dred.studio.answers import Asked
from dred.studio.shelf import BUFFER, OpenSet, Shelf
from dred.task import Feature, Task

LARGEST = 720  # pixels of a picture
STRUCTURE = "structure"  # by which one can sort too


class Galleries:
    """Answers what the page asks about sets of levels."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def gallery(self, asked: Asked) -> object:
        """Return which levels of a set pass the filters, in order of a feature."""
        name, there = self.shelf.exact(asked.text("set"))
        is_buffer = BUFFER in name
        columns, structure = there.columns, np.asarray(there.levels.structure)
        keep = passing(columns, asked.table("ranges"), len(there.levels))
        if asked.has("structure"):
            keep &= structure == asked.text("structure")
        sort = asked.text("sort", "")
        names, places, counts = np.unique(structure, return_inverse=True, return_counts=True)
        keys = {"": None, STRUCTURE: places.astype(np.float64), **columns}
        values = lookup(keys, sort, what="feature of these levels")
        order = in_order(keep, values, descending=bool(asked.json.get("descending")))
        return {
            "set": name,
            "total": len(there.levels),
            "digest": there.levels.digest[:16],
            "task": there.task.name,
            "order": order,
            "numbers": there.facts["number"][order].astype(int) if is_buffer else None,
            "begun": self.shelf.begun(name) if is_buffer else None,
            "values": np.round(columns[sort][order], 6) if sort in columns else None,
            "structures": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "features": {
                name: described(one, columns[name]) for name, one in there.features.items()
            },
        }

    def picture(self, asked: Asked) -> object:
        """Return a level as a picture, which never changes for the same address."""
        if asked.has("number"):  # of a buffer: the same level after every update
            there, place = self.shelf.numbered(asked.text("set"), asked.whole("number"))
        else:
            there, place = self.shelf.open(asked.text("set")), asked.whole("level")
        level = there[place]
        pixels = draw(level, there.task, asked.whole("size", 96, most=LARGEST))
        is_named = "digest" in asked.query
        keep = "private, max-age=86400, immutable" if is_named else "no-cache"
        return Response(png(pixels), headers={"cache-control": keep}, media_type="image/png")

    def level(self, asked: Asked) -> object:
        """Return what is known of a level; of the gridworld's also its drawing."""
        there, number = self.shelf.open(asked.text("set")), asked.whole("level")
        return {"number": number, "text": drawing_of(there, number), **facts_of(there, number)}


def facts_of(there: OpenSet, number: int) -> dict[str, object]:
    """Return what is known of one level of a set."""
    columns = there.columns
    return {
        "structure": str(there.levels.structure[number]),
        "facts": {
            one.label: {"value": columns[name][number], "percent": one.percent}
            for name, one in there.features.items()
        },
    }


def drawing_of(there: OpenSet, number: int) -> str | None:
    """Return a level as text; None for other tasks than the gridworld."""
    level = there[number]
    if there.task.name != "gridworld":
        return None
    from dred.levels import to_text

    return to_text(level)


def described(feature: Feature, values: Float[np.ndarray, " level"]) -> dict[str, object]:
    """Return a feature in words, and from where to where it goes."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return {"label": feature.label, "percent": feature.percent, "low": low, "high": high}


def passing(
    columns: Mapping[str, Float[np.ndarray, " level"]], ranges: Mapping[str, Any], count: int
) -> Bool[np.ndarray, " level"]:
    """Return which levels lie in all ranges; what is not a number lies in none."""
    keep = np.ones(count, np.bool_)
    for name, bounds in ranges.items():
        values = lookup(columns, name, what="feature of these levels")
        low, high = bounds_in(bounds)
        keep &= (values >= low) & (values <= high)
    return keep


def bounds_in(said: object) -> tuple[float, float]:
    """Return from where to where a range goes, without a bound where it has none."""
    both = cast("list[object]", said) if isinstance(said, list) else []
    if len(both) != 2 or not all(one is None or isinstance(one, int | float) for one in both):
        raise ConfigError(f"A range is two numbers or null, from and to, not {said!r}.")
    low, high = cast("list[float | None]", both)
    return float(-np.inf if low is None else low), float(np.inf if high is None else high)


def in_order(
    keep: Bool[np.ndarray, " level"],
    values: Float[np.ndarray, " level"] | None,
    *,
    descending: bool,
) -> Int[np.ndarray, " kept"]:
    """Return the levels to keep in order of a value; those without one come last."""
    kept = np.flatnonzero(keep)
    if values is None:
        return kept
    some = -values[kept] if descending else values[kept]
    return kept[np.argsort(some, kind="stable")]


def draw(level: Any, task: Task, size: int) -> UInt8[np.ndarray, "height width 3"]:  # noqa: ANN401
    """Return a picture of a level: drawn by its task, or its numbers as text."""
    if task.pictures is None:
        from dred.reports.pictures import in_numbers

        return in_numbers(level)
    return task.pictures.draw_level(level, size=size)


def png(pixels: UInt8[np.ndarray, "height width channel"]) -> bytes:
    """Return a picture as PNG, quickly."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG", compress_level=1)
    return stream.getvalue()
