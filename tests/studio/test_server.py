"""The server as a process: how it listens, and how it ends."""

import json
import re
import signal
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

from dred.errors import ConfigError
from dred.studio.server import bound
from tests.patience import PATIENCE, wait_until


def test_answers_do_not_wait_for_the_browser_to_acknowledge_their_heads():
    with bound(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # by which asyncio knows what not to delay
        assert listening.getsockname()[0] == "127.0.0.1"
        with pytest.raises(ConfigError, match="Give another --port"):
            bound(listening.getsockname()[1])


@pytest.mark.long
def test_ctrl_c_ends_the_studio_and_saves_the_run_that_was_started_in_it(folder):
    command = [sys.executable, "-m", "dred", "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        asked = {"method": "plr", "preset": "smoke", "levels": "here/few.npz", "out": "here/new"}
        body = json.dumps({**asked, "updates": 100_000}).encode()
        with urlopen(Request(f"{address}api/train", body), timeout=PATIENCE) as told:
            assert json.load(told)["working"]
        wait_until((folder / "new" / "metrics.jsonl").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.stdout.close()
    run = json.loads((folder / "new" / "run.json").read_text())
    assert run["status"] == "interrupted"
    assert list((folder / "new" / "checkpoints").glob("*.npz"))
