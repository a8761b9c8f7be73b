"""Results against settings that were varied: lines, figures, tables, reports of many variants."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from dred.presets import METHODS
from dred.reports import grids
from dred.reports.content import compute, steps_of
from dred.reports.gather import gather
from dred.reports.kit.response import is_wide
from dred.reports.kit.table import to_csv
from dred.reports.page import page_of
from tests.reports.conftest import TEST, TRAIN
from tests.reports.made_up import write_run


def varied(method, temperature, staleness=0.3):
    """A method with two settings of its own, called after them as a study does."""
    base = METHODS[method]
    name = f"{method} primary.temperature={temperature} staleness={staleness}"
    primary = replace(base.primary, temperature=temperature)
    return replace(base, name=name, primary=primary, staleness=staleness)


def write_variants(folder, level_files, variants, seeds=(0, 1)):
    """A run for each variant: seed k solves `solved` levels of eight, and k more."""
    paths = []
    for number, (method, solved) in enumerate(variants):
        returned = np.array([[1.0] * (solved + k) + [0.0] * (8 - solved - k) for k in seeds])
        suites = {"train": (np.ones((len(seeds), 12)), TRAIN), "test": (returned, TEST)}
        run = write_run(folder / str(number), method, level_files, seeds=seeds, suites=suites)
        paths.append(run.path)
    return paths


@pytest.fixture(scope="module")
def nine(tmp_path_factory, level_files):
    """Three temperatures × two kinds of staleness, one temperature of another method, and U."""
    grid = [
        (varied("plr", t, s), i + 2 * (s > 0.5))
        for i, t in enumerate((0.1, 0.3, 1.0))
        for s in (0.3, 0.7)
    ]
    others = [(varied("accel-d", 0.1), 5), (METHODS["uniform"], 6)]
    return gather(write_variants(tmp_path_factory.mktemp("grid"), level_files, [*grid, *others]))


def test_methods_that_differ_in_one_number_make_a_line(nine):
    found = {sweep.setting: sweep.lines for sweep in grids.sweeps_of(nine.methods)}
    assert set(found) == {"method.primary.temperature", "method.staleness"}
    lines = found["method.primary.temperature"]
    assert [line.name for line in lines] == ["plr staleness=0.3", "plr staleness=0.7"]
    one = grids.response_of(lines[1], "method.primary.temperature", "test", "solved_rate")
    assert one.values == (0.1, 0.3, 1.0)
    np.testing.assert_allclose(one.results, np.array([[2, 3], [3, 4], [4, 5]]) / 8)
    assert [len(line.methods) for line in found["method.staleness"]] == [2, 2, 2]


def test_the_table_of_settings_has_all_variants_best_first(nine):
    table = grids.grid_table(nine)
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    on_test = [row for row in rows if row["suite"] == "test"]
    assert on_test[0]["method"] == "uniform"
    assert [float(row["mean"]) for row in on_test] == sorted(
        (float(row["mean"]) for row in on_test), reverse=True
    )
    plr = next(row for row in on_test if row["method"].startswith("plr primary.temperature=1.0"))
    assert (plr["method.primary.temperature"], plr["seeds"]) == ("1.0", "2")
    assert table.header[1:4] == ("temperature", "staleness", "Seeds")


def test_runs_of_one_name_are_told_apart_by_what_was_varied(tmp_path, level_files):
    plain = [
        (replace(METHODS["plr"], staleness=s, smoothing=b), 3)
        for s in (0.1, 0.5)
        for b in (0.0, 0.5)
    ]
    material = gather(write_variants(tmp_path, level_files, plain, seeds=(0,)))
    (first, _) = grids.sweeps_of(material.methods)
    assert {line.name for line in first.lines} == {"plr (smoothing 0.0)", "plr (smoothing 0.5)"}


def test_a_report_without_variants_has_no_section_about_them(study, without_figures):
    assert without_figures is None
    material = gather(study[:2])
    assert grids.sweeps_of(material.methods) == [] and grids.grid_table(material) is None
    content = compute(material, episodes=0)
    assert "Settings that were varied" not in page_of(content, [])


def test_a_report_of_many_variants_shows_all_in_a_table_and_the_best_in_detail(
    tmp_path, level_files, monkeypatch, without_figures
):
    assert without_figures is None
    monkeypatch.setattr("dred.reports.grids.draw_responses", lambda *_, **__: None)
    monkeypatch.setattr(grids, "MOST_IN_DETAIL", 3)
    many = [(varied("plr", 0.1 * (k + 1)), k) for k in range(5)]
    material = gather(write_variants(tmp_path, level_files, many, seeds=(0,)))
    content = compute(material, episodes=0)
    assert steps_of(material) == 6
    shown = [method.name for method in content.material.methods]
    assert shown == [many[k][0].name for k in (2, 3, 4)]
    assert len(content.tables["grid"].rows) == 5
    page = page_of(content, [])
    assert "Settings that were varied" in page
    assert "Of 5 methods and variants, the 3 that do best" in page


def test_a_figure_of_a_sweep_is_drawn(nine):
    figures = grids.sweep_drawings(nine)
    assert {one.name for one in figures} == {
        "sweep-method.staleness",
        "sweep-method.primary.temperature",
    }
    assert all(one.wide.startswith("<?xml") and "<svg" in one.narrow for one in figures)
    assert is_wide([0.1, 0.3, 1.0]) and not is_wide([0.2, 0.4]) and not is_wide([0.0, 1.0])
