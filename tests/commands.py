"""Commands given in this process, as starting one anew for each takes longer than what it does."""

import contextlib
import io
from dataclasses import dataclass

from dred.cli import main


@dataclass(frozen=True)
class Done:
    """What a command said, and the code it ended with."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd="."):
    """Give a command, as if in the folder `cwd`."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
    return Done(code, out.getvalue(), err.getvalue())


def refused(*arguments, cwd="."):
    """Give a command that must fail; what it says, after checking that it says it well."""
    return said_well(run(*arguments, cwd=cwd))


def said_well(done):
    """What a command that failed said, in one paragraph."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.startswith("dred: ")
    assert "Traceback" not in done.stderr
    assert "\n\n" not in done.stderr.strip()
    return done.stderr
