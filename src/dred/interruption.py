"""Ctrl-C: work that finishes a piece first, and a process that ends without falling apart.

Python calls handlers of signals in its main thread only, and not while that is inside a compiled
program or the compiler, which may be for a minute. So a thread of its own hears of them here. And
an interpreter must not take itself apart while a compiled program is still running in threads of
the library that it came from, which ends in a crash: whoever leaves at once leaves by `leave`.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM
from typing import NoReturn

from dred.files import undisturbed

INTERRUPTED = 130  # the exit code of what Ctrl-C has ended


def leave(code: int) -> NoReturn:
    """End this process now, without taking the interpreter apart; no file is left half written."""
    with undisturbed(patience=10.0):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):  # whoever read it is gone, which is no reason to stay
                continue
        os._exit(code)


class Interruption:
    """What has been asked by Ctrl-C, or by a polite request to end, since work began."""

    def __init__(self) -> None:
        self.heard = 0  # by the thread that listens
        self.handled = 0  # by Python's main thread
        self._may_raise = False

    @property
    def is_asked(self) -> bool:
        """Return whether the work should end after this piece."""
        return max(self.heard, self.handled) > 0

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Raise KeyboardInterrupt at a second request while the block runs, or if it has come."""
        self._may_raise = True
        try:
            self._raise_if_twice()
            yield
        finally:
            self._may_raise = False

    def handle(self, number: int, frame: object) -> None:
        """Take a signal, in the main thread."""
        self.handled += 1
        if self._may_raise:
            self._raise_if_twice()

    def _raise_if_twice(self) -> None:
        if self.handled > 1:
            raise KeyboardInterrupt


@contextmanager
def finishing_first(
    asked: Callable[[], None], at_once: Callable[[], None] | None = None
) -> Generator[Interruption]:
    """Hold back Ctrl-C (or a polite request to end) while the block runs, which looks out for it.

    `asked` is called as soon as the first one comes, and `at_once`, which should end the process,
    at the second; both from another thread. Without `at_once` the second one is raised while the
    block is `waiting`. Outside the main thread nothing is held back.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return

    def heard() -> None:
        interruption.heard += 1
        if interruption.heard == 1:
            asked()
        elif at_once is not None:
            at_once()

    before = {number: signal.signal(number, interruption.handle) for number in (SIGINT, SIGTERM)}
    try:
        with _told_by_a_thread(heard):
            yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _told_by_a_thread(heard: Callable[[], None]) -> Generator[None]:
    """Call a function, in a thread, as soon as the system delivers a signal to end."""
    reading, writing = socket.socketpair()
    writing.setblocking(False)  # as Python demands

    def listen() -> None:
        while numbers := reading.recv(64):
            for number in numbers:
                if number in (SIGINT, SIGTERM):
                    heard()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writing.close()  # which ends the thread
        thread.join()
        reading.close()
