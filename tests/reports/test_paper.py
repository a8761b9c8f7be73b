"""The paper's printed Minigrid tables, number by number, and ours beside them."""

import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.kit.table import to_csv, to_markdown
from dred.reports.page import page_of
from dred.reports.paper import SUITES, Printed, in_print, paper_note, printed, printed_on, table
from tests.reports.conftest import metrics_of
from tests.reports.made_up import write_run

TEX = Path(__file__).parents[3] / "shared" / "paper" / "dred-paper.tex"
METHODS = ("vae-dred", "el-dred", "plr", "uniform", "dr", "accel-d", "accel", "rplr")
HEADINGS = ["VAE-DRED", "EL-DRED", "PLR", "$\\mathcal{U}$", "DR", "ACCEL-D", "ACCEL", "RPLR"]
ROWS = {
    "tb:minigrid_scores": [("mean_return", suite) for suite in SUITES],
    "tb:minigrid_solved_rate": [("solved_rate", suite) for suite in SUITES],
    "tb:minigrid_gen_metrics": [("gen_gap", ""), ("shift_gap", ""), ("jsd_distance", "")],
}
FIRST = {
    "train": "$X_{\\mathrm{train}}$",
    "test": "$X_{\\mathrm{test}}$",
    "edge": "Edge C",
    "hardcore": "Hardcore",
    "gen_gap": "$\\text{GenGap}$",
    "shift_gap": "$\\text{ShiftGap}$",
    "jsd_distance": "$\\text{JSD}$",
}


def rows_of(one):
    return list(csv.DictReader(io.StringIO(to_csv(one))))


def printed_in(tex, label):
    """The rows of one of the paper's tables, as lists of places."""
    body = tex.split(f"\\label{{{label}}}")[1].split("\\toprule")[1].split("\\bottomrule")[0]
    head, _, rows = body.partition("\\midrule")
    assert [place.strip() for place in head.replace("\\\\", "").split("&")[1:]] == HEADINGS
    return [
        [place.strip() for place in row.split("&")] for row in rows.split("\\\\") if row.strip()
    ]


@pytest.mark.skipif(not TEX.exists(), reason="the paper's source is not beside the project")
def test_build_1_every_printed_minigrid_number_is_the_papers():
    tex = TEX.read_text(encoding="utf-8")
    seen = {}
    for label, rows in ROWS.items():
        for (measure, suite), (first, *places) in zip(rows, printed_in(tex, label), strict=True):
            assert first == FIRST[suite or measure]
            for method, place in zip(METHODS, places, strict=True):
                words = re.sub(r"\\textbf\{(.*)\}", r"\1", place).replace(" $\\pm$ ", " ± ")
                seen[measure, suite, method] = words
    assert seen.keys() == table().keys() and len(seen) == 88
    assert {key: in_print(known) for key, known in table().items()} == seen


def test_build_1_some_printed_minigrid_numbers_by_hand():
    assert printed("mean_return", "test", "vae-dred") == Printed(0.82, 0.02)
    assert printed("mean_return", "train", "uniform") == Printed(0.93, 0.01)
    assert printed("mean_return", "hardcore", "rplr") == Printed(0.02, 0.02)
    assert printed("mean_return", "edge", "dr") == Printed(0.37, 0.21)
    assert printed("solved_rate", "test", "el-dred") == Printed(0.89, 0.06)
    assert printed("solved_rate", "hardcore", "accel-d") == Printed(0.13, 0.14)
    assert printed("gen_gap", "", "accel") == Printed(-0.02, 0.02)
    assert printed("shift_gap", "", "rplr") == Printed(0.18, 0.45)
    assert printed("jsd_distance", "", "plr") == Printed(0.29, 0.05)
    assert printed("shift_gap", "", "uniform") == printed("jsd_distance", "", "uniform")
    assert printed("jsd_distance", "", "uniform") == Printed(0.0, None)
    assert printed("mean_return", "test", "resample-dred") is None
    assert in_print(printed("gen_gap", "", "dr")) == "-0.00 ± 0.01"
    assert in_print(printed("jsd_distance", "", "uniform")) == "n/a (0)"
    assert in_print(printed("solved_rate", "test", "vae-dred"), percent=True) == "95 ± 1"
    assert in_print(None) == ""


def test_build_1_a_suite_is_the_papers_by_its_name_and_its_number_of_levels():
    assert printed_on("mean_return", "edge", 448, "plr") == Printed(0.35, 0.11)
    assert printed_on("mean_return", "edge", 447, "plr") is None
    assert printed_on("mean_return", "my-own", 448, "plr") is None
    assert paper_note({"my-own": 448}) == ""
    note = paper_note({"train": 512, "test": 100})
    assert "5 seeds after 27\u202f000 updates" in note
    assert note.endswith("test (100 levels here, 2,048 in the paper).")
    assert paper_note({"test": 100}).startswith("The paper's numbers are not shown")


@pytest.fixture(scope="module")
def as_paper(tmp_path_factory):
    """Two methods of the paper and one of our own on suites of the paper's size."""
    folder = tmp_path_factory.mktemp("as-paper")

    def returns(value, suite):
        return np.stack([np.full(SUITES[suite], value + 0.01 * k) for k in (-1, 0, 1)])

    values = {"vae-dred": (0.9, 0.8), "plr": (0.95, 0.6), "resample-dred": (0.7, 0.7)}
    paths = [
        write_run(
            folder / method,
            method,
            {},
            seeds=(0, 1, 2),
            suites={
                "train": (returns(on_train, "train"), None),
                "test": (returns(on_test, "test"), None),
                "mine": (np.full((3, 5), 0.5), None),
            },
            rows=metrics_of("plr", (0, 1, 2)),
            with_levels=False,
        ).path
        for method, (on_train, on_test) in values.items()
    ]
    return gather(paths)


@pytest.fixture
def said(as_paper, without_figures):
    return compute(as_paper, episodes=0)


def test_build_1_the_papers_numbers_stand_beside_ours(said):
    scores = {(row["suite"], row["method"]): row for row in rows_of(said.tables["mean-return"])}
    mine = scores["test", "vae-dred"]
    assert float(mine["mean"]) == pytest.approx(0.8)  # ours stays ours
    assert (mine["paper_mean"], mine["paper_spread"]) == ("0.82", "0.02")
    assert scores["mine", "vae-dred"]["paper_mean"] == ""
    assert scores["test", "resample-dred"]["paper_mean"] == ""
    assert "| **0.80 ± 0.01** (paper 0.82 ± 0.02) |" in to_markdown(said.tables["mean-return"])
    solved = to_markdown(said.tables["solved-rate"])
    assert "100.0 ± 0.0 (paper 79 ± 3)" in solved
    summary = [row for row in rows_of(said.tables["summary-test"]) if row["method"] == "plr"]
    found = {row["aggregate"]: row["paper_mean"] for row in summary}
    assert found["mean_return"] == "0.68" and found["solved_rate"] == "0.79"
    assert found["interquartile_mean"] == found["cvar_10"] == ""
    gaps = {(row["metric"], row["method"]): row for row in rows_of(said.tables["gaps"])}
    assert float(gaps["gen_gap", "plr"]["mean"]) == pytest.approx(0.35)
    assert gaps["gen_gap", "plr"]["paper_mean"] == "0.24"
    assert gaps["jsd_distance", "vae-dred"]["paper_spread"] == "0.01"
    assert gaps["mutual_information", "plr"]["paper_mean"] == ""


def test_build_1_the_page_says_what_is_the_papers(said):
    page = page_of(said, [])
    assert '<span class="extra paper">paper 0.82 ± 0.02</span>' in page
    assert "After “paper”: what the paper prints" in page


def test_build_1_other_levels_are_not_compared_with_the_papers(small_suites):
    for name in ("mean-return", "solved-rate", "gaps", "summary-test"):
        assert {row["paper_mean"] for row in rows_of(small_suites.tables[name])} == {""}
        assert not any(cell.paper for row in small_suites.tables[name].rows for cell in row)
    note = small_suites.tables["mean-return"].note
    assert "train (12 levels here, 512 in the paper)" in note


@pytest.fixture
def small_suites(level_files, tmp_path, without_figures):
    from tests.reports.conftest import write_method

    run = write_method(tmp_path, "plr", level_files)
    return compute(gather([run.path]), episodes=0)


def test_build_1_paper_numbers_are_shares_and_finite():
    for (measure, _, _), known in table().items():
        assert math.isfinite(known.mean) and abs(known.mean) <= 1.0, measure
