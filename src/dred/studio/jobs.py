"""Training from the page: the same commands as in a terminal, one at a time."""

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Route

from dred.errors import ConfigError, lookup
from dred.studio.answers import Asked, route
from dred.studio.parts import Parts
from dred.studio.places import Places

if TYPE_CHECKING:
    from dred.config import TrainConfig

SAID = "said.txt"  # the file of what a command says
MOST_SAID = 4000  # bytes of it that are shown
MOST_UPDATES = 1_000_000


class Jobs:
    """Starts, stops and resumes runs."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._run = ""

    def routes(self, parts: Parts) -> list[Route]:
        """Return what is asked, and who answers."""
        return [
            route("GET", "job", lambda asked: self.state()),
            route("GET", "choices", parts.after(self.choices)),
            route("POST", "preview", parts.after(self.preview)),
            route("POST", "train", parts.after(self.train)),
            route("POST", "resume", self.resume),
            route("POST", "stop", lambda asked: self.stop()),
        ]

    def choices(self, asked: Asked) -> object:
        """Return what a new run can be: methods and presets of the gridworld."""
        from dred.presets import METHODS
        from dred.registry import find_task

        return {"methods": list(METHODS), "presets": list(find_task("gridworld").budgets)}

    def preview(self, asked: Asked) -> object:
        """Return all settings of a run before it is started, each with its line of help."""
        from dred.assemble import config_text
        from dred.registry import find_task

        return {"settings": config_text(planned(asked), find_task("gridworld"))}

    def train(self, asked: Asked) -> object:
        """Start a run."""
        method, preset = asked.text("method"), asked.text("preset")
        planned(asked)
        name = asked.text("out")
        out = self.places.new(name)
        if out.exists():
            raise ConfigError(f"{name!r} exists already. Give the new run another name.")
        words = ["train", method, "--out", str(out), "--preset", preset]
        words += ["--levels", str(self.places.find(asked.text("levels")))]
        words += ["--seed", str(asked.whole("seed", 0))]
        for option in ("generator", "held_out"):
            if asked.has(option) and asked.text(option):
                place = self.places.find(asked.text(option))
                words += [f"--{option.replace('_', '-')}", str(place)]
        if asked.has("updates"):
            words += ["--updates", str(asked.whole("updates", most=MOST_UPDATES))]
        if changes := changes_in(asked):
            words += ["--set", *changes]
        return self._start(name, words)

    def resume(self, asked: Asked) -> object:
        """Continue a run."""
        name = asked.text("run")
        return self._start(name, ["resume", str(self.places.find(name))])

    def _start(self, name: str, words: Sequence[str]) -> object:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                raise ConfigError(
                    f"{self._run} is being trained already, and one run at a time is enough for "
                    "this machine. Stop it first, or wait."
                )
            self._run = name
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="dred-studio-")
            with Path(self._folder.name, SAID).open("wb") as said:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "dred", *words],
                    cwd=self.places.roots[self.places.home],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C in the terminal is passed on by `close`
                )
        return self.state()

    def stop(self) -> object:
        """Ask the run to save and end, as Ctrl-C does; asked again, it ends at once."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
        return self.state()

    def state(self) -> dict[str, object]:
        """Return what is being trained, or was last, and what the command said."""
        process = self._process
        code = None if process is None else process.poll()
        return {
            "run": self._run,
            "working": process is not None and code is None,
            "code": code,
            "said": self._said(),
        }

    def _said(self) -> str:
        path = None if self._folder is None else Path(self._folder.name, SAID)
        whole = path.read_bytes() if path is not None and path.exists() else b""
        return whole[-MOST_SAID:].decode(errors="replace")

    def close(self) -> None:
        """Stop what is at work, and wait until it has saved."""
        self.stop()
        if self._process is not None:
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()


def changes_in(asked: Asked) -> list[str]:
    """Return single settings that are to be changed, as `--set` takes them."""
    changes = asked.text("changes", "").split()
    if any(word.startswith("-") for word in changes):
        raise ConfigError("Changes are NAME=VALUE with spaces between, such as ppo.epochs=3.")
    return changes


def planned(asked: Asked) -> "TrainConfig":
    """Return the settings of the run that is asked for, or say what is wrong with them."""
    from dred.assemble import assemble
    from dred.presets import METHODS
    from dred.registry import find_task
    from dred.studies.grid import from_words
    from dred.training.state import check_config

    task, method, preset = find_task("gridworld"), asked.text("method"), asked.text("preset")
    lookup(METHODS, method, what="method")
    lookup(task.budgets, preset, what="preset")
    changes = None
    if asked.has("updates"):
        changes = {"num_updates": asked.whole("updates", most=MOST_UPDATES)}
    then = from_words(changes_in(asked))
    made = assemble(METHODS[method], task, preset, changes=changes, then=then)
    check_config(made.config, task)
    return made.config
