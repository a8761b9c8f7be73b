"""Waiting for what must happen, and stopping commands at a moment that is the same each time.

No test may depend on how busy the machine is. So none asks how long something took; those that wait
have patience, and a command that is to be stopped in the middle sends the signal to itself, as soon
as it has written a certain file.
"""

import os
import signal
import subprocess
import sys
import time

PATIENCE = 900.0  # seconds: only what hangs takes so long

# Send signal {number} to process {whom} once a file whose path ends with {name} has been written.
SIGNAL_AFTER = """
import os, time
rename = os.replace
def rename_and_signal(source, target, **options):
    rename(source, target, **options)
    if str(target).endswith({name!r}):
        os.replace = rename  # once is enough
        os.kill({whom}, {number})
        time.sleep({rest})
os.replace = rename_and_signal
"""
DRED = "from dred.cli import main\nmain()\n"


def wait_until(has_happened):
    """Wait for something that must happen."""
    until = time.monotonic() + PATIENCE
    while not has_happened():
        assert time.monotonic() < until, "it has not happened, however long we waited"
        time.sleep(0.01)


def stopped_after(name, how, words):
    """A `dred` command that gets the signal `how` right after it has written the file `name`."""
    first = SIGNAL_AFTER.format(name=name, whom="os.getpid()", number=int(how), rest=0)
    return _ended(first + DRED, words)


def study_killed_after(name, words):
    """A study that is killed right after a job of it has written the file `name`."""
    first = SIGNAL_AFTER.format(
        name=name, whom="os.getppid()", number=int(signal.SIGKILL), rest=PATIENCE
    )
    program = f"import dred.studies.jobs as jobs\njobs.LAUNCH = {first!r} + jobs.LAUNCH\n"
    return _ended(program + DRED, words)


def _ended(program, words):
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=os.environ
    )
    assert done.returncode != 0, "it finished before it could be stopped"
    return done


def interrupted_until_it_ends(words, moments, *, wait_for=""):
    """What a `dred` command said and its exit code, after Ctrl-C at moments (seconds apart).

    The first is sent as soon as it has printed `wait_for`.
    """
    command = [sys.executable, "-m", "dred", *map(str, words)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
    )
    said = []
    while wait_for and wait_for not in "".join(said[-1:]):
        said.append(process.stdout.readline())
        assert said[-1], f"it ended before it said {wait_for!r}: {said}"
    for moment in moments:
        time.sleep(moment)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    said.append(process.communicate(timeout=PATIENCE)[0])
    return "".join(said), process.returncode
