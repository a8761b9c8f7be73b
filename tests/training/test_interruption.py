"""Ctrl-C in training, once and twice, at any moment: a clean end and true words."""

import dataclasses
import random

import pytest

from dred import checkpoint
from dred.cli import main
from dred.interruption import finishing_first
from dred.levels import make
from dred.runs import open_run
from tests.patience import interrupted_until_it_ends

LONG = 200_000  # updates in a chunk: longer than anybody waits
SIGNS_OF_A_CRASH = ("free()", "virtual method", "Fatal", "Segmentation", "Traceback", "corrupted")


def begun(folder):
    """A run with three updates done, and far more to do, in one chunk."""
    make("cave-escape-train", count=12, size=9).save(folder / "train.npz")
    words = ["train", "uniform", "--levels", folder / "train.npz", "--out", folder / "x"]
    main([str(word) for word in (*words, "--preset", "smoke", "--updates", 3)])
    run = open_run(folder / "x")
    config = dataclasses.asdict(run.config) | {"num_updates": 3 + LONG, "chunk": LONG}
    run.note(config=config, status="interrupted")
    return run


def check_end(path, said, code):
    assert code == 130, said
    assert not [sign for sign in SIGNS_OF_A_CRASH if sign in said], said
    run = open_run(path)
    assert run.record.status == "interrupted"
    assert not list(run.path.rglob("*.tmp"))
    saved = checkpoint.checkpoints_in(run.checkpoints)
    done = f"Saved: {checkpoint.update_of(saved[-1])} of" if saved else "Nothing was saved yet"
    assert done in said and f"dred resume {run.path}" in said, said
    return run


def test_ctrl_c_twice_ends_at_once_with_true_words_and_a_status(tmp_path, capsys):
    run = begun(tmp_path)
    said, code = interrupted_until_it_ends(["resume", run.path], [0.0, 0.5], wait_for="compiling")
    check_end(run.path, said, code)
    assert "finishing this chunk (about " in said
    assert "; again to stop at once, losing it" in said
    assert "dred: stopped at once. Saved: 3 of 200,003 updates." in said
    assert "What was done since is lost." in said


@pytest.mark.long
def test_ctrl_c_twice_ends_cleanly_twenty_times_in_a_row(tmp_path, capsys):
    resumed, chance = begun(tmp_path), random.Random(0)
    for number in range(20):
        moments = [chance.uniform(0, 3), chance.uniform(0.05, 1.5)]
        path = tmp_path / f"fresh-{number}"
        words = ["train", "uniform", "--levels", tmp_path / "train.npz", "--out", path]
        fresh = [*words, "--preset", "smoke", "--updates", LONG, "--set", f"chunk={LONG}"]
        path, words = (resumed.path, ["resume", resumed.path]) if number % 2 else (path, fresh)
        check_end(path, *interrupted_until_it_ends(words, moments, wait_for="compiling"))


def test_an_interruption_is_heard_by_a_thread_and_raised_only_where_it_may_be():
    import signal

    told = []
    with finishing_first(lambda: told.append("asked")) as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.is_asked
        signal.raise_signal(signal.SIGINT)  # held back: nobody is waiting
        with pytest.raises(KeyboardInterrupt), asked.waiting():
            raise AssertionError("it had come already")
    assert told == ["asked"]
    with finishing_first(lambda: None) as asked, pytest.raises(KeyboardInterrupt), asked.waiting():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
