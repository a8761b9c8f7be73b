"""Agents in drawn levels: what they see, expect and do; how often they get through."""

import threading
from pathlib import Path
from typing import Any

import numpy as np

from dred.errors import ConfigError, DredError
from dred.exported_policy import Policy
from dred.studio.answers import Asked
from dred.studio.drawing import level_of, seen_from
from dred.studio.shelf import Kept, Shelf, stamp
from dred.tasks.gridworld.environment import check_actions
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.text import to_text
from dred.tasks.gridworld.tries import Episodes, Tries, go_on, try_level, visits

NUM_TRIES, MOST_ACTIONS = 64, 3000
RUN = "run:"  # before the name of an agent's run; others come with dred


class Probe:
    """Answers what the page asks about agents."""

    def __init__(self, shelf: Shelf) -> None:
        self.places = shelf.places
        self._policies: Kept[Policy] = Kept()
        self._walks: Kept[Episodes] = Kept(4)
        self._walking = threading.Lock()

    def agents(self, asked: Asked) -> object:
        """Return the agents that there are: those that come with dred, and those of runs."""
        from dred import pretrained
        from dred.checkpoint import checkpoints_in
        from dred.runs import open_run

        found: list[dict[str, object]] = [
            {"name": name, "label": f"{name} (comes with dred)", "guesses": False}
            for name in pretrained.catalogue()
        ]
        for one in self.places.scan("run"):
            if not checkpoints_in(one.path / "checkpoints"):
                continue
            try:
                record = open_run(one.path).record
            except DredError:
                continue
            if record.task == "gridworld":
                guesses = "train" in record.levels  # which level it is in
                found.append({"name": f"{RUN}{one.name}", "label": one.name, "guesses": guesses})
        return {"agents": found}

    def policy(self, name: str) -> Policy:
        """Return an agent by its name."""
        from dred import pretrained
        from dred.checkpoint import checkpoints_in

        if not name.startswith(RUN):
            return self._policies.get(name, lambda: pretrained.load(name))
        path = self.places.find(name.removeprefix(RUN))
        there = checkpoints_in(path / "checkpoints")
        key = (str(path), *(stamp(one) for one in there))
        return self._policies.get(key, lambda: _policy_of(path))

    def probe(self, asked: Asked) -> object:
        """Return an episode step by step, from a moment on: of an agent, or of whoever walks."""
        level, _, tried = self.played(asked)
        since = min(asked.whole("since", 0), len(tried.row))
        return {"since": since, "frames": frames_of(level, tried, since), **outcome(tried)}

    def played(self, asked: Asked) -> tuple[Level, Policy, Tries]:
        """Play an episode as a request says; the same request is the same episode."""
        level, policy = level_of(asked.text("text")), self.policy(asked.text("agent"))
        told = asked.json.get("actions") or []
        if not isinstance(told, list) or any(type(one) is not int for one in told):
            raise ConfigError("Actions must be a list of whole numbers.")
        seed, actions = asked.whole("seed", 0), list[int](told[:MOST_ACTIONS])
        if asked.json.get("stops"):
            return level, policy, self._walked(level, policy, seed, actions)
        return level, policy, try_level(level, policy, seed=seed, actions=actions)

    def _walked(self, level: Level, policy: Policy, seed: int, actions: list[int]) -> Tries:
        """Go on with a walk that was known up to here, or walk it from its start."""
        check_actions(np.asarray(actions, np.int64))
        key = (to_text(level), id(policy), seed)
        with self._walking:
            known = self._walks.get(key, lambda: Episodes(level, policy, seed=seed))
            if known.actions != actions[: len(known.actions)]:
                self._walks.drop(key)
                known = self._walks.get(key, lambda: Episodes(level, policy, seed=seed))
            go_on(known, actions, until=len(actions))
            return known.tries()

    def tries(self, asked: Asked) -> object:
        """Return how often an agent gets through, and where it goes."""
        level, policy = level_of(asked.text("text")), self.policy(asked.text("agent"))
        tried = try_level(level, policy, count=NUM_TRIES, seed=asked.whole("seed", 0))
        solved = tried.returned > 0
        return {
            "tries": NUM_TRIES,
            "solved": solved.mean(),
            "steps": tried.steps[solved].mean() if solved.any() else None,
            "visits": np.round(visits(level, tried), 4),
        }


def _policy_of(path: Path) -> Policy:
    from dred.export import policy_of
    from dred.runs import open_run

    return policy_of(open_run(path))


def outcome(tried: Tries) -> dict[str, object]:
    """Return how the first try ended."""
    return {
        "over": tried.over[0],
        "solved": tried.returned[0] > 0,
        "returned": tried.returned[0],
        "steps": tried.steps[0],
    }


def frames_of(level: Level, tried: Tries, since: int = 0) -> list[dict[str, Any]]:
    """Return each moment of the first try, from one on: place, sight, view, chances and value."""
    frames: list[dict[str, Any]] = []
    for time in range(since, len(tried.row)):
        pose = (int(tried.row[time, 0]), int(tried.column[time, 0]), int(tried.heading[time, 0]))
        frames.append(
            {
                "pose": pose,
                "seen": seen_from(level, *pose),
                "view": tried.image[time, 0, :, :, 0].T,  # rows from far to near
                "chance": np.round(tried.chance[time, 0], 4),
                "value": round(float(tried.value[time, 0]), 4),
                "action": int(tried.action[time, 0]) if time < len(tried.action) else None,
            }
        )
    return frames
