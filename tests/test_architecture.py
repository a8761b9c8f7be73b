"""Rules about the source itself."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import dred

SOURCE = Path(dred.__file__).parent

# The boxes of the loop, and what they are made of. None of them knows a task: one is handed in.
CORE = {
    "agents",
    "checkpoint",
    "config",
    "devices",
    "environment",
    "evaluation",
    "generation",
    "metrics",
    "presets",
    "registry",
    "replay",
    "reports",
    "run_folder",
    "runs",
    "settings",
    "storage",
    "studies",
    "task",
    "training",
}


def import_graph_module():
    """docs/import_graph.py, which draws the picture in docs/architecture.md."""
    path = Path(__file__).parent.parent / "docs" / "import_graph.py"
    spec = importlib.util.spec_from_file_location("import_graph", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def graph():
    """Which part imports which, also within functions; a part is a folder or a file beside them."""
    return import_graph_module().import_graph(SOURCE)


def test_the_core_imports_no_task():
    edges = graph()
    assert set(edges) >= CORE
    for part in CORE:
        used = {other.partition("/")[0] for other in edges[part]}
        assert not used & {"tasks", "levels", "envs", "generators"}, part


def test_the_report_kit_knows_no_report():
    for path in sorted((SOURCE / "reports" / "kit").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dred.reports"):
                assert f"{node.module}.".startswith("dred.reports.kit."), f"{path}: {node.module}"


def test_reports_name_no_tiles():
    """Features, returns and pictures are described by the task."""
    for path in sorted((SOURCE / "reports").rglob("*.*")):
        if path.suffix in (".py", ".jinja"):
            words = set(re.findall(r"[a-z]+", path.read_text(encoding="utf-8").lower()))
            assert not words & {"moss", "lava", "goal"}, path


def test_the_import_graph_in_the_documentation_is_that_of_the_source():
    drawn = import_graph_module()
    assert drawn.page_with(drawn.picture()) == drawn.PAGE.read_text(encoding="utf-8"), (
        "docs/architecture.md is out of date: python docs/import_graph.py --write"
    )


def test_imports_within_functions_count_and_arrows_that_follow_from_others_do_not(tmp_path):
    files = {
        "a/one.py": "def f():\n    from dred.between import x",
        "a/two.py": "import dred.c.d",
        "between.py": "from dred.b import y",
        "b/y.py": "from dred import c",
        "c/d.py": "import os",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    drawn = import_graph_module()
    edges = {"a": {"between", "c"}, "between": {"b"}, "b": {"c"}, "c": set()}
    assert drawn.import_graph(tmp_path) == edges
    assert drawn.folder_graph(tmp_path) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_imports_go_round_in_no_circle():
    edges = graph()
    finished = set()

    def visit(part, before):
        assert part not in before, f"a circle: {' -> '.join([*before, part])}"
        if part not in finished:
            for other in sorted(edges.get(part, ())):
                visit(other, [*before, part])
            finished.add(part)

    for part in sorted(edges):
        visit(part, [])


def test_the_core_loads_no_task_and_no_heavy_library():
    parts = "dred.replay.buffer, dred.agents.ppo, dred.training.train, dred.evaluation.suites"
    program = (
        f"import sys, {parts}\n"
        "print([name for name in sys.modules if name.startswith('dred.tasks')"
        " or name in ('numba', 'matplotlib', 'gymnasium')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr + done.stdout


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
