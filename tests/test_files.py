"""Folders that one process holds at a time."""

import signal
import subprocess
import sys

import pytest

from dred.errors import DredError
from dred.files import BusyError, OutputError, held

HOLD = """
import sys, time
from pathlib import Path
from dred.files import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_folder_that_another_process_holds_is_busy(holder, tmp_path):
    with pytest.raises(BusyError, match="another process is working there"), held(tmp_path):
        pass
    mine = DredError("mine")
    with pytest.raises(DredError, match="mine"), held(tmp_path, busy=mine):
        pass


def test_a_killed_process_holds_nothing(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with held(tmp_path):
        pass


def test_a_folder_is_free_again_after_an_error(tmp_path):
    with pytest.raises(ValueError, match="inside"), held(tmp_path):
        raise ValueError("inside")
    with held(tmp_path):
        pass


def test_a_folder_that_is_not_there_cannot_be_held(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"), held(tmp_path / "nowhere"):
        pass
