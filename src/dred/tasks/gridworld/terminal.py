"""Walking through a level in the terminal, seeing all of it or only what the agent sees."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import jax
import numpy as np

from dred.exported_policy import Memory, Policy
from dred.tasks.gridworld.environment import FORWARD, LEFT, RIGHT, Episode, Gridworld
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import ANY_HEADING, EMPTY, LAVA, MOSS, WALL, Level
from dred.tasks.gridworld.levels.render import AGENT_COLOUR, GOAL_COLOUR, PALETTE
from dred.tasks.gridworld.pictures import seen_cells
from dred.tasks.gridworld.view import View

PAUSE = 0.05  # seconds between two steps of an agent that plays on
HELP = "← → turn  ↑ walk  v all or only the view  r again  n next level  q quit"
AGENT_HELP = "space one step of the agent  p to the end   "
GLYPHS = {EMPTY: "  ", WALL: "  ", LAVA: "~~", MOSS: ",,"}
ARROWS = ("▶ ", "▼ ", "◀ ", "▲ ")
HIDDEN = (0, 0, 0)
ACTIONS = {"left": LEFT, "right": RIGHT, "up": FORWARD}


@dataclass(frozen=True)
class Game:
    """A walk in progress."""

    number: int  # of the level in the set
    level: Level
    episode: Episode
    only_view: bool
    steps: int = 0
    message: str = ""
    over: bool = False
    view: View | None = None  # what the agent sees now
    memory: Memory = ()  # what a policy remembers of its own steps in this episode
    help: str = HELP


def paint(text: str, background: tuple[int, int, int], ink: tuple[int, int, int]) -> str:
    """Text in 24-bit colour."""
    back, front = (";".join(str(part) for part in colour) for colour in (background, ink))
    return f"\x1b[48;2;{back}m\x1b[38;2;{front}m{text}\x1b[0m"


def draw(game: Game) -> str:
    """The level as coloured text, the surrounding wall included."""
    agent = game.episode.agent
    row, column, heading = (int(part) for part in (agent.row, agent.column, agent.heading))
    seen = seen_cells(game.level, row, column, heading)
    tiles = np.pad(game.level.tiles, 1, constant_values=WALL)
    goal = tuple(int(part) + 1 for part in game.level.goal)
    lines: list[str] = []
    for y in range(tiles.shape[0]):
        cells: list[str] = []
        for x in range(tiles.shape[1]):
            if (y, x) == (row + 1, column + 1):
                cells.append(paint(ARROWS[heading], PALETTE[EMPTY], AGENT_COLOUR))
            elif game.only_view and not seen[y, x]:
                cells.append(paint("··", HIDDEN, (60, 60, 60)))
            elif (y, x) == goal:
                cells.append(paint("G ", GOAL_COLOUR, (255, 255, 255)))
            else:
                tile = int(tiles[y, x])
                cells.append(paint(GLYPHS[tile], PALETTE[tile], (40, 40, 40)))
        lines.append("".join(cells))
    status = f"level {game.number}   step {game.steps}   {game.message}"
    return "\n".join([*lines, "", status, game.help])


class Walk:
    """Begins levels and takes steps; the only place that knows the environment."""

    def __init__(
        self, dataset: LevelDataset, *, only_view: bool, seed: int, policy: Policy | None = None
    ) -> None:
        self.dataset, self.only_view, self.policy = dataset, only_view, policy
        self.rng = np.random.default_rng(seed)
        self.env = Gridworld()
        self.key = jax.random.key(seed)
        self.step = jax.jit(self.env.step)

    def begin(self, number: int) -> Game:
        """Begin a level of the set."""
        level = self.dataset[number]  # without padding
        if int(level.heading) == ANY_HEADING:
            self.key, key = jax.random.split(self.key)
            heading = int(jax.random.randint(key, (), 0, 4))
            level = level._replace(heading=np.asarray(heading, np.int8))
        return self._start(number, level)

    def _start(self, number: int, level: Level) -> Game:
        episode, view = self.env.reset_to(level, key=self.key)
        memory = () if self.policy is None else self.policy.initial_memory(1)
        words = HELP if self.policy is None else AGENT_HELP + HELP
        return Game(number, level, episode, self.only_view, view=view, memory=memory, help=words)

    def press(self, game: Game, key: str) -> Game:
        """What a key does."""
        if key == "v":
            self.only_view = not game.only_view
            return replace(game, only_view=self.only_view)
        if key == "r":
            return self._start(game.number, game.level)
        if key == "n":
            return self.begin((game.number + 1) % len(self.dataset))
        if game.over or not (key in ACTIONS or (key == " " and self.policy is not None)):
            return game
        memory, action = self._decide(game)
        step = self.step(game.episode, action if key == " " else ACTIONS[key])
        message, over = "", bool(step.terminated | step.truncated)
        if float(step.reward) > 0:
            message = (
                f"You reached the goal: reward {float(step.reward):.2f}. n for the next level."
            )
        elif step.terminated:
            message = "You stepped into lava. r to try again."
        elif step.truncated:
            message = "Out of time. r to try again."
        return replace(
            game,
            episode=step.state,
            steps=game.steps + 1,
            message=message,
            over=over,
            view=step.view,
            memory=memory,
        )

    def _decide(self, game: Game) -> tuple[Memory, int]:
        """Return what the policy remembers after what it sees now, and what it would do."""
        if self.policy is None or game.view is None:
            return game.memory, FORWARD
        image, direction = np.asarray(game.view.image), np.asarray(game.view.direction)
        memory, action = self.policy.act(game.memory, image[None], direction[None], self.rng)
        return memory, int(action[0])


def walk(
    dataset: LevelDataset,
    *,
    number: int,
    only_view: bool,
    seed: int,
    keys: Iterator[str],
    show: Callable[[str], None],
    policy: Policy | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> Game:
    """Walk through levels, key by key, until `q` or the keys run out.

    With a policy, the space bar is a step of its own, and `p` all that it does to the end.
    """
    walker = Walk(dataset, only_view=only_view, seed=seed, policy=policy)
    game = walker.begin(number)
    show(draw(game))
    for key in keys:
        if key == "q":
            break
        plays_on = key == "p" and policy is not None
        while plays_on and not game.over:
            game = walker.press(game, " ")
            show(draw(game))
            wait(PAUSE)
        if not plays_on:
            game = walker.press(game, key)
            show(draw(game))
    return game
