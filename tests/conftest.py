"""Settings for all tests: every call in dred is checked for types and shapes while tests run."""

import os
import tempfile
from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import dred

# Compiled programs are shared by all tests, workers and commands of this machine's test runs.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(tempfile.gettempdir()) / "dred-tests-jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Two devices, so that agents can be spread over them; what asks for one gets one.
jax.config.update("jax_num_cpu_devices", 2)

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

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000  # Linux allows a process 65 530 pieces of memory; each program takes some


@pytest.fixture(autouse=True)
def forget_programs():
    """Let compiled programs go before there are too many for one process."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


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
