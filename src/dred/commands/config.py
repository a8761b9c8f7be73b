"""`dred config`: all settings of a run, as a file that `dred train --config` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dred.commands.options import Changes, Plugins

if TYPE_CHECKING:
    from dred.assemble import Assembled
    from dred.task import Task


def assembled(
    method: str,
    *,
    task: str,
    preset: str,
    config: Path | None,
    changes: tuple[tuple[str, ...], ...],
    plugins: tuple[Path, ...],
    options: Mapping[str, object] | None = None,
) -> "tuple[Task, Assembled]":
    """Return the task and the settings that a command names; some have an option of their own."""
    from dred.assemble import assemble
    from dred.plugins import load_plugins
    from dred.registry import find_method, find_task
    from dred.studies.grid import from_words

    load_plugins(plugins)
    found, record, then = find_task(task), find_method(method), from_words(chain(*changes))
    return found, assemble(record, found, preset, file=config, changes=options, then=then)


@dataclass(frozen=True)
class ShowConfig:
    """Print all settings of a run as TOML, each under its line of help.

    The output is a file for `dred train METHOD --config`, whose settings replace those of the
    preset; those of --set replace those of the file.

    For example:
      dred config plr > settings.toml
      dred config vae-dred --preset paper --set method.eta.end=0.5
    """

    method: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="METHOD")]
    """How levels are chosen: a name, or a TOML file with a method of your own."""
    task: str = "gridworld"
    """What kind of problem: gridworld, or one of your own, as FILE.py:NAME."""
    preset: str = "laptop"
    """How much: paper, laptop, demo, smoke or example, as in `dred train`."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE.toml")] = None
    """Settings that differ from the preset's."""
    changes: Changes = ()
    """Settings to change, such as method.eta.end=0.5 or ppo.epochs=3."""
    plugins: Plugins = ()
    """Files that register scores, generators, methods or tasks of your own."""

    def run(self) -> None:
        """Check the settings and print them."""
        from dred.assemble import config_text
        from dred.training.state import check_config

        task, made = assembled(
            self.method,
            task=self.task,
            preset=self.preset,
            config=self.config,
            changes=self.changes,
            plugins=self.plugins,
        )
        check_config(made.config, task)
        print(config_text(made.config, task), end="")
