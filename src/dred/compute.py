"""Settings of JAX itself."""

import os
from pathlib import Path


def keep_compiled_programs() -> None:
    """Keep compiled programs in the user's cache folder, so that the second start is quick.

    `JAX_COMPILATION_CACHE_DIR` names another folder.
    """
    import jax

    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(base / "dred" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
