"""Settings of JAX itself."""

import contextlib
import os
from pathlib import Path


def num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_devices(count: int = 0) -> int:
    """Let a CPU show itself as so many devices, 0 for one for each core; tells how many there are.

    It has no effect on a process in which JAX has been used, nor on accelerators.
    """
    import jax

    with contextlib.suppress(RuntimeError):  # it has been used
        jax.config.update("jax_num_cpu_devices", count or num_cores())
    return jax.device_count()


def keep_compiled_programs() -> None:
    """Keep compiled programs in the user's cache folder, so that the second start is quick.

    All of them, however small: a start takes some three hundred (15 s without the small ones, 9 s
    with them, for a smoke run). `JAX_COMPILATION_CACHE_DIR` names another folder.
    """
    import jax

    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(base / "dred" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
