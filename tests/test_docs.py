"""What the documents say is true: commands parse, Python runs, links lead somewhere."""

import re
from pathlib import Path

import pytest

from dred.cli import parse

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_documents_can_be_given(page):
    commands = [
        line.split(" #")[0].split()[1:]
        for block in blocks(page, "(?:sh|)")
        for line in block.splitlines()
        if line.startswith("dred ")
    ]
    for command in commands:
        parse(command)
    assert commands or page.name not in ("README.md", "your-own-levels.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
