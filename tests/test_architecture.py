"""Rules about the source itself."""

import ast
import subprocess
import sys
from pathlib import Path

import dred

SOURCE = Path(dred.__file__).parent

# Imports point one way: a part may use what stands before it in the loop, never what comes after.
MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "settings": {"errors"},
    "files": {"errors"},
    "storage": {"errors", "files"},
    "presets": {"config", "errors"},
    "progress": set(),
    "compute": set(),
    "devices": {"config", "errors"},
    "environment": set(),
    "levels": {"tasks"},
    "envs": {"tasks", "errors", "environment", "agents"},
    "generators": {"tasks"},
    "runs": {"errors", "config", "files", "settings", "agents", "training", "tasks"},
    "checkpoint": {"errors", "files", "storage"},
    "agents": {"config", "devices", "environment", "tasks"},
    "replay": {"config", "agents"},
    "evaluation": {"config", "errors", "files", "runs", "agents", "environment", "tasks"},
    "training": {
        "devices",
        "checkpoint",
        "errors",
        "config",
        "files",
        "runs",
        "replay",
        "agents",
        "evaluation",
        "tasks",
    },
    "reports": {
        "errors",
        "config",
        "files",
        "runs",
        "agents",
        "evaluation",
        "replay",
        "training",
        "tasks",
    },
    "tasks": {
        "agents",
        "checkpoint",
        "config",
        "environment",
        "errors",
        "evaluation",
        "files",
        "presets",
        "progress",
        "replay",
        "reports",
        "runs",
        "settings",
        "storage",
        "training",
    },
    "studies": {
        "config",
        "errors",
        "evaluation",
        "files",
        "presets",
        "reports",
        "runs",
        "settings",
        "tasks",
    },
    "benchmarks": {
        "compute",
        "devices",
        "errors",
        "config",
        "presets",
        "progress",
        "agents",
        "training",
        "tasks",
    },
    "commands": {
        "devices",
        "compute",
        "errors",
        "config",
        "files",
        "presets",
        "progress",
        "runs",
        "evaluation",
        "reports",
        "studies",
        "training",
        "tasks",
        "benchmarks",
    },
    "cli": {"errors", "commands"},
}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dred":
            names = (
                [node.module] if node.module != "dred" else [f"dred.{a.name}" for a in node.names]
            )
            yield from (name.split(".")[1] for name in names if "." in name)


def test_imports_only_point_backwards():
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        wrong = set(imports_of(path)) - MAY_IMPORT[part] - {part, "__version__"}
        assert not wrong, f"{path.name} of {part} imports {wrong}"


def test_nothing_is_pickled():
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "import pickle" not in source
        assert "allow_pickle=True" not in source


def test_there_is_no_drawer_for_odds_and_ends():
    names = {path.stem for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


def test_no_test_depends_on_how_busy_the_machine_is():
    """None asks the clock; limits are those of `tests/patience.py`. Speed is for `dred bench`."""
    tests = Path(__file__).parent
    for path in sorted(tests.rglob("*.py")):
        if path == tests / "patience.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert "time" not in names, f"{path} asks the clock"
            if isinstance(node, ast.keyword) and node.arg in ("timeout", "deadline"):
                limit = node.value.value if isinstance(node.value, ast.Constant) else None
                assert limit is None, f"{path}:{node.lineno} has a limit of its own"


def test_importing_a_module_computes_nothing():
    """The number of devices can be told to JAX only before it is first used."""
    names = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for path in sorted(SOURCE.rglob("*.py"))
        if "procgen" not in path.parts and path.name != "__main__.py"
    ]
    lines = "\n".join(
        f"import {name}\nassert not bridge.backends_are_initialized(), {name!r}" for name in names
    )
    program = f"from jax._src import xla_bridge as bridge\n{lines}\nprint('none')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "none\n", done.stderr
