"""Settings for all tests: every call in dred is checked for types and shapes while tests run.

`--shuffle SEED` lets them run in an order that is drawn, which must not matter.
"""

import ctypes
import gc
import os
import random
import resource
import signal
import sys
import tempfile
from pathlib import Path

# Compiled programs are shared by all tests, workers and commands of this machine's test runs, and
# kept for the next one. JAX reads these when it is imported.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(tempfile.gettempdir()) / "dred-tests-jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import jax
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import dred

# Two devices, so that agents can be spread over them; what asks for one gets one.
jax.config.update("jax_num_cpu_devices", 2)

# A shell that starts the tests in the background lets them ignore Ctrl-C, and so what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No number changes its kind, and no array its number of axes, unless the code says so.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Types and shapes are checked in every module but those that numba compiles, which check their own.
SOURCE = Path(dred.__file__).parent
CHECKED = [
    ".".join(("dred", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "__init__.py" and "@compiled" not in path.read_text(encoding="utf-8")
]
install_import_hook(CHECKED, "beartype.beartype")

settings.register_profile(
    "dred",
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],  # which a busy machine may be
)
settings.load_profile("dred")

# Tracing makes many objects and little garbage: looking for it as often as Python does by itself
# took a sixth of the time of a small run.
gc.set_threshold(200_000, 20, 50)

MEMORY, MAPS = Path("/proc/self/statm"), Path("/proc/self/maps")
MUCH_MEMORY = 1.3e9  # bytes, for a process between two tests
MORE_MEMORY = 0.25e9  # bytes that may come on top of those that could not be given back
MOST_MAPS = 20_000  # Linux allows a process 65 530 pieces of memory; each program takes some


def pytest_addoption(parser):
    """Add an option for the order of tests."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run in an order drawn from SEED")


def pytest_collection_modifyitems(config, items):
    """Shuffle the files, and the tests of each: fixtures of a file are made once all the same."""
    seed = config.getoption("shuffle")
    if seed is None:
        return
    draw = random.Random(seed)  # every worker draws the same order
    files = sorted({item.path for item in items})
    places = dict(zip(files, draw.sample(range(len(files)), len(files)), strict=True))
    draw.shuffle(items)
    items.sort(key=lambda item: places[item.path])


def peak_memory():
    """The most bytes of memory that this process has had at once."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)


def pytest_sessionfinish(session):
    """Let a worker tell how much memory it needed."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak_memory"] = peak_memory()


PEAKS = {}


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node, error):
    """Keep what a worker told."""
    del error
    if "peak_memory" in getattr(node, "workeroutput", {}):
        PEAKS[node.gateway.id] = node.workeroutput["peak_memory"]


def pytest_terminal_summary(terminalreporter):
    """Say how much memory was needed."""
    peaks = PEAKS or {"this process": peak_memory()}
    told = ", ".join(f"{name} {most / 1e9:.2f} GB" for name, most in sorted(peaks.items()))
    terminalreporter.write_line(f"most memory at once: {told}")


def pytest_collection_finish(session):
    """Keep what is there before the first test out of every later search for garbage."""
    del session
    gc.collect()
    gc.freeze()


def used_memory():
    """Bytes of this process that are in memory."""
    return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def return_memory():
    """Give back what was freed: the C library keeps most of what compilers took."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


class Allowance:
    """The memory that a process may have before it lets its compiled programs go.

    Much of it can never be given back: without the share that grows, all programs would be compiled
    anew for every test.
    """

    def __init__(self):
        self.memory = MUCH_MEMORY

    def keep(self):
        """Let go what can be, once there is too much."""
        if not MAPS.exists():
            return
        has_many_maps = MAPS.read_bytes().count(b"\n") > MOST_MAPS
        if used_memory() < self.memory and not has_many_maps:
            return
        return_memory()
        if used_memory() > self.memory - MORE_MEMORY / 2 or has_many_maps:
            jax.clear_caches()
            return_memory()
        self.memory = max(MUCH_MEMORY, used_memory() + MORE_MEMORY)


ALLOWANCE = Allowance()


@pytest.fixture(autouse=True)
def forget_programs():
    """Let memory go, and compiled programs before there are too many for one process."""
    yield
    ALLOWANCE.keep()


@pytest.fixture(autouse=True)
def forget_plugins(monkeypatch):
    """Let nothing that a test registers be there for the next."""
    from dred import plugins, registry
    from dred.presets import METHODS
    from dred.replay.scores import SCORES
    from dred.tasks.gridworld.generators import GENERATORS

    monkeypatch.setattr(plugins, "_LOADED", {})
    tables = (SCORES, METHODS, GENERATORS, registry._TASKS)
    before = [dict(table) for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
