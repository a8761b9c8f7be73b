"""The documentation as a site: it builds without a warning, is complete, and asks nobody else."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dred
from dred.cli import COMMANDS

ROOT = Path(__file__).parent.parent
FETCHED = r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"((?:https?:)?//[^\"]*)"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_the_site_has_every_page_of_the_documents_and_every_example(site):
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    pages += [path.relative_to(ROOT) for path in (ROOT / "examples").glob("*.py")]
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in pages:
        name = f"{page.as_posix().removesuffix('.md')}.html"
        assert (site / name).exists(), name
        assert f'href="{name}"' in home, f"{name} is not in the navigation"


def test_the_site_asks_no_other_machine_for_anything(site):
    for path in site.rglob("*.html"):
        assert not re.findall(FETCHED, path.read_text(encoding="utf-8")), path
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"url\(\W?(?:https?:)?//|@import", text), path


def test_the_reference_has_every_command_setting_and_public_name(site):
    read = {
        name: (site / "reference" / f"{name}.html").read_text(encoding="utf-8")
        for name in ("commands", "settings", "python")
    }
    for name, verb in COMMANDS.items():
        for word in verb if isinstance(verb, dict) else [""]:
            assert f'id="{"-".join(filter(None, ("dred", name, word)))}"' in read["commands"]
    assert "learning_rate" in read["settings"]
    for name in (*dred._NAMES, "levels.load", "envs.make_gym", "replay.LevelBuffer", "runs.open"):
        assert re.search(rf"\bdred\.{re.escape(name)}\s", read["python"]), name


@pytest.fixture
def hooks(monkeypatch):
    """docs/site_hooks.py, as MkDocs imports it."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("site_hooks")


def test_a_page_that_nobody_listed_joins_the_guides(hooks, tmp_path):
    (tmp_path / "listed.md").touch()
    (tmp_path / "new.md").touch()
    nav = [{"Explanation": [{"Known": "listed.md"}]}, {"How-to guides": []}]
    hooks.on_config(SimpleNamespace(nav=nav, docs_dir=str(tmp_path)))
    assert nav[1] == {"How-to guides": ["new.md"]}


def test_links_follow_files_to_their_pages_on_the_site(hooks):
    def shown(text, uri):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
        return hooks.on_page_markdown(text, page, None, None)

    assert shown("[a](docs/results.md#procgen)", "index.md") == "[a](results.md#procgen)"
    assert shown("[a](CHANGELOG.md)", "index.md") == "[a](changelog.md)"
    assert shown("[a](../examples/sweep.py)", "speed.md") == "[a](examples/sweep.py.md)"
    assert shown("[a](../metrics.md)", "tutorials/student.md") == "[a](../metrics.md)"
    assert shown("[a](https://example.org/x)", "speed.md") == "[a](https://example.org/x)"
    graph = "```mermaid\ngraph LR\n    a --> b\n    a --> c\n```"
    assert shown(graph, "speed.md").splitlines()[-1] == "| `a` | `b`, `c` |"
