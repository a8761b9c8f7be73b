"""The command line: `dred VERB …`."""

import inspect
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass
from functools import partial, reduce
from operator import or_
from typing import Annotated, Protocol, cast, runtime_checkable

import tyro

from dred import __version__, progress
from dred.commands import levels, study
from dred.commands.bench import Bench
from dred.commands.check_task import CheckTask
from dred.commands.compare_generators import CompareGenerators
from dred.commands.config import ShowConfig
from dred.commands.demo import Demo
from dred.commands.evaluate import Evaluate
from dred.commands.export import Export
from dred.commands.fit import Fit
from dred.commands.generate import Generate
from dred.commands.numbers import NUMBERS
from dred.commands.play import Play
from dred.commands.pretrained import Pretrained
from dred.commands.report import Report
from dred.commands.studio import Studio
from dred.commands.train import Resume, Train
from dred.errors import DredError, UnknownNameError, lookup
from dred.interruption import INTERRUPTED, leave


@runtime_checkable
class Runs(Protocol):
    """A parsed command."""

    def run(self) -> None:
        """Do it."""
        ...


Verbs = Mapping[str, "type[Runs] | Verbs"]

COMMANDS: Verbs = {
    "demo": Demo,
    "levels": levels.VERBS,
    "play": Play,
    "pretrained": Pretrained,
    "fit": Fit,
    "generate": Generate,
    "compare-generators": CompareGenerators,
    "config": ShowConfig,
    "train": Train,
    "resume": Resume,
    "evaluate": Evaluate,
    "export": Export,
    "report": Report,
    "study": study.VERBS,
    "studio": Studio,
    "check-task": CheckTask,
    "bench": Bench,
}
ABOUT = {
    "": "Train reinforcement-learning agents that work in levels they have never seen. "
    "Every command takes --help; add --debug to any to see where an error came from.",
    "levels": "Make, import, check, look at and rearrange sets of levels.",
    "study": "Train methods × seeds, evaluate them all, and report what came of it.",
}

USAGE = 2  # the exit code of words that make no command


def parse(given: Sequence[str]) -> Runs:
    """The command that these words say; prints help or usage and exits where that is due."""
    verbs: type[Runs] | Verbs = COMMANDS
    words: list[str] = []
    while isinstance(verbs, Mapping) and len(given) > len(words) and given[len(words)] in verbs:
        words.append(given[len(words)])
        verbs = verbs[words[-1]]
    if isinstance(verbs, Mapping):
        check_verb(given[len(words) :], verbs)
        kind, about = _choice(verbs), ABOUT[" ".join(words)]
    else:
        kind, about = verbs, inspect.cleandoc(verbs.__doc__ or "")
    with NUMBERS:
        command = tyro.cli(  # pyright: ignore[reportCallIssue]
            kind,  # pyright: ignore[reportArgumentType]
            prog=" ".join(["dred", *words]),
            description=about,
            args=given[len(words) :],
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    return cast(Runs, command)


def check_verb(given: Sequence[str], verbs: Verbs) -> None:
    """Stop at a word that is no command, and name the one that is most like it."""
    if not given or given[0].startswith("-"):
        return
    try:
        lookup(verbs, given[0], what="command")
    except UnknownNameError as problem:
        print(f"dred: {problem}", file=sys.stderr)
        sys.exit(USAGE)


def _choice(verbs: Verbs) -> object:
    """A union of verbs for tyro, each described by its first sentence only."""
    kinds: list[object] = []
    for name, verb in verbs.items():
        about = ABOUT[name] if isinstance(verb, Mapping) else inspect.cleandoc(verb.__doc__ or "")
        described = tyro.conf.subcommand(name, description=about.split("\n\n")[0])
        kinds.append(Annotated[make_dataclass(name, []), described])
    return reduce(or_, kinds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; errors end it with one paragraph and exit code 1."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    if given == ["--version"]:
        print(f"dred {__version__}")
        return
    command = parse(given)
    try:
        with progress.in_lines(partial(print, flush=True)):
            command.run()
    except (DredError, OSError, MemoryError, KeyboardInterrupt) as problem:
        if debug:
            raise
        is_process = arguments is None
        if is_process:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending as fast as it can
        code = tell(problem)
        if is_process and code == INTERRUPTED:  # compiled programs may still be running
            leave(code)
        sys.exit(code)


def tell(problem: BaseException) -> int:
    """Say in a paragraph what went wrong; the exit code."""
    if isinstance(problem, KeyboardInterrupt):
        print(f"\ndred: interrupted. {problem}".rstrip(), file=sys.stderr)
        return INTERRUPTED
    if isinstance(problem, BrokenPipeError):  # whoever read the output has stopped, as `head` does
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (else Python complains once more at exit)
        return 1
    if isinstance(problem, MemoryError):
        problem = DredError(
            f"there is not enough memory for that: {problem}. Ask for less at once."
        )
    if isinstance(problem, OSError):
        problem = DredError(f"the system refused something: {problem}. Add --debug for more.")
    print(f"dred: {problem}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
