"""The Procgen simulator: finding it, starting it, and what we use of it.

It is the package `procgen2`, which nothing else in dred needs. Import it only through here.
"""

import importlib
import sys
import warnings
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dred.errors import ConfigError, lookup

Difficulty = Literal["easy", "hard"]

GAMES = (
    "bigfish",
    "bossfight",
    "caveflyer",
    "chaser",
    "climber",
    "coinrun",
    "dodgeball",
    "fruitbot",
    "heist",
    "jumper",
    "leaper",
    "maze",
    "miner",
    "ninja",
    "plunder",
    "starpilot",
)

INSTALL = (
    'pip install "cffi>=1.17" "imageio>=2.34"',
    'pip install --no-deps "procgen2==0.10.7" "gym3==0.3.3" "gym==0.26.2"',
)


@runtime_checkable
class Simulator(Protocol):
    """Several games side by side, each in its own slot: what we use of `ProcgenGym3Env`."""

    num: int

    def act(self, ac: NDArray[np.int32]) -> None:
        """Give each slot an action: 0 … 14, or −1 to give up and begin anew."""
        ...

    def observe(
        self,
    ) -> tuple[NDArray[np.float32], dict[str, NDArray[np.uint8]], NDArray[np.bool_]]:
        """Copies of the rewards, the images by name, and whether each image is a first one."""
        ...

    def get_info(self) -> list[dict[str, Any]]:
        """What else is known about each slot; among it, its level."""
        ...

    def get_state(self) -> list[bytes]:
        """Everything about each slot."""
        ...

    def call_c_func(self, name: str, *args: object) -> Any:  # noqa: ANN401  (any C function)
        """Call a function of the C++ library."""
        ...


def start(
    game: str,
    num_envs: int,
    *,
    difficulty: Difficulty,
    level: int,
    num_threads: int = 0,
) -> Simulator:
    """A simulator whose slots play one level over and over."""
    lookup({name: name for name in GAMES}, game, what="Procgen game")
    started = _import_procgen().ProcgenGym3Env(
        num=num_envs,
        env_name=game,
        distribution_mode=difficulty,
        start_level=level,
        num_levels=1,
        num_threads=num_threads,
        rand_seed=0,  # it only draws levels, and there is one
    )
    # The first use of a C function takes a lock. If that were left to the garbage collector, which
    # closes simulators, and it came while another is being loaded, the program would hang.
    _ = started._c_lib.libenv_close
    return cast("Simulator", started)


def need_procgen() -> None:
    """Stop, saying how to install it, if the simulator is not there."""
    _import_procgen()


def put(simulator: Simulator, slot: int, state: bytes) -> None:
    """Replace everything about one slot, its image included. Its reward is forgotten."""
    simulator.call_c_func("set_state", slot, state, len(state))


def _import_procgen() -> Any:  # noqa: ANN401  (a module without types)
    before = list(sys.path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it leaves a file open
            return importlib.import_module("procgen")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"Procgen needs the Python package {error.name!r}, which is not installed. Install it "
            f"with: {' && '.join(INSTALL)} (in two steps and with --no-deps, because it still asks "
            "for NumPy 1 although it works with NumPy 2). There are wheels for Python 3.11 on "
            "64-bit Linux. Everything else in dred works without it."
        ) from None
    finally:
        sys.path[:] = before  # it adds a folder of its author's machine
