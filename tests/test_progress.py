"""How work is told of: bars where somebody looks, lines where the command line has no terminal."""

import pytest

from dred import progress
from dred.cli import COMMANDS, main


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_without_a_terminal_work_is_told_of_at_once_and_at_most_every_ten_seconds(clock):
    told = []
    with (
        progress.in_lines(told.append),
        progress.bar("fitting", 9, unit="epochs", done=2, first=progress.COMPILING) as advance,
    ):
        assert told == [f"fitting: {progress.COMPILING}"]
        for seconds, note in ((4, ""), (11, "loss 0.5"), (15, "loss 0.4"), (21.5, "")):
            clock[0] = 100.0 + seconds
            advance(1, note=note)
    assert told[1:] == ["fitting: 4 of 9 epochs, loss 0.5", "fitting: 6 of 9 epochs"]


def test_work_that_is_soon_done_is_not_told_of(clock):
    told = []
    with progress.in_lines(told.append), progress.bar("measuring", 1, unit="sets") as advance:
        advance(1)
    assert not told


def test_what_has_lines_of_its_own_is_told_of_once(clock):
    told = []
    bar = progress.bar("x", 9, unit="updates", first="compiling", has_lines=False)
    with progress.in_lines(told.append), bar as advance:
        clock[0] += 60
        advance(1)
    assert not told


def test_from_python_nothing_is_said_unless_it_was_asked_for(clock, capsys):
    with progress.bar("fitting", 9, unit="epochs", first="compiling") as advance:
        clock[0] += 60
        advance(1)
    assert capsys.readouterr() == ("", "")


def test_every_command_has_lines(monkeypatch, capsys):
    def run(self):
        with progress.bar("working", 1, unit="parts", first="compiling"):
            pass

    monkeypatch.setattr(COMMANDS["pretrained"], "run", run)
    main(["pretrained"])
    assert capsys.readouterr().out == "working: compiling\n"
    with progress.bar("working", 1, unit="parts", first="compiling"):
        pass
    assert capsys.readouterr().out == ""
