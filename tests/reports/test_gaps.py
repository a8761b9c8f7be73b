"""The table of gaps says the same as the tables of scores of the same report."""

import csv
import io

import numpy as np
import pytest

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
    assert "| GenGap (live) | 0.60 ± 0.01 |" in text and "at most 8 levels of each set" in text


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
