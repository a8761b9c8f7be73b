"""Gaps that were measured after training: the file, and what is printed of it."""

import math

import pytest

from dred.errors import DatasetError
from dred.evaluation.measured import Measured, Sizes, as_lines, measured_on, read_gaps, write_gaps
from dred.metrics import in_section
from dred.run_folder import RunFolder

SIZES = Sizes(train=43, test=20, window=100, length=256)


def found(**values):
    """Measurements with an error of 0.01, but for the distance, which has none."""
    return {
        name: Measured(
            value, math.nan if name == "jsd_distance" else 0.01, measured_on(name, SIZES)
        )
        for name, value in values.items()
    }


GAPS = {3: found(gen_gap=0.0625, gen_gap_bound=0.25, jsd_distance=0.5, probe_accuracy=0.137)}


def test_what_is_written_is_read_again(tmp_path):
    run = RunFolder(tmp_path)
    assert read_gaps(run, 12) == {}
    write_gaps(run, 12, {3: found(gen_gap=0.5)}, seed=1)
    path = write_gaps(run, 12, GAPS, seed=0)
    assert path.parent == tmp_path / "evaluation" / "gaps"
    again = read_gaps(run, 12)  # of several, the one with the lowest seed
    assert again.keys() == {3} and again[3].keys() == GAPS[3].keys()
    assert again[3]["gen_gap"] == GAPS[3]["gen_gap"]
    assert math.isnan(again[3]["jsd_distance"].error)
    assert read_gaps(run, 24) == {}
    path.write_text("seed,metric\n3,gen_gap\n")
    with pytest.raises(DatasetError, match="measure again"):
        read_gaps(run, 12)


def test_no_contradictions_each_number_has_its_error_and_what_it_was_measured_on():
    lines = as_lines(GAPS, in_section("gaps", {}))
    assert lines[0] == "seed 3"
    gap, bound, distance, accuracy = (" ".join(line.split()) for line in lines[1:])
    assert gap == "GenGap 0.062 ± 0.010 43 training levels − 20 held-out levels"
    assert bound.startswith("bound on GenGap from estimated I(L; b) 0.250 ± 0.010 43 training")
    assert distance.startswith("Jensen–Shannon distance 0.500 P_Λ over the last 100 updates")
    assert "13.7 ± 1.0 % 43 training levels, 256 steps in each; chance 2.3" in accuracy


def test_no_contradictions_a_gap_above_its_bound_is_explained():
    low = {3: found(gen_gap=0.06, gen_gap_bound=0.0)}
    assert "GenGap is above the bound" in as_lines(low, in_section("gaps", {}))[-1]
    assert not any("above the bound" in line for line in as_lines(GAPS, in_section("gaps", {})))
