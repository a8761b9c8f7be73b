"""`dred play`: walk through a level in the terminal."""

import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError, DatasetError

ESCAPE = re.compile(r"\x1b[\[O](?P<numbers>[0-9;]*)(?P<letter>[A-Za-z~])")  # one whole key
BEGUN = re.compile(r"\x1b([\[O][0-9;]*)?")  # the first part of one
ARROWS = {"A": "up", "C": "right", "D": "left"}
LETTERS = {"w": "up", "a": "left", "d": "right"}


@dataclass(frozen=True)
class Play:
    """Walk through a level with the arrow keys, seeing all of it or only what the agent sees.

    With an agent, the space bar lets it take a step, and p lets it play to the end.

    For example:
      dred play train.npz --level 7
      dred play train.npz --only-view
      dred play train.npz --agent vae-dred
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A set of levels (.npz)."""
    level: int = 0
    """Which level to begin with."""
    only_view: bool = False
    """Begin with only what the agent sees; `v` changes that."""
    agent: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """An agent to watch: one of `dred pretrained`, a file of `dred export`, or a run folder."""
    seed: int = 0
    """Decides headings that levels leave open, and what an agent does where it is unsure."""

    def run(self) -> None:
        """Play until `q`."""
        from dred.config import check_seed
        from dred.tasks.gridworld.levels import load

        check_seed(self.seed)
        dataset = load(self.file)
        if not 0 <= self.level < len(dataset):
            raise DatasetError(
                f"There is no level {self.level} in {self.file}: it has levels 0 to "
                f"{len(dataset) - 1}."
            )
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ConfigError(
                "dred play needs a terminal to read keys from and draw in. To see a level without "
                "one, use `dred levels show FILE --level N --out level.png`."
            )
        from dred.export import find_policy
        from dred.tasks.gridworld.terminal import walk

        policy = None if self.agent is None else find_policy(self.agent)
        with raw_terminal():
            walk(
                dataset,
                number=self.level,
                only_view=self.only_view,
                seed=self.seed,
                policy=policy,
                keys=pressed_keys(),
                show=show,
            )


def show(frame: str) -> None:
    """Draw a frame over the last one."""
    sys.stdout.write("\x1b[H\x1b[2J" + frame.replace("\n", "\r\n") + "\r\n")
    sys.stdout.flush()


@contextmanager
def raw_terminal() -> Generator[None]:
    """Read keys as they are pressed, on a screen of our own; everything is put back at the end."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        sys.stdout.write("\x1b[?1049h\x1b[?25l")
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def pressed_keys() -> Iterator[str]:
    """Names of keys as they are pressed, until the input ends."""
    rest = ""
    while data := os.read(sys.stdin.fileno(), 256).decode(errors="ignore"):
        names, rest = split_keys(rest + data)
        yield from names


def split_keys(data: str) -> tuple[list[str], str]:
    """The keys in what a terminal sends, and the beginning of one that is not complete yet."""
    names: list[str] = []
    while data:
        whole = ESCAPE.match(data)
        if whole:
            names.append(ARROWS.get(whole["letter"], "") if not whole["numbers"] else "")
            data = data[whole.end() :]
        elif BEGUN.fullmatch(data):
            return names, data
        else:
            names.append(LETTERS.get(data[0].lower(), data[0].lower()))
            data = data[1:]
    return [name for name in names if name], ""
