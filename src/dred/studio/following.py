"""Measurements of runs at work, of which only what is new is read."""

import threading
from pathlib import Path
from typing import Any

from dred.run_folder import RunFolder

TAIL = 2**16  # bytes, in which the last row certainly is
Row = dict[str, Any]


class Following:
    """All rows of a run's `metrics.jsonl`, however often one asks."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self._rows: list[Row] = []
        self._read, self._file = 0, 0
        self._lock = threading.Lock()

    def rows(self) -> list[Row]:
        """Return the rows that are there now; a list that was returned before stays as it was."""
        with self._lock:
            try:
                told = measurements(self.run).stat()
            except FileNotFoundError:
                return []
            if told.st_ino != self._file or told.st_size < self._read:  # it was written anew
                self._rows, self._read, self._file = [], 0, told.st_ino
            if told.st_size > self._read:
                with measurements(self.run).open("rb") as stream:
                    stream.seek(self._read)
                    whole = whole_lines(stream.read())
                self._rows = [*self._rows, *self.run.rows_in(whole)]
                self._read += len(whole)
            return self._rows


def last_row(run: RunFolder) -> Row:
    """Return the last row of a run's measurements; empty if there is none."""
    try:
        with measurements(run).open("rb") as stream:
            stream.seek(max(0, measurements(run).stat().st_size - TAIL))
            is_part = stream.tell() > 0
            content = whole_lines(stream.read())
    except FileNotFoundError:
        return {}
    rows = run.rows_in(content.partition(b"\n")[2] if is_part else content)
    return rows[-1] if rows else {}


def measurements(run: RunFolder) -> Path:
    """Return where the measurements of a run are."""
    return run.path / "metrics.jsonl"


def whole_lines(content: bytes) -> bytes:
    """Return what was written up to the end of a line; the rest is on its way."""
    return content[: content.rfind(b"\n") + 1]
