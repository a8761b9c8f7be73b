"""The report of eight methods: every file, the numbers by hand, and what can go wrong."""

import csv
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dred.commands.report import Report
from dred.errors import ConfigError, DatasetError
from dred.evaluation.statistics import summarise
from dred.files import OutputError
from dred.levels import make
from dred.reports.content import compute
from dred.reports.curves import curve
from dred.reports.drawings import lines_drawing
from dred.reports.episodes import telling_levels
from dred.reports.gather import gather
from dred.reports.kit.chart import per_cent, thousands
from dred.reports.kit.folder import check_place
from dred.reports.kit.looks import looks_for
from dred.reports.kit.page import to_html
from dred.reports.kit.table import Cell, Table, plus_minus, to_csv, to_markdown
from dred.reports.lineage import buffer_of, buffers_table
from dred.reports.looks import METHOD_LOOKS
from dred.reports.page import page_of
from dred.reports.results import AGGREGATES, estimate, improvement, results_of
from dred.reports.variants import endings
from dred.reports.write import files_of, make_report, write_report
from dred.tasks.procgen.looks import STRATEGY_LOOKS
from tests.reports.conftest import METHODS, TEST, TRAIN, returns_of, write_method
from tests.reports.made_up import metric_rows, write_run, write_suite

SUITES = ("train", "test")
TABLES = {
    *("mean-return", "solved-rate", "gaps", "replayed", "buffers", "runs", "settings"),
    *("ranks", "correlations", "ranks-over-training", "claims"),
    *(f"{name}-{suite}" for name in ("summary", "improvement", "levels") for suite in SUITES),
}
FIGURES = {
    *("solved-rate", "improvement", "learning", "gaps", "correlations", "replayed"),
    "vae-dred-against-el-dred",
    *(f"{name}-{suite}" for name in ("aggregate", "levels") for suite in SUITES),
    *(f"buffer-{method}" for method in METHODS),
}


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_eight_methods_give_every_table_and_figure(report):
    tables = {path.name for path in (report / "tables").iterdir()}
    assert tables == {f"{name}.{kind}" for name in TABLES for kind in ("csv", "md")}
    assert {path.name for path in (report / "figures").iterdir()} == {f"{n}.svg" for n in FIGURES}
    for path in (report / "figures").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "currentColor" in text and "prefers-color-scheme:dark" in text, path.name
        assert not re.search(r"(href|src)=\"(?!#|data:)", text), path.name
    assert sorted(path.name for path in report.parent.iterdir()) == ["R"]


def test_the_page_needs_nothing_else(report):
    page = (report / "report.html").read_text(encoding="utf-8")
    addresses = re.findall(r"(?:src|srcset|href)=\"([^\"]*)\"", page)
    beside = {f"tables/{name}.{kind}" for name in TABLES for kind in ("csv", "md")}
    beside |= {f"figures/{name}.svg" for name in FIGURES}
    for address in addresses:
        assert address.startswith(("data:", "#")) or address in beside, address[:80]
    assert "<script" not in page and "@import" not in page and "url(" not in page
    for picture in re.findall(r"<img [^>]*>", page):
        assert re.search(r'alt="', picture)
    headings = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert headings[0] == 1
    assert all(after <= before + 1 or after == 4 for before, after in pairwise(headings))


def test_the_numbers_by_hand(report):
    # Each agent gets the same return in every level: 0.02 below or above its method's number.
    table = rows_of(report / "tables" / "summary-test.csv")
    mine = {row["aggregate"]: row for row in table if row["method"] == "vae-dred"}
    assert mine.keys() == {aggregate.key for aggregate in AGGREGATES}
    for name in ("mean_return", "interquartile_mean", "cvar_10", "cvar_1"):
        assert float(mine[name]["value"]) == pytest.approx(0.8)
        assert float(mine[name]["deviation"]) == pytest.approx(0.04 / 2**0.5)
        # Two runs can be drawn as low-low, mixed and high-high, a quarter for either end.
        assert float(mine[name]["low_95"]) == pytest.approx(0.78)
        assert float(mine[name]["high_95"]) == pytest.approx(0.82)
        assert (mine[name]["seeds"], mine[name]["levels"]) == ("2", "8")
    assert float(mine["solved_rate"]["value"]) == 1.0
    optimal = np.array([float(row["optimal_return"]) for row in optimal_rows(report)])
    assert float(mine["optimality_gap"]["value"]) == pytest.approx(np.mean(optimal) - 0.8, abs=1e-6)


def optimal_rows(report):
    """One line for each level of test, from the table of best and worst levels."""
    rows = [row for row in rows_of(report / "tables" / "levels-test.csv") if row["method"] == "plr"]
    assert len({row["level"] for row in rows}) == len(rows) == 8
    return rows


def spread_round(base, count, by=0.05):
    """Returns [seed, level] of three seeds: below, at and above a number, in every level alike."""
    return np.stack([np.full(count, base + by * k) for k in (-1, 0, 1)])


@pytest.fixture(scope="module")
def tested(tmp_path_factory, level_files):
    """The report of three methods with three seeds each: 0.8, 0.7 and 0.6, each ± 0.05."""
    folder = tmp_path_factory.mktemp("tested")
    runs = [
        write_method(
            folder,
            method,
            level_files,
            seeds=(0, 1, 2),
            suites={
                "train": (spread_round(base, 12), TRAIN),
                "test": (spread_round(base, 8), TEST),
            },
        )
        for method, base in (("vae-dred", 0.8), ("el-dred", 0.7), ("plr", 0.6))
    ]
    return make_report([run.path for run in runs], folder / "R", episodes=0).parent


def test_bold_is_the_papers(tested):
    # 0.8 ± 0.05 against 0.7 ± 0.05: t = 0.1 / (0.05 √(2/3)) = 2.45 with four degrees of freedom,
    # p = 0.07; against 0.6 ± 0.05 t = 4.90, p = 0.01.
    rows = rows_of(tested / "tables" / "mean-return.csv")
    best = {row["method"] for row in rows if row["suite"] == "test" and row["is_best"] == "1"}
    assert best == {"vae-dred", "el-dred"}
    text = (tested / "tables" / "mean-return.md").read_text(encoding="utf-8")
    assert "| test (8 levels) | **0.80 ± 0.05** | **0.70 ± 0.05** | 0.60 ± 0.05 |" in text
    assert text.startswith("# Mean return, mean ± standard deviation over seeds\n")
    assert "Bold: best, or not significantly different" in text
    gaps = {(r["metric"], r["method"]): r for r in rows_of(tested / "tables" / "gaps.csv")}
    lowest = {method: gaps["shift_gap", method]["is_best"] for method in ("plr", "el-dred")}
    assert lowest == {"plr": "1", "el-dred": "0"}  # 0.6 and 0.7, each ± 0.01
    page = (tested / "report.html").read_text(encoding="utf-8")
    assert "Not significantly different: el-dred." in page


def test_what_does_not_vary_is_not_tested(tested):
    solved = rows_of(tested / "tables" / "solved-rate.csv")
    assert not any(row["is_best"] == "1" for row in solved)
    text = (tested / "tables" / "solved-rate.md").read_text(encoding="utf-8")
    assert "Significance is not tested" in text and "Bold" not in text
    summary = (tested / "tables" / "summary-test.md").read_text(encoding="utf-8")
    assert "Where a method's seeds do not differ, nothing is tested." in summary


def test_two_seeds_are_too_few_to_test_in_tables_and_in_sentences(report):
    for path in (report / "tables").glob("*.csv"):
        assert not any(row.get("is_best") == "1" for row in rows_of(path)), path.name
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "vae-dred has the highest mean return, 0.800" in page
    assert "<strong>0." not in page and "significantly" not in page
    assert "Significance is not tested: it takes three seeds" in page


def test_who_beats_whom_by_hand(report):
    rows = rows_of(report / "tables" / "improvement-test.csv")
    found = {(row["method"], row["other"]): float(row["probability"]) for row in rows}
    assert len(found) == 8 * 7
    assert found["vae-dred", "plr"] == 1.0 and found["plr", "vae-dred"] == 0.0
    assert found["accel", "dr"] == 0.0  # 0.23 and 0.27 against 0.28 and 0.32
    assert all(found[a, b] + found[b, a] == pytest.approx(1) for a, b in found)


def test_metrics_at_the_end_by_hand(report):
    rows = {(r["metric"], r["method"]): r for r in rows_of(report / "tables" / "gaps.csv")}
    assert float(rows["shift_gap", "plr"]["mean"]) == pytest.approx(0.6 + 0.005)
    assert float(rows["shift_gap", "plr"]["deviation"]) == pytest.approx(0.01 / 2**0.5)
    page = (report / "tables" / "replayed.md").read_text(encoding="utf-8")
    assert "| effective number of levels | 12.0 |" in page  # the dataset's own


def test_the_same_figure_is_the_same_file(study, report):
    material = gather(study)
    (again,) = lines_drawing(material, "gaps")
    assert again.wide == (report / "figures" / "gaps.svg").read_text(encoding="utf-8")


def test_the_same_runs_give_the_same_page(study, without_figures):
    content = [compute(gather(study[:2]), episodes=0) for _ in range(2)]
    first, again = (files_of(one) for one in content)
    assert first == again and len(first) > 20
    assert page_of(content[0], []) == page_of(content[1], [])


def test_resampled_runs_are_those_of_the_statistics():
    scores = np.random.default_rng(0).random((4, 30))
    solved = (scores > 0.4).astype(float)
    whole = summarise(scores, solved=solved, whole_runs=True, repeats=10_000)
    fields = ("mean", "interquartile_mean", None, "solved_rate", "conditional_value_at_risk")
    for aggregate, field in zip(AGGREGATES, fields, strict=False):
        if field is None:
            continue
        got = estimate(aggregate.statistic, solved if aggregate.key == "solved_rate" else scores)
        expected = getattr(whole, field)
        assert got.value == pytest.approx(expected.value)
        assert got.deviation == pytest.approx(expected.deviation)
        for confidence, interval in expected.intervals.items():
            assert got.intervals[confidence] == pytest.approx(interval)


def test_improvement_is_that_of_the_statistics():
    from functools import partial

    from dred.evaluation.statistics import probability_of_improvement, stratified_bootstrap

    random = np.random.default_rng(1)
    x, y = random.random((3, 12)), random.random((4, 12)) - 0.2
    got = improvement(x, y, seed=3)
    assert got.value == pytest.approx(float(probability_of_improvement(x, y)))
    slow = partial(stratified_bootstrap, probability_of_improvement, x, y)
    for confidence, interval in slow(seed=3, whole_runs=True).items():
        assert got.intervals[confidence] == pytest.approx(interval)


def test_one_run_with_one_seed_has_no_intervals(level_files, tmp_path, capsys, without_figures):
    run = write_method(tmp_path, "plr", level_files, seeds=(7,))
    Report((run.path,), tmp_path / "R").run()
    said = capsys.readouterr().out
    assert "There is only one seed of plr" in said and "report.html: 1 methods, 1 agents" in said
    rows = rows_of(tmp_path / "R" / "tables" / "summary-test.csv")
    assert {row["low_95"] for row in rows} == {""} and {row["deviation"] for row in rows} == {""}
    page = (tmp_path / "R" / "report.html").read_text(encoding="utf-8")
    assert "nothing to compare it with" in page and "nan" not in re.sub('data:[^"]*', "", page)
    assert "has no checkpoint yet" in page


def test_seeds_of_several_runs_are_one_method(level_files, tmp_path):
    together = write_method(tmp_path / "a", "plr", level_files, seeds=(0, 1))
    alone = write_method(tmp_path / "b", "plr", level_files, seeds=(5,))
    material = gather([together.path, alone.path])
    (method,) = material.methods
    assert [training.seed for training in method.trainings] == [0, 1, 5]
    assert method.scores["test"].returned.shape == (3, 8)
    assert results_of(material)["test"]["mean_return"]["plr"].estimate.value == pytest.approx(
        (0.58 + 0.62 + 0.58) / 3
    )


def test_missing_and_broken_metrics_are_noted(level_files, tmp_path, without_figures):
    rows = metric_rows(
        0, [4, 8, 12], {"gen_gap": [0.1, float("nan"), 0.3], "path": [None, 5.0, 6.0]}
    )
    run = write_method(tmp_path, "plr", level_files, seeds=(0,), rows=rows, kept={})
    content = compute(gather([run.path]), episodes=0)
    notes = " ".join(content.notes)
    assert "1 values of gen_gap in plr are not numbers" in notes
    assert "Not measured in all seeds of plr: solved_rate/train" in notes
    assert content.drawings.keys().isdisjoint({"learning"})
    method = content.material.methods[0]
    drawn = curve(method, "gen_gap")
    assert drawn is not None and drawn.updates.tolist() == [4, 12] and drawn.error is None
    assert "left out" in page_of(content, [])


def test_a_run_without_any_metrics_is_reported(level_files, tmp_path, without_figures):
    run = write_method(tmp_path, "dr", level_files, rows=[], kept={})
    page = make_report([run.path], tmp_path / "R").read_text(encoding="utf-8")
    assert "is not finished: 0 of 12 updates" in page
    assert "None of this was measured" in page and "saved no levels" in page


def test_a_suite_without_its_levels_has_no_pictures(level_files, tmp_path, without_figures):
    run = write_method(tmp_path, "plr", level_files)
    write_suite(run, "mystery", returns_of("plr", 5))
    content = compute(gather([run.path]), episodes=0)
    assert any("levels of the suite mystery are not known" in note for note in content.notes)
    assert "optimality_gap" not in content.results["mystery"]
    assert "levels-mystery" not in content.drawings and "levels-test" in content.drawings


def test_levels_that_changed_since_are_not_shown(level_files, tmp_path):
    run = write_method(tmp_path, "plr", level_files, with_levels=False)
    facts = run.record.told["levels"]
    facts["test"]["path"] = str(tmp_path / "test.npz")
    run.note(levels=facts)
    make("cave-escape-test", count=8, size=9, seed=5).save(tmp_path / "test.npz")
    notes = " ".join(gather([run.path]).notes)
    assert "suite test are not known" in notes and "was changed since" in notes


def test_an_evaluation_of_an_older_checkpoint_is_noted(level_files, tmp_path):
    run = write_method(tmp_path, "plr", level_files)
    write_suite(run, "test", returns_of("plr", 8), TEST, update=8)
    notes = " ".join(gather([run.path]).notes)
    assert "plr was evaluated on test after 8 updates, but 12 are done" in notes


def test_lineage_goes_back_to_the_dataset(level_files, tmp_path):
    run = write_method(tmp_path, "el-dred", level_files)
    shown = buffer_of(gather([run.path]).methods[0], TRAIN)
    assert shown is not None and shown.update == 12
    assert [one.facts["number"] for one in shown.kept] == [21, 20, 2, 0]
    assert [[one.facts["number"] for one in line] for line in shown.lines] == [[2, 20, 21], [2, 20]]
    table = buffers_table({"el-dred": shown})
    assert dict(zip(table.data_header, table.data[0], strict=True))["parent"] == 20
    assert to_csv(table).splitlines()[4].startswith("el-dred,0,12,dataset,0.1,,0,-1")


# What can go wrong


def complaint(paths, kind, out=None):
    """The text of the error, which is one paragraph."""
    with pytest.raises(kind) as caught:
        make_report(paths, out or Path("/nonexistent") / "R", episodes=0)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_a_run_without_evaluation(level_files, tmp_path):
    run = write_method(tmp_path, "plr", level_files, suites={})
    text = complaint([run.path], ConfigError, tmp_path / "R")
    assert "is a run without evaluation" in text and f"`dred evaluate {run.path}" in text
    assert not (tmp_path / "R").exists() and not (tmp_path / "R.partial").exists()


def test_mixed_suites(level_files, tmp_path):
    one = write_method(tmp_path, "plr", level_files)
    other = write_method(tmp_path, "dr", level_files)
    (other.path / "evaluation" / "test.csv").unlink()
    text = complaint([one.path, other.path], ConfigError, tmp_path / "R")
    assert "mixed suites" in text and f"{other.path} on test with" in text


def test_different_datasets_under_the_same_name(level_files, tmp_path):
    one = write_method(tmp_path, "plr", level_files)
    other = write_method(
        tmp_path, "dr", {**level_files, "train": (level_files["train"][0], "f" * 64)}
    )
    text = complaint([one.path, other.path], DatasetError, tmp_path / "R")
    assert "'train' are not the same" in text and "ffffffffffff…" in text
    assert TRAIN.digest[:12] in text


@pytest.mark.parametrize("count", [8, 7])
def test_different_levels_in_a_suite(level_files, tmp_path, count):
    one = write_method(tmp_path, "plr", level_files)
    other = write_method(tmp_path, "dr", level_files)
    different = make("cave-escape-test", count=count, size=9, seed=9)
    write_suite(other, "test", returns_of("dr", count), different)
    text = complaint([one.path, other.path], DatasetError, tmp_path / "R")
    assert "different levels under the same name" in text


def test_greedy_and_sampled_actions(level_files, tmp_path):
    one = write_method(tmp_path, "plr", level_files)
    other = write_method(tmp_path, "dr", level_files)
    write_suite(other, "test", returns_of("dr", 8), TEST, greedy=True)
    assert "--greedy" in complaint([one.path, other.path], ConfigError, tmp_path / "R")


def test_one_run_twice_and_one_seed_twice(level_files, tmp_path):
    one = write_method(tmp_path / "a", "plr", level_files)
    other = write_method(tmp_path / "b", "plr", level_files, seeds=(1, 2))
    assert "was given twice" in complaint([one.path, one.path], ConfigError, tmp_path / "R")
    assert "both plr with seed 1" in complaint([one.path, other.path], ConfigError, tmp_path / "R")
    assert "at least one run" in complaint([], ConfigError, tmp_path / "R")


def changed(run, part, name, value):
    """Note another setting in a run's record."""
    config = run.record.told["config"]
    run.note(config={**config, part: {**config[part], name: value}})


def test_runs_of_one_method_with_two_settings_are_told_apart(
    level_files, tmp_path, without_figures
):
    one = write_method(tmp_path / "a", "plr", level_files)
    same = write_method(tmp_path / "b", "plr", level_files, seeds=(3,))
    other = write_method(tmp_path / "c", "plr", level_files, seeds=(0,))
    changed(other, "ppo", "learning_rate", 0.5)
    content = compute(gather([one.path, same.path, other.path]), episodes=0)
    seeds = {m.name: [t.seed for t in m.trainings] for m in content.material.methods}
    assert seeds == {"plr (learning_rate 0.0001)": [0, 1, 3], "plr (learning_rate 0.5)": [0]}
    assert "Runs of plr differ in their settings: ppo.learning_rate 0.0001, 0.5." in content.notes
    page = page_of(content, [])
    assert page.index("Runs of plr differ") < page.index('<section id="transfer"')
    changed(same, "agent", "hidden_size", 24)
    names = [method.name for method in gather([one.path, same.path, other.path]).methods]
    assert names == [
        "plr (hidden_size 16, learning_rate 0.0001)",
        "plr (hidden_size 24, learning_rate 0.0001)",
        "plr (hidden_size 16, learning_rate 0.5)",
    ]


def test_settings_that_decide_nothing_leave_runs_together_but_are_named(level_files, tmp_path):
    one = write_method(tmp_path / "a", "plr", level_files)
    other = write_method(tmp_path / "b", "plr", level_files, seeds=(3,))
    other.note(config={**other.record.told["config"], "evaluate_levels": 3})
    material = gather([one.path, other.path])
    assert [method.name for method in material.methods] == ["plr"]
    assert "Runs of plr differ in their settings: evaluate_levels 8, 3." in material.notes


def test_names_are_as_short_as_they_can_be():
    keys = ["method.primary.temperature", "method.secondary.temperature", "ppo.clip"]
    assert list(endings(keys).values()) == ["primary.temperature", "secondary.temperature", "clip"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("seed,suite", "seed;suite", 1), "does not begin with the line"),
        (lambda text: text.replace("0.580000", "nan", 1), "line 2"),
        (lambda text: text.replace("0.580000", "fast", 1), "line 2"),
        (lambda text: "\n".join(text.splitlines()[:-3]) + "\n", "perhaps interrupted"),
    ],
)
def test_damaged_results(level_files, tmp_path, change, words):
    run = write_method(tmp_path, "plr", level_files)
    file = run.path / "evaluation" / "test.csv"
    file.write_text(change(file.read_text()))
    assert words in complaint([run.path], DatasetError, tmp_path / "R")


def test_what_is_not_a_run(tmp_path):
    assert "is not a run" in complaint([tmp_path], ConfigError, tmp_path / "R")


def test_a_former_report_is_replaced_and_nothing_else(small, tmp_path):
    out = tmp_path / "R"
    write_report(small, out)
    (out / "tables" / "old.csv").write_text("old")
    check_place(out)
    write_report(small, out)
    assert not (out / "tables" / "old.csv").exists()
    (out / "mine.txt").write_text("keep me")
    file = tmp_path / "file"
    file.touch()
    for place, words in (
        (out, "'mine.txt'"),
        (emptied(tmp_path / "E"), "no report.html"),
        (file, "not a folder"),
    ):
        with pytest.raises(OutputError, match=words):
            check_place(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["E", "R", "file"]


@pytest.fixture
def small(level_files, tmp_path_factory, without_figures):
    """What the report of one method says."""
    run = write_method(tmp_path_factory.mktemp("small"), "plr", level_files, kept={})
    return compute(gather([run.path]), episodes=0)


def emptied(folder):
    """A folder with nothing but an empty folder of tables."""
    (folder / "tables").mkdir(parents=True)
    return folder


def test_an_interrupted_report_leaves_the_former_one(small, tmp_path, monkeypatch):
    out = tmp_path / "R"
    write_report(small, out)
    before = (out / "report.html").read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dred.reports.kit.folder.put_in_place", stop)
    with pytest.raises(KeyboardInterrupt):
        write_report(small, out)
    assert (out / "report.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["R"]


def test_a_full_disk_is_said_in_a_paragraph(small, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dred.reports.kit.folder.put_in_place", full)
    with pytest.raises(OutputError, match="no space left"):
        write_report(small, tmp_path / "R")
    assert list(tmp_path.iterdir()) == []


# Smaller parts


def test_text_from_folders_cannot_become_markup(report):
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "<b>&runs" not in page and "&lt;b&gt;&amp;runs/plr" in page


def test_tables_in_three_forms():
    rows = ((Cell("a|b"), Cell("0.5", "0.4 to 0.6", True, share=0.75)),)
    table = Table("t", "T & U", ("x", "y"), rows, ("x", "y"), (("a|b", float("nan")),), "note")
    assert to_csv(table) == "x,y\na|b,\n"
    assert "| a\\|b | **0.5** (0.4 to 0.6) |" in to_markdown(table)
    html = to_html(table)
    assert "T &amp; U" in html and '<td class="wins" style="--share:0.50"><strong>0.5' in html


def test_mean_and_deviation_in_print():
    assert plus_minus(np.array([0.1, 0.2])) == "0.15 ± 0.07"
    assert plus_minus(np.array([-0.0])) == "0.00"
    assert plus_minus(np.array([0.5, 0.7]), percent=True) == "60.0 ± 14.1"
    assert plus_minus(np.array([])) == "–"


def test_telling_levels_are_those_that_half_of_the_runs_solve():
    assert telling_levels(np.array([0.0, 0.5, 1.0, 0.6]), 2) == [1, 3]
    assert telling_levels(np.array([1.0, 1.0, 0.0, 0.0]), 3) == [0, 2, 1]
    assert telling_levels(np.array([1.0, 1.0]), 1) == [0]


def luminance(colour):
    """Relative luminance of #rrggbb, as the accessibility guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", ["#ffffff", "#14171b"])
def test_colours_stand_out_on_both_backgrounds(paper):
    for name, (colour, _) in {**METHOD_LOOKS, **STRATEGY_LOOKS}.items():
        light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3.0, name


def test_methods_differ_in_colour_and_marker():
    known = {**METHOD_LOOKS, **STRATEGY_LOOKS}
    assert len(known) == 13
    for part in zip(*known.values(), strict=True):
        assert len(set(part)) == 13


def test_a_report_has_a_look_for_each_name_and_none_twice():
    names = ["plr", "my-own", "plr (temperature 0.5)", "uniform", "<script>"]
    looks = looks_for(names, METHOD_LOOKS)
    assert list(looks) == names and looks["plr"] == METHOD_LOOKS["plr"]
    for part in zip(*looks.values(), strict=True):
        assert len(set(part)) == len(names)
    assert looks == looks_for(names, METHOD_LOOKS)
    many = looks_for(map(str, range(60)), METHOD_LOOKS)
    assert len(set(many.values())) == 60


def test_ticks_are_short():
    assert [thousands(v) for v in (0.0, 250.0, 2500.0, 10000.0)] == ["0", "250", "2.5k", "10k"]
    shares = (0.0, 0.25, 0.30000000000000004, 0.125, 1.0)
    assert [per_cent(v).replace("\u00a0", "") for v in shares] == [
        "0%",
        "25%",
        "30%",
        "12.5%",
        "100%",
    ]


def test_run_json_may_name_no_levels(tmp_path, without_figures):
    run = write_run(
        tmp_path / "old",
        "plr",
        {},
        suites={"test": (returns_of("plr", 8, 1), None)},
        with_levels=False,
    )
    assert make_report([run.path], tmp_path / "R").exists()
