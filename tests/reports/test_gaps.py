"""The table of gaps says the same as the tables of scores of the same report."""

import csv
import io
import math

import numpy as np
import pytest

from dred.evaluation.measured import Measured, as_lines, write_gaps
from dred.metrics import in_section
from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.kit.table import to_csv, to_markdown
from dred.reports.page import page_of
from tests.reports.conftest import TEST, TRAIN, write_method
from tests.reports.made_up import write_suite


def rows_of(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def gen_gap_of(content):
    (row,) = [row for row in rows_of(content.tables["gaps"]) if row["metric"] == "gen_gap"]
    return row


# Two seeds: 0.9 and 0.7 on the training levels, 0.5 and 0.6 on the held-out ones. So the gaps are
# 0.4 and 0.1, while the last line of the metrics claims 0.6 and 0.61 (on few levels).
UNEVEN = {
    "train": (np.stack([np.full(12, 0.9), np.full(12, 0.7)]), TRAIN),
    "test": (np.stack([np.full(8, 0.5), np.full(8, 0.6)]), TEST),
}


def test_mend_6_the_gaps_table_agrees_with_the_mean_return_table(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites=UNEVEN)
    content = compute(gather([run.path]), episodes=0)
    gap = gen_gap_of(content)
    assert float(gap["mean"]) == pytest.approx(0.25)
    assert float(gap["deviation"]) == pytest.approx(0.3 / 2**0.5)  # of 0.4 and 0.1, seed by seed
    assert (gap["seeds"], gap["source"]) == ("2", "evaluation")
    means = {row["suite"]: float(row["mean"]) for row in rows_of(content.tables["mean-return"])}
    assert float(gap["mean"]) == pytest.approx(means["train"] - means["test"])
    others = [row for row in rows_of(content.tables["gaps"]) if row["metric"] != "gen_gap"]
    assert {row["source"] for row in others} == {"metrics"} and len(others) >= 5
    text = to_markdown(content.tables["gaps"])
    assert "| GenGap (whole suites, train − test) | 0.25 ± 0.21 |" in text
    assert "all 12 levels of the suite train minus that on all 8 of the suite test" in text


def test_mend_6_without_both_suites_the_gap_is_live_and_says_so(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites={"test": UNEVEN["test"]})
    content = compute(gather([run.path]), episodes=0)
    gap = gen_gap_of(content)
    assert float(gap["mean"]) == pytest.approx(0.605) and gap["source"] == "metrics"
    text = to_markdown(content.tables["gaps"])
    live = "| GenGap (live: 8 training levels − 8 held-out levels) | 0.60 ± 0.01 |"
    assert live in text and "at most 8 levels of each set" in text


def test_mend_6_a_suite_that_is_only_called_train_makes_no_gap(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites=UNEVEN)
    write_suite(run, "train", UNEVEN["test"][0], TEST)  # not the levels that it was trained on
    content = compute(gather([run.path]), episodes=0)
    assert gen_gap_of(content)["source"] == "metrics"


def test_mend_6_suites_alone_are_enough(level_files, tmp_path, without_figures):
    run = write_method(tmp_path, "plr", level_files, suites=UNEVEN, rows=[], kept={})
    content = compute(gather([run.path]), episodes=0)
    assert [row["metric"] for row in rows_of(content.tables["gaps"])] == ["gen_gap"]
    page = page_of(content, [])
    assert "None of this was measured during training" in page
    assert "<td>0.25 ± 0.21</td>" in page


# What `dred evaluate --gaps` found of the two seeds.
AFTER = {
    seed: {
        "gen_gap": Measured(0.9, 0.1, "elsewhere"),
        "shift_gap": Measured(0.05 + 0.02 * seed, 0.01, "24 drawn levels"),
        "gen_gap_bound": Measured(0.1, math.nan, "12 levels"),
        "mutual_information": Measured(0.0, 0.02, "12 levels"),
        "probe_accuracy": Measured(0.137, 0.01, "12 levels"),
    }
    for seed in (0, 1)
}


def test_no_contradictions_terminal_table_and_page_have_the_same_numbers(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites=UNEVEN)
    write_gaps(run, 12, AFTER, seed=0)
    content = compute(gather([run.path]), episodes=0)
    rows = {row["metric"]: row for row in rows_of(content.tables["gaps"])}
    assert rows["gen_gap"]["source"] == "evaluation"  # as the table of mean returns
    shift = rows["shift_gap"]
    assert (shift["source"], shift["measured_on"]) == ("after training", "24 drawn levels")
    assert float(shift["mean"]) == pytest.approx(0.06)
    assert float(shift["error_over_levels"]) == pytest.approx(0.01)
    assert rows["jsd_distance"]["source"] == "metrics"  # was not measured afterwards
    text = to_markdown(content.tables["gaps"])
    assert "| ShiftGap (24 drawn levels) | 0.06 ± 0.01 |" in text
    assert "| Jensen–Shannon distance (live: " in text
    said = "\n".join(as_lines(AFTER, in_section("gaps", {})))
    assert "0.050 ± 0.010" in said and "0.070 ± 0.010" in said
    assert "What is not called live was measured after training" in page_of(content, [])


def test_no_contradictions_a_page_explains_what_would_seem_to_be_one(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, suites=UNEVEN)
    write_gaps(run, 12, AFTER, seed=0)
    note = compute(gather([run.path]), episodes=0).tables["gaps"].note
    assert "GenGap of plr is above the bound from estimated I(L; b)." in note  # 0.25 and 0.1
    assert "I(L; b) of plr is shown as 0.00, while 13.7\u00a0% of its guesses are right and" in note
    assert "8.3\u00a0% would be by chance" in note and "at least 0.016 nats" in note


def test_no_contradictions_all_methods_have_a_number_from_the_same_place(
    level_files, tmp_path, without_figures
):
    runs = [write_method(tmp_path, name, level_files) for name in ("plr", "dr")]
    write_gaps(runs[0], 12, AFTER, seed=0)
    table = compute(gather([run.path for run in runs]), episodes=0).tables["gaps"]
    assert {row["source"] for row in rows_of(table)} == {"evaluation", "metrics"}


def test_no_contradictions_a_single_seed_has_an_error_over_levels(
    level_files, tmp_path, without_figures
):
    suites = {
        "train": (np.array([[0.9, 0.5] * 6]), TRAIN),
        "test": (np.array([[0.5, 0.3] * 4]), TEST),
    }
    run = write_method(tmp_path, "plr", level_files, seeds=(0,), suites=suites)
    gap = gen_gap_of(compute(gather([run.path]), episodes=0))
    expected = (0.04 / 11 + 0.01 / 7) ** 0.5  # of 12 values ± 0.2 and of 8 values ± 0.1
    assert float(gap["error_over_levels"]) == pytest.approx(expected)
