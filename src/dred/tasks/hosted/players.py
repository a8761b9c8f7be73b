"""Environments side by side, in this process or in others, each in an episode of its own."""

import multiprocessing
import traceback
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32
from numpy.typing import NDArray

from dred.errors import DredError
from dred.tasks.hosted.recipe import Level, Recipe
from dred.tasks.hosted.spaces import Spaces, stacked


class Episode(NamedTuple):
    """All that decides an episode, if the environment leaves nothing else to chance."""

    level: Level
    seed: int
    actions: list[Any]  # so far: a number each, or an array of such


class Outcome(NamedTuple):
    """What an action in each of several environments led to."""

    seen: Float32[np.ndarray, "env number"]
    reward: Float32[np.ndarray, " env"]
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]


@runtime_checkable
class Players(Protocol):
    """Some environments."""

    def begin(self, episodes: dict[int, Episode]) -> Float32[np.ndarray, "some number"]:
        """Begin episodes in these environments, do what was done in them, and return what is seen.

        In the order in which they are given.
        """
        ...

    def step(self, actions: NDArray[Any]) -> Outcome:
        """Act once in every environment."""
        ...

    def close(self) -> None:
        """End them."""
        ...


class InProcess:
    """Environments in this process, one after the other."""

    def __init__(self, recipe: Recipe, count: int) -> None:
        self.recipe = recipe
        self.envs = [recipe.new_env() for _ in range(count)]
        self.spaces = Spaces(self.envs[0].observation_space, self.envs[0].action_space)

    def begin(self, episodes: dict[int, Episode]) -> Float32[np.ndarray, "some number"]:
        """Begin episodes, and do what was done in them."""
        seen: list[NDArray[np.float32]] = []
        for place, episode in episodes.items():
            env = self.envs[place]
            shown = self.recipe.begin(env, episode.level, episode.seed)
            for action in episode.actions:
                shown = env.step(self.spaces.done(action))[0]
            seen.append(self.spaces.seen(shown))
        return stacked(seen, self.spaces.num_seen)

    def step(self, actions: NDArray[Any]) -> Outcome:
        """Act once in every environment."""
        rows = [
            env.step(self.spaces.done(action))
            for env, action in zip(self.envs, actions, strict=True)
        ]
        return Outcome(
            np.stack([self.spaces.seen(row[0]) for row in rows]),
            np.array([row[1] for row in rows], np.float32),
            np.array([row[2] for row in rows], np.bool_),
            np.array([row[3] for row in rows], np.bool_),
        )

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


class InProcesses:
    """Environments shared out to other processes, which are started anew and import the recipe."""

    def __init__(self, recipe: Recipe, count: int, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.shares = np.array_split(np.arange(count), min(processes, count))
        words, self.pipes, self.workers = recipe.elsewhere(), [], []
        for share in self.shares:
            ours, theirs = context.Pipe()
            given = (words.make_env, words.set_level, len(share), theirs)
            worker = context.Process(target=work, args=given, daemon=True)
            worker.start()
            theirs.close()
            self.pipes.append(ours)
            self.workers.append(worker)

    def begin(self, episodes: dict[int, Episode]) -> Float32[np.ndarray, "some number"]:
        """Begin episodes, and do what was done in them."""
        asked: list[tuple[int, dict[int, Episode]]] = []
        for number, share in enumerate(self.shares):
            first = int(share[0])
            some = {place - first: one for place, one in episodes.items() if place in share}
            if some:
                self.pipes[number].send(("begin", some))
                asked.append((first, some))
        seen: dict[int, NDArray[np.float32]] = {}
        for number, share in enumerate(self.shares):
            for first, some in asked:
                if first == int(share[0]):
                    places = [place + first for place in some]
                    seen |= dict(zip(places, self._answer(number), strict=True))
        return np.stack([seen[place] for place in episodes])

    def step(self, actions: NDArray[Any]) -> Outcome:
        """Act once in every environment, in all processes at once."""
        for pipe, share in zip(self.pipes, self.shares, strict=True):
            pipe.send(("step", actions[share]))
        parts = [Outcome(*self._answer(number)) for number in range(len(self.pipes))]
        return Outcome(*(np.concatenate(leaves) for leaves in zip(*parts, strict=True)))

    def close(self) -> None:
        """End the processes."""
        for pipe, worker in zip(self.pipes, self.workers, strict=True):
            try:
                pipe.send(("close", None))
            except OSError:
                worker.terminate()
            pipe.close()

    def _answer(self, number: int) -> Any:  # noqa: ANN401  (what was asked for)
        try:
            is_right, answer = self.pipes[number].recv()
        except (EOFError, OSError):
            raise DredError(
                f"The process of environments {list(map(int, self.shares[number]))} has ended. "
                "Try without processes=, which shows where an environment fails."
            ) from None
        if not is_right:
            raise DredError(f"An environment failed in its process: {answer}")
        return answer


def work(make_env: str, set_level: str | None, count: int, pipe: Any) -> None:  # noqa: ANN401
    """Play as the other end of a pipe asks for, until it is closed."""
    players: InProcess | None = None
    while True:
        try:
            what, given = pipe.recv()
        except (EOFError, OSError):
            return
        if what == "close":
            if players is not None:
                players.close()
            return
        try:
            players = players or InProcess(Recipe(make_env, set_level), count)
            answer = players.begin(given) if what == "begin" else tuple(players.step(given))
            pipe.send((True, answer))
        except Exception:  # whatever it is, the other end tells it
            pipe.send((False, traceback.format_exc(limit=-3)))
