"""Reports of odd studies: every sentence on the page is true of what is shown."""

import html
import re

import numpy as np
import pytest

from dred.levels import make
from dred.metrics import METRICS
from dred.reports.captions import finding, without_ancestry
from dred.reports.content import compute
from dred.reports.drawings import aggregate_drawing, lines_drawing
from dred.reports.gather import gather
from dred.reports.kit import drawing
from dred.reports.lineage import Kept, Shown
from dred.reports.looks import looks_of
from dred.reports.page import page_of
from dred.reports.results import results_of
from dred.reports.write import make_report
from tests.reports.conftest import TEST, TRAIN, metrics_of, write_method


def words_of(page):
    """The text of a page, without markup and pictures."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def text_of(*runs, **options):
    """What the page of some runs says."""
    content = compute(gather([run.path for run in runs]), episodes=0)
    return words_of(page_of(content, [], **options))


def same(value, count, seeds=1):
    return np.full((seeds, count), value)


def everywhere(value, seeds=1):
    """Suites in which every episode has the same return."""
    return {"train": (same(value, 12, seeds), TRAIN), "test": (same(value, 8, seeds), TEST)}


def test_one_run_of_one_seed_has_no_spread_and_no_tests(level_files, tmp_path, without_figures):
    text = text_of(write_method(tmp_path, "plr", level_files, seeds=(7,)))
    assert "±" not in text.split("All settings of each run")[0]
    assert "ignifican" not in text and "Bold" not in text and "dot is a seed" not in text
    assert "One seed of each method, so without bands." in text
    assert (
        "This report shows plr (1 seed) in the task gridworld: trained for 12 updates on " in text
    )


def test_all_solved(level_files, tmp_path, without_figures):
    suites = everywhere(0.5, seeds=3)
    runs = [
        write_method(tmp_path, name, level_files, seeds=(0, 1, 2), suites=suites, kept={})
        for name in ("plr", "uniform")
    ]
    text = text_of(*runs)
    assert "all methods have the same mean return, 0.500." in text
    assert "Lowest levels for plr, all of which it solves" in text and "Worst levels" not in text
    assert "Best levels for plr" in text


def test_none_solved(level_files, tmp_path, without_figures):
    run = write_method(tmp_path, "plr", level_files, suites=everywhere(0.0, 2), kept={})
    text = text_of(run)
    assert "plr solves none of the levels" in text and "Best levels for plr" not in text
    assert "Worst levels for plr" in text and "solves 0.0 % of the levels" in text
    assert "a small dot is a seed" in text and "a large dot is a value without" in text


def test_one_level(level_files, tmp_path, without_figures):
    single = make("cave-escape-test", count=1, size=9)
    run = write_method(
        tmp_path, "plr", level_files, suites={"lone": (same(0.5, 1, 2), single)}, kept={}
    )
    text = text_of(run)
    assert "The only level, for plr" in text and "Worst levels" not in text
    assert "lone, 1 level " in text and "1 levels" not in text


def episodes_text(tmp_path, level_files, returned):
    """What is said of episodes in two levels of test, after these returns."""
    from dred.reports.captions import choice_of_levels

    run = write_method(tmp_path, "plr", level_files, suites={"test": (returned, TEST)}, kept={})
    return choice_of_levels(gather([run.path]), [0, 1])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([0.5, 0.5], [0.5, 0.5], "which every agent solves."),
        ([0.0, 0.0], [0.0, 0.0], "which no agent solves."),
        ([0.5, 0.0], [0.0, 0.5], "chosen because agents differ in them."),
        ([0.5, 0.0], [0.5, 0.0], "some of which agents solve more often than others."),
    ],
)
def test_episodes_are_introduced_by_what_agents_make_of_them(
    level_files, tmp_path, first, second, words
):
    returned = np.array([[*first, *[0.5] * 6], [*second, *[0.5] * 6]])
    said = episodes_text(tmp_path, level_files, returned)
    assert said == f"The first seed of each method in the same levels of test, {words}"


def kept(made_by):
    return Kept(None, made_by, {})


def test_levels_without_recorded_parents_are_not_said_to_have_none(level_files, tmp_path):
    training = gather([write_method(tmp_path, "plr", level_files).path]).methods[0].trainings[0]
    made = Shown(training, 12, (kept("vae"), kept("dataset"), kept("vae")), ())
    assert without_ancestry(made) == (
        "Levels made by vae have no parents on record, so no ancestry is shown."
    )
    only = Shown(training, 12, (kept("dataset"),), ())
    assert without_ancestry(only) == "All of these are levels of the dataset."


def test_two_methods_may_share_the_highest_return(level_files, tmp_path):
    values = {"plr": 0.5, "uniform": 0.5, "dr": 0.2}
    runs = [
        write_method(tmp_path, name, level_files, suites=everywhere(value, 2), kept={})
        for name, value in values.items()
    ]
    results = results_of(gather([run.path for run in runs]))
    assert finding(results["test"]) == "plr and uniform have the highest mean return, 0.500."


# Few seeds


def two_that_agree(tmp_path, level_files):
    """Two methods with two seeds each that do the same in every level, one a little better."""
    levels = np.linspace(0.1, 0.9, 8)
    worse = levels * np.where(levels < 0.75, 0.9, 1.05)
    return [
        write_method(
            tmp_path, name, level_files, suites={"test": (np.stack([row, row]), TEST)}, kept={}
        )
        for name, row in (("plr", levels), ("uniform", worse))
    ]


def test_statistics_for_few_seeds_without_spread_call_nothing_better(
    level_files, tmp_path, without_figures
):
    content = compute(
        gather([run.path for run in two_that_agree(tmp_path, level_files)]), episodes=0
    )
    assert not any(
        cell.bold for table in content.tables.values() for row in table.rows for cell in row
    )
    text = words_of(page_of(content, []))
    assert "plr has the highest mean return" in text and "differs" not in text
    assert "is better" not in text.replace("higher is better", "").replace("lower is better", "")
    assert "Significance is not tested: it takes three seeds of each method" in text


def test_statistics_for_few_seeds_have_intervals_over_levels_and_seeds_and_say_so(
    level_files, tmp_path, without_figures
):
    content = compute(
        gather([run.path for run in two_that_agree(tmp_path, level_files)]), episodes=0
    )
    mean = content.results["test"]["mean_return"]["plr"].estimate
    low, high = mean.intervals[0.95]
    error = np.linspace(0.1, 0.9, 8).std() / 8**0.5  # of the mean over resampled levels
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    gap = content.results["test"]["optimality_gap"]["plr"].estimate
    assert gap.intervals[0.95].low < gap.value < gap.intervals[0.95].high
    note = content.tables["summary-test"].note
    assert "Two seeds are too few to tell" in note and "seeds and levels are resampled" in note
    assert note.split("Significance")[0] in content.tables["improvement-test"].note.replace(
        "By return; ties count half. ", ""
    )


def test_statistics_for_few_seeds_have_no_interval_where_nothing_differs(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites=everywhere(0.5, 2), kept={})
    content = compute(gather([run.path]), episodes=0)
    result = content.results["test"]["mean_return"]["plr"]
    assert np.isnan(result.estimate.intervals[0.95].low)
    mixed = rows_shown(content.tables["summary-test"])
    assert "0.500 to 0.500" not in mixed


def rows_shown(table):
    return " ".join(cell.main + cell.extra for row in table.rows for cell in row)


# Captions and settings


def test_captions_of_relations_follow_from_what_is_there(level_files, tmp_path, without_figures):
    alone = write_method(tmp_path, "plr", level_files, seeds=(7,), kept={})
    text = text_of(alone)
    assert "Only one run has a shift that was measured" in text and "Left to right" not in text
    more = [alone, write_method(tmp_path, "accel", level_files, seeds=(7,), kept={})]
    text = text_of(*more)
    assert "Left to right: ranks of methods" in text and "One seed of each method. Equal" in text


def test_settings_that_differ_tell_three_temperatures_apart(level_files, tmp_path, without_figures):
    runs = []
    for temperature in (0.1, 0.3, 1.0):
        run = write_method(tmp_path / str(temperature), "plr", level_files, seeds=(0,), kept={})
        config = run.record.told["config"]
        primary = {**config["method"]["primary"], "temperature": temperature}
        run.note(config={**config, "method": {**config["method"], "primary": primary}})
        runs.append(run)
    material = gather([run.path for run in runs])
    looks = looks_of(material)
    assert list(looks) == [f"plr (temperature {one})" for one in (0.1, 0.3, 1.0)]
    for part in zip(*looks.values(), strict=True):
        assert len(set(part)) == 3  # colours and markers
    text = text_of(*runs)
    named = "Runs of plr differ in their settings: method.primary.temperature 0.1, 0.3, 1.0."
    assert text.index(named) < text.index("Suite train")


# Looks


def test_looks_every_report_shows_its_dataset_and_says_what_numbers_mean(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, seeds=(7,), kept={})
    page = page_of(compute(gather([run.path]), episodes=0), [], title="Mine", date="1 May 2031")
    begin = page.index('<section id="dataset"')
    gallery = page[begin : page.index("</section>", begin)]
    assert gallery.count("data:image/png") == 12 + 6  # levels, and a swatch of each tile
    text = words_of(page)
    assert "Mine" in text and "1 May 2031" in text
    for metric in METRICS:
        if metric.section:
            assert metric.plain and metric.plain in text, metric.name
    assert "a nat is 1.44 bits" in text and "is a lot" in text
    assert "that chose its levels" not in text and "CVaR picks the worst levels" in text


def test_looks_a_report_without_its_dataset_says_so(level_files, tmp_path, without_figures):
    files = {**level_files, "train": (tmp_path / "gone.npz", level_files["train"][1])}
    run = write_method(tmp_path, "plr", files, suites={"test": (same(0.5, 8), TEST)}, seeds=(0,))
    assert "The file of the training levels is not there any more" in text_of(run)


# Axes


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is drawn, as Matplotlib has it."""
    seen = []
    monkeypatch.setattr(drawing, "to_svg", lambda figure: seen.append(figure) or "<svg></svg>")
    return seen


def ticks(axis):
    """The labels of ticks that can be seen."""
    found = []
    for side, (low, high) in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        low, high = sorted((low, high))
        found += [
            tick.label1.get_text()
            for tick in side.get_major_ticks()
            if low <= tick.get_loc() <= high
        ]
    return found


@pytest.mark.parametrize("value", [0.0, 0.02, 0.97, 1.0])
def test_shares_have_no_ticks_beyond_0_and_100_per_cent(level_files, tmp_path, figures, value):
    rows = [
        {name: value if isinstance(old, float) else old for name, old in row.items()}
        for row in metrics_of("plr", (0, 1))
    ]
    run = write_method(tmp_path, "plr", level_files, rows=rows)
    for section in ("learning", "gaps", "replayed"):
        lines_drawing(gather([run.path]), section)
    seen = 0
    for figure in figures:
        figure.draw_without_rendering()
        for label in (label for axis in figure.axes for label in ticks(axis) if "%" in label):
            seen += 1
            assert re.fullmatch(r"\d{1,3}(\.\d{1,2})?\u00a0%", label), label
            assert 0 <= float(label.rstrip("%\u00a0")) <= 100
    assert seen > 10


def test_what_cannot_be_negative_has_no_ticks_below_0(level_files, tmp_path, figures):
    rng = np.random.default_rng(0)
    runs = [
        write_method(
            tmp_path,
            name,
            level_files,
            suites={"test": (rng.random((2, 8)) * (rng.random((2, 8)) > 0.5), TEST)},
        )
        for name in ("plr", "uniform")
    ]
    material = gather([run.path for run in runs])
    aggregate_drawing(results_of(material), material.suites[0])
    for figure in figures:
        figure.draw_without_rendering()
        labels = [label for axis in figure.axes if not axis.images for label in ticks(axis)]
        assert labels and not any("−" in label for label in labels), labels


# Names of users' own


def test_names_are_text_wherever_they_stand(level_files, tmp_path):
    from dataclasses import replace

    from tests.reports.made_up import family

    name = "<script>alert('x')</script>"
    runs = []
    for place, seed in (("<script>one", 0), ("<script>two", 1)):
        run = write_method(tmp_path / place, "plr", level_files, seeds=(seed,), kept={})
        config = run.record.told["config"]
        run.note(config={**config, "method": {**config["method"], "name": name}})
        saved = family(TRAIN)
        marked = replace(saved.levels, structure=np.array(["<script>made"] * 4))
        from dred.training.saved import save_levels

        save_levels(
            run.path / "levels" / f"update-00000012-seed-{seed}.npz",
            saved._replace(levels=marked),
            run.task.level_format,
        )
        runs.append(run)
    out = tmp_path / "R"
    page = make_report(
        [run.path for run in runs], out, episodes=0, title="<script>my title"
    ).read_text(encoding="utf-8")
    assert "<script" not in page
    for words in ("<script>my title", name, "<script>made", "<script>one"):
        assert words in html.unescape(page), words
    for file in (out / "figures").iterdir():
        assert "<script" not in file.read_text(encoding="utf-8"), file.name
    assert re.search(r"<p class=\"note\">\d{1,2} \w+ \d{4}</p>", page)  # the date


def test_a_story_comes_first_with_its_pictures(level_files, tmp_path, without_figures):
    run = write_method(tmp_path, "plr", level_files, kept={})
    content = compute(gather([run.path]), episodes=0)
    page = page_of(content, [], story={"Levels of <mine>.": b"\x89PNG"})
    assert page.index('<section id="story"') < page.index('<section id="overview"')
    assert 'alt="Levels of &lt;mine&gt;."' in page and "data:image/png;base64,iVBORw==" in page
    assert 'id="story"' not in page_of(content, [])
