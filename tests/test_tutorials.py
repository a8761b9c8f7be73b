"""The tutorials can be followed to their ends, here at tiny sizes."""

import re
import shlex
from pathlib import Path

import pytest

from dred.cli import main

PAGES = sorted((Path(__file__).parent.parent / "docs" / "tutorials").glob("*.md"))
SMALL = {"--preset": ["smoke"], "--count": ["8"], "--seeds": ["0"], "--epochs": ["1"]}
ALSO = {"levels make": ["--size", "9", "--count", "8"], "fit": ["--epochs", "1", "--judged", "8"]}


def steps(page):
    """The blocks of a page, in order, with their languages."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def shrunk(words):
    """A command with less to do."""
    small, left = [], list(words)
    while left:
        small.append(left.pop(0))
        if small[-1] in SMALL:
            while left and not left[0].startswith("--"):
                left.pop(0)
            small += SMALL[small[-1]]
    for verb, more in ALSO.items():
        if " ".join(small).startswith(verb):
            pairs = zip(more[::2], more[1::2], strict=True)
            small += [word for name, value in pairs if name not in small for word in (name, value)]
    return small


def follow(language, block, names):
    first = re.match(r"# (\S+\.(?:py|toml))\n", block)
    if first:
        Path(first[1]).write_text(block, encoding="utf-8")
    elif language == "python":
        exec(compile(block, "tutorial", "exec"), names)
    elif language == "sh":
        for line in block.splitlines():
            main(shrunk(shlex.split(line)[1:]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed_to_its_end(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, block in steps(page):
        follow(language, block, names)
    assert list(tmp_path.glob("runs/*/evaluation/test.csv"))
    assert (tmp_path / "report" / "report.html").exists() or (tmp_path / "policy.npz").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_is_a_page(page):
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 90
