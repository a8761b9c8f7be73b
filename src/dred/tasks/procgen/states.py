"""The first state of any level, by asking the simulator for it once.

Procgen has no call to choose a level. But the state of a slot can be read and replaced, and in it
stands the range of levels from which the slot draws its next one. So we take a state, write the
range [level, level + 1) into it, put it back, and let the slot begin anew. The state that we then
read is the start of the level, for any slot of any simulator of the same game and difficulty.
"""

import struct
import threading

import numpy as np

from dred.errors import ConfigError
from dred.tasks.procgen.simulator import Difficulty, put, start

LAST_LEVEL = 2**31 - 2  # the range [level, level + 1) must fit into 32 bits
BEGIN_ANEW = np.array([-1], np.int32)
PROBE_LEVEL = 19_088_743  # any level whose number will not be found in a state by chance

_INT = struct.Struct("<i")
_RANGE = struct.Struct("<ii")
_NUM_OPTIONS = 12


class FirstStates:
    """The first states of levels; the most recently used `capacity` of them are remembered."""

    def __init__(self, game: str, *, difficulty: Difficulty = "easy", capacity: int = 4096) -> None:
        self.game = game
        self.difficulty: Difficulty = difficulty
        self._simulator = start(game, 1, difficulty=difficulty, level=PROBE_LEVEL)
        self._template = self._simulator.get_state()[0]
        self._check_template()
        self._capacity = capacity
        self._known: dict[int, bytes] = {}  # in order of use, the most recent last
        self._lock = threading.Lock()

    def of(self, level: int) -> bytes:
        """The first state of a level, from memory if it is there. Several threads may ask."""
        with self._lock:
            state = self._known.pop(level, None)
            self._known[level] = self._capture(level) if state is None else state
            if len(self._known) > self._capacity:
                del self._known[next(iter(self._known))]
            return self._known[level]

    def _capture(self, level: int) -> bytes:
        put(self._simulator, 0, with_range(self._template, level))
        self._simulator.act(BEGIN_ANEW)
        found = int(self._simulator.get_info()[0]["level_seed"])
        if found != level:
            raise _unfamiliar(f"it began level {found} when told to begin level {level}")
        return self._simulator.get_state()[0]

    def _check_template(self) -> None:
        if name_in(self._template) != self.game or range_in(self._template) != (
            PROBE_LEVEL,
            PROBE_LEVEL + 1,
        ):
            raise _unfamiliar("its states are not laid out as expected")


def name_in(state: bytes) -> str:
    """The game that a state belongs to."""
    (length,) = _INT.unpack_from(state, _INT.size)  # after the version of the format
    return state[2 * _INT.size : 2 * _INT.size + length].decode("ascii", "replace")


def settings_in(state: bytes) -> bytes:
    """What stands first in a state: the game and its settings, difficulty among them."""
    return state[: _offset_of_range(state)]


def range_in(state: bytes) -> tuple[int, int]:
    """The first level that a slot in this state may draw next, and the first that it may not."""
    low, high = _RANGE.unpack_from(state, _offset_of_range(state))
    return low, high


def with_range(state: bytes, level: int) -> bytes:
    """The same state, except that this level will be the next."""
    offset = _offset_of_range(state)
    return state[:offset] + _RANGE.pack(level, level + 1) + state[offset + _RANGE.size :]


def _offset_of_range(state: bytes) -> int:
    """Before it: version, length of the name, name, the options, size of the grid."""
    return (2 + _NUM_OPTIONS + 1) * _INT.size + len(name_in(state))


def _unfamiliar(what: str) -> ConfigError:
    return ConfigError(
        f"The installed Procgen is not one that dred knows: {what}. Install the one that it is "
        'tested with: pip install --no-deps "procgen2==0.10.7"'
    )


__all__ = ["FirstStates"]
