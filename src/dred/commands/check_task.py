"""`dred check-task`: what is missing or wrong in a task of one's own."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.commands.options import Plugins


@dataclass(frozen=True)
class CheckTask:
    """Try a task, and say what is missing or wrong in it; fails if something is.

    A few levels are played with random actions: episodes must end, repeat exactly with the same
    chance, differ between levels, and stay within the spaces and bounds that the task states.
    Files, features, generators, pictures and agents are tried as well.

    For example:
      dred check-task my_file.py:task
      dred check-task control/pendulum
      dred check-task gridworld --levels train.npz
    """

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """The name of a task, or a file and a name in it: FILE.py:NAME."""
    levels: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Levels to try, instead of the task's own."""
    steps: int = 2000
    """Steps within which every episode must end."""
    seed: int = 0
    """Other chance, and other actions."""
    plugins: Plugins = ()
    """Plug-ins that register the task."""

    def run(self) -> None:
        """Check, print the list, and fail if something is wrong."""
        from dred.plugins import load_plugins
        from dred.registry import find_task
        from dred.task_checks import check_task

        load_plugins(self.plugins)
        task = find_task(self.task)
        levels = None if self.levels is None else task.level_format.load(self.levels)
        found = check_task(task, levels, steps=self.steps, seed=self.seed)
        print(found)
        if found.wrong:
            sys.exit(1)
