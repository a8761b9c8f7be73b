"""The tables and the picture of a search: what the bound says of the levels."""

import csv
import io
import math

import pytest
from scipy.stats import kendalltau, pearsonr

from dred.reports import sweep
from dred.reports.kit.table import to_csv, to_markdown


def candidate(number, bound, solvable, shift, **others):
    return {
        "number": number,
        "fits": 1,
        "bound": bound,
        "bound_fitted": 2.0 * bound,
        "bound_released": -bound,
        "solvable": solvable,
        "shift": shift,
        "shift_held_out": math.nan,
        "novel": 1.0,
        "settings": {"beta": 0.1, "encoder_sizes": (8, 8)},
        **others,
    }


FOUR = [
    candidate(2, 4.0, 0.4, 0.10),
    candidate(0, 3.0, 0.2, 0.20),
    candidate(3, 2.0, 0.3, 0.30),
    candidate(1, 1.0, 0.1, 0.70),
]


def test_the_sweep_correlates_the_bound_with_solvability_and_js_distance_by_hand():
    found = {(one.bound, one.outcome): one.found for one in sweep.relations(FOUR)}
    assert len(found) == 6  # three bounds; without held-out levels two outcomes
    solvable = found["bound", "solvable"]
    assert solvable.points == 4
    # 4 3 2 1 beside 4 2 3 1: (1.5² − .5² − .5² + 1.5²) / (2 · 1.5² + 2 · .5²), one pair of six off
    assert solvable.pearson == pytest.approx(4 / 5)
    assert solvable.kendall == pytest.approx((5 - 1) / 6)
    assert found["bound_fitted", "solvable"].pearson == pytest.approx(4 / 5)
    assert found["bound_released", "solvable"].kendall == pytest.approx(-(5 - 1) / 6)
    shift = found["bound", "shift"]
    x, y = [4, 3, 2, 1], [0.1, 0.2, 0.3, 0.7]
    assert shift[1:3] == pytest.approx(tuple(pearsonr(x, y)))
    assert shift[3:5] == pytest.approx(tuple(kendalltau(x, y)))
    assert shift.kendall == pytest.approx(-1)


def test_the_sweep_correlates_without_fits_that_came_to_nothing():
    rows = [*FOUR, candidate(4, math.nan, 0.9, 0.9)]
    assert sweep.relations(rows) == sweep.relations(FOUR)
    alike = [candidate(i, float(i), 1.0, 0.1 * i) for i in range(4)]
    assert math.isnan(sweep.relations(alike)[0].found.pearson)  # all solvable: nothing to tell
    assert "–" in to_markdown(sweep.relation_table(alike))
    held_out = [{**row, "shift_held_out": 0.01 * row["number"]} for row in FOUR]
    assert {one.outcome for one in sweep.relations(held_out)} == set(sweep.OUTCOMES)


def test_the_sweep_is_written_with_a_scatter_plot(tmp_path):
    rows = list(csv.DictReader(io.StringIO(to_csv(sweep.candidate_table(FOUR)))))
    assert [row["number"] for row in rows] == ["2", "0", "3", "1"]
    assert rows[0]["encoder_sizes"] == "(8, 8)" and rows[0]["shift_held_out"] == ""
    (first, *_) = csv.DictReader(io.StringIO(to_csv(sweep.relation_table(FOUR))))
    assert (first["bound"], first["outcome"], first["points"]) == ("bound", "solvable", "4")
    assert float(first["pearson"]) == pytest.approx(0.8)
    assert "| bound, held back (nats) | solvable | 4 | 0.800 (p 0.2) | 0.667 (p 0.33) |" in (
        to_markdown(sweep.relation_table(FOUR))
    )
    sweep.scatter(FOUR, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    sweep.scatter(FOUR[:1], tmp_path / "one.png")  # a search of one can be drawn too
