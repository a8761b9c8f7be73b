"""What the documents say is true: commands parse, Python runs, links lead somewhere."""

import importlib.util
import re
import shlex
from pathlib import Path

import jax
import numpy as np
import pytest

import dred
from dred import exported_policy
from dred.cli import main, parse
from dred.runs import open_run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")})
WITH_COMMANDS = {
    "levels",
    "environment",
    "training",
    "models",
    "evaluation",
    "procgen",
    "your-own-levels",
}


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
    assert commands or page.stem not in WITH_COMMANDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {})


def anchors(page):
    """The names by which links lead to a page's headings, as code hosts and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_every_link_to_a_file_or_a_section_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, section in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
        file = page.parent / target if target else page
        assert file.exists(), target
        if section:
            assert section in anchors(file), f"{target}#{section}"


def test_the_readme_says_what_its_picture_shows():
    pictures = script("pictures")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for method in pictures.METHODS:
        bars = [pictures.bar_of(method, suite) for suite in pictures.SUITES]
        cells = [f"{100 * bar.value:.1f} ± {100 * bar.deviation:.1f} %" for bar in bars]
        (row,) = re.findall(rf"^\| `{method}` \|(.*)\|$", text, re.M)
        assert [cell.strip(" *") for cell in row.split("|")] == cells
        (paper,) = re.findall(rf"^\| the paper's {method} \|(.*)\|$", text, re.M | re.I)
        assert [cell.strip() for cell in paper.split("|")] == [
            f"{bar.paper:.0%}".replace("%", " %") for bar in bars
        ]


def test_the_pictures_of_the_documents_are_what_their_script_draws():
    for path, svg in script("pictures").pictures():
        kept = path.read_text(encoding="utf-8")
        assert len(kept) < 80_000, path.name
        assert numbers_in(kept).keys() == numbers_in(svg).keys(), path.name


def test_the_tables_of_results_are_those_of_the_numbers():
    tables = script("results_tables")
    assert tables.page_with_tables() == tables.PAGE.read_text(encoding="utf-8"), (
        "docs/results.md is out of date: python docs/results_tables.py --write"
    )


def numbers_in(svg):
    """The texts of a drawing, which Matplotlib writes beside their letters."""
    return dict.fromkeys(re.findall(r"<!-- (.*?) -->", svg))


def script(name):
    """One of the scripts in docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SETTINGS_PAGE = ROOT / "docs" / "settings-and-plugins.md"


def section(page, title):
    return page.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A folder in which each command of "Everything once" was given, with the files it names."""
    folder = tmp_path_factory.mktemp("everything")
    for block in [*blocks(SETTINGS_PAGE, "toml"), *blocks(SETTINGS_PAGE, "python")]:
        named = re.match(r"# (\S+\.(?:toml|py))\n", block)
        if named:
            (folder / named[1]).write_text(block, encoding="utf-8")
    lines = re.findall(r"^dred .*$", section(SETTINGS_PAGE, "Everything once"), re.M)
    assert len(lines) == 14
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in lines:
            main([*shlex.split(line)[1:], "--debug"])
    return folder


def test_settings_scores_and_methods_of_ones_own_are_compared_by_the_commands_shown(everything):
    changed = {name: open_run(everything / "runs" / name) for name in ("faster", "warmer", "mine")}
    assert changed["faster"].config.ppo.learning_rate == 0.001
    assert changed["warmer"].config.method.primary.temperature == 0.5
    assert changed["mine"].config.method.name == "mine"
    page = (everything / "report" / "report.html").read_text(encoding="utf-8")
    for words in ("plr ppo.learning_rate=0.001", "longing", "mine", "longing.py, digest"):
        assert words in page
    assert "<dt>Changed from the preset: ppo.learning_rate</dt>" in page


def test_a_sweep_of_three_values_and_two_seeds_has_its_plot(everything):
    lines = (everything / "sweep" / "summary.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 2
    assert (everything / "sweep/report/figures/sweep-method.primary.temperature.svg").exists()
    assert len((everything / "sweep/report/tables/grid.csv").read_text().splitlines()) == 4


def test_the_exported_policy_does_what_the_runs_own_does_for_ten_thousand_steps(everything):
    agents, steps = 50, 200
    env = dred.envs.make_gym_vector(dred.levels.load(everything / "test.npz"), num_envs=agents)
    policy = open_run(everything / "runs" / "faster").policy()
    plain = exported_policy.load(everything / "policy.npz")
    ours, theirs = policy.initial_memory(agents), plain.initial_memory(agents)
    seen, _ = env.reset(seed=0)
    random = np.random.default_rng(0)
    for _ in range(steps):
        ours, actions = policy.act(ours, seen)
        theirs, same = plain.act(theirs, seen["image"], seen["direction"])
        np.testing.assert_array_equal(np.asarray(actions), same)
        seen, *_ = env.step(random.integers(0, 3, agents))
    assert jax.tree.leaves(ours)[0].shape[0] == agents
