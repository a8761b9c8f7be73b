"""How long the command line takes to answer, next to Python itself.

Each is a process of its own, warm (the files are in memory), the median of repeats in turns.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial

from dred.benchmarks.clock import medians
from dred.benchmarks.show import number, print_table

PYTHON = "python"
PROGRAMS = {
    PYTHON: ("-c", "pass"),
    "import dred": ("-c", "import dred"),
    "dred --version": ("-m", "dred.cli", "--version"),
    "dred --help": ("-m", "dred.cli", "--help"),
    "dred train --help": ("-m", "dred.cli", "train", "--help"),
}


def run(*, repeats: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure; the result for JSON, and a function that prints it as a table."""
    seconds = medians({name: partial(start, words) for name, words in PROGRAMS.items()}, repeats)
    return {"benchmark": "start", "seconds": seconds}, partial(show, seconds)


def start(words: tuple[str, ...]) -> None:
    """Run Python with these words to its end."""
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)


def show(seconds: Mapping[str, float]) -> None:
    """Print the result as a table."""
    print_table(
        "From nothing to the end of the process",
        ("command", "ms", "more than Python"),
        [
            (name, number(1e3 * took, "{:.0f}"), number(1e3 * (took - seconds[PYTHON]), "{:.0f}"))
            for name, took in seconds.items()
        ],
    )
