"""Levels that come and go: what entered and left a buffer, and what levels were made from."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from dred.reports.lineage import Kept, ancestors_of, each, line_of, saved_buffers
from dred.reports.material import Training
from dred.runs import open_run
from dred.studio.answers import Asked
from dred.studio.galleries import drawing_of
from dred.studio.shelf import BUFFER, OpenSet, Shelf

MOST_SHOWN = 36  # of those that entered, and of those that left
SHOWN = ("number", "parent", "generation", "birth", "probability", "score")


class Turnover:
    """Answers what the page asks about levels that come and go."""

    def __init__(self, shelf: Shelf) -> None:
        self.places, self.shelf = shelf.places, shelf

    def turnover(self, asked: Asked) -> object:
        """Return which levels entered and left a buffer since an update, most probable first."""
        name, seed = asked.text("run"), asked.whole("seed")
        now = self.shelf.buffer(name, seed)
        updates = self.shelf.updates(name, seed)
        newest, first = (updates or [0])[-1], (updates or [0])[0]
        since = asked.whole("since", first)
        before = self.shelf.buffer(name, seed, since if updates else None)
        came, left = only_in(now, before), only_in(before, now)
        return {
            "begun": self.shelf.begun(name),
            "updates": updates,
            "since": since,
            "update": newest,
            "entered": len(came),
            "left": len(left),
            "came": shown(now, came, f"{name}{BUFFER}-{seed}@{newest}"),
            "gone": shown(before, left, f"{name}{BUFFER}-{seed}@{since}"),
        }

    def lineage(self, asked: Asked) -> object:
        """Return the ancestry of a level of a run's buffer, as far back as it was saved."""
        name, seed, number = asked.text("run"), asked.whole("seed"), asked.whole("number")
        run = open_run(self.places.find(name))
        starts = run.config.method.initial_buffer == "dataset" and "train" in run.record.levels
        files = saved_buffers(Training(run, seed, ()))
        known = ancestors_of(files, run.levels("train") if starts else None, run.task)
        for update in self.shelf.updates(name, seed):
            known |= kept_in(self.shelf.buffer(name, seed, update))
        if number not in known:
            return {"line": []}
        line = line_of(known[number], known, longest=8)
        drawn = run.task.level_format.collect(
            stacked([one.level for one in line]), [one.made_by for one in line], {}
        )
        pictures = OpenSet(run.task, drawn, {})
        return {
            "line": [
                {
                    "made_by": one.made_by,
                    "number": one.facts.get("number"),
                    "text": drawing_of(pictures, place),
                }
                for place, one in enumerate(line)
            ]
        }


def only_in(here: OpenSet, there: OpenSet) -> Int[np.ndarray, " some"]:
    """Return the places of levels in one buffer whose numbers are not in another."""
    return np.flatnonzero(~np.isin(here.facts["number"], there.facts["number"]))


def shown(there: OpenSet, places: Int[np.ndarray, " some"], name: str) -> list[dict[str, object]]:
    """Return what is to be told of some levels of a buffer, which lie in order of probability."""
    return [
        {
            "set": name,
            "level": place,
            "made_by": str(there.levels.structure[place]),
            **{fact: there.facts[fact][place] for fact in SHOWN},
        }
        for place in places[:MOST_SHOWN].tolist()
    ]


def kept_in(there: OpenSet) -> dict[int, Kept]:
    """Return the levels of a buffer by their numbers."""
    facts = {fact: there.facts[fact].tolist() for fact in ("number", "parent", "generation")}
    return {
        int(facts["number"][place]): Kept(
            level,
            str(there.levels.structure[place]),
            {fact: column[place] for fact, column in facts.items()},
        )
        for place, level in enumerate(each(there.levels))
    }


def stacked(levels: list[Any]) -> Any:  # noqa: ANN401  (a batch of the task's levels)
    """Return levels as one batch."""
    return jax.tree.map(lambda *parts: np.stack(parts), *levels)
