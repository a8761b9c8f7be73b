"""A report of suites that were evaluated over training: curves with bands, and their numbers."""

import csv

import numpy as np
import pytest

from dred.errors import DatasetError
from dred.reports.content import compute
from dred.reports.drawings import over_training_drawing
from dred.reports.gather import gather
from dred.reports.kit import drawing
from dred.reports.kit.table import to_csv
from dred.reports.over_training import over_training_of, over_training_table
from dred.reports.page import page_of
from dred.reports.write import files_of
from tests.reports.conftest import TEST, TRAIN, write_method
from tests.reports.made_up import write_suite


def rates(*solved):
    """Returns [seed, level] of the eight test levels, of which each seed solves so many."""
    return np.array([[0.5] * count + [0.0] * (8 - count) for count in solved])


def write_curve(run, by_update, suite="hardcore", dataset=TEST):
    for update, returned in by_update.items():
        write_suite(run, suite, returned, dataset, update=update, over_training=True)


@pytest.fixture
def runs(level_files, tmp_path):
    """Two methods with two seeds, of which the second method lacks an update."""
    plr = write_method(tmp_path, "plr", level_files)
    write_curve(plr, {4: rates(0, 0), 8: rates(2, 6), 12: rates(4, 8)})
    write_curve(plr, {4: rates(1, 1), 12: rates(8, 8)}, "edge")
    uniform = write_method(tmp_path, "uniform", level_files)
    write_curve(uniform, {4: rates(0, 1), 12: rates(1, 1)})
    return plr, uniform


def test_suites_over_training_by_hand(runs):
    material = gather([run.path for run in runs])
    (edge, hardcore), notes = over_training_of(material)
    assert (edge.suite, hardcore.suite) == ("edge", "hardcore") and hardcore.num_levels == 8
    assert edge.solved.keys() == {"plr"} and hardcore.solved.keys() == {"plr", "uniform"}
    updates, mean, error = hardcore.solved["plr"]
    assert updates.tolist() == [4, 8, 12]
    np.testing.assert_allclose(mean, [0, 0.5, 0.75])
    np.testing.assert_allclose(error, [0, 0.25, 0.25])  # rates of 2/8 and 6/8; of 4/8 and 8/8
    np.testing.assert_allclose(hardcore.returned["plr"].mean, [0, 0.25, 0.375])
    np.testing.assert_allclose(hardcore.solved["uniform"].error, [1 / 16, 0])
    (note,) = notes
    assert note.startswith("edge was not evaluated over training") and "uniform" in note
    rows = list(csv.DictReader(to_csv(over_training_table(material, [edge, hardcore])).split("\n")))
    assert len(rows) == 2 + 3 + 2
    mine = next(row for row in rows if (row["suite"], row["update"]) == ("hardcore", "8"))
    assert [float(mine[name]) for name in ("solved_rate", "solved_rate_error")] == [0.5, 0.25]
    assert [float(mine[name]) for name in ("mean_return", "mean_return_error")] == [0.25, 0.125]


def test_the_figure_of_suites_over_training_has_a_panel_a_suite_with_bands(runs, monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "to_svg", lambda figure: figures.append(figure) or "<svg></svg>")
    curves, _ = over_training_of(gather([run.path for run in runs]))
    figure = over_training_drawing(curves)
    assert figure.name == "over-training" and "edge, hardcore" in figure.alt
    edge, hardcore = figures[0].axes
    assert edge.get_title(loc="left") == "Solved, edge (8 levels)"
    np.testing.assert_allclose(hardcore.lines[0].get_ydata(), [0, 0.5, 0.75])
    band = hardcore.collections[0].get_paths()[0].vertices
    assert band[band[:, 0] == 8][:, 1].min() == pytest.approx(0.25)
    assert band[band[:, 0] == 12][:, 1].max() == pytest.approx(1.0)


def test_suites_over_training_are_on_the_page_only_if_there(
    runs, level_files, tmp_path, without_figures
):
    content = compute(gather([run.path for run in runs]), episodes=0)
    page = page_of(content, [])
    assert "Suites over training" in page
    assert {"figures/over-training.svg", "tables/over-training.csv"} <= files_of(content).keys()
    assert any("edge was not evaluated" in note for note in content.notes)
    bare = write_method(tmp_path / "bare", "plr", level_files)
    content = compute(gather([bare.path]), episodes=0)
    assert "over-training" not in content.drawings and "over-training" not in content.tables
    assert "Suites over training" not in page_of(content, [])


def test_seeds_in_several_runs_have_a_curve_at_their_common_updates(level_files, tmp_path):
    first = write_method(tmp_path / "a", "plr", level_files, seeds=(0,))
    second = write_method(tmp_path / "b", "plr", level_files, seeds=(1, 2))
    write_curve(first, {4: rates(0), 8: rates(8)})
    write_curve(second, {4: rates(3, 6), 12: rates(8, 8)})
    (one,), notes = over_training_of(gather([first.path, second.path]))
    assert one.solved["plr"].updates.tolist() == [4] and notes == []
    assert one.solved["plr"].mean.tolist() == [pytest.approx(3 / 8)]


def test_different_levels_over_training_are_not_compared(runs):
    write_curve(runs[1], {8: rates(1, 1)}, dataset=TRAIN[:8])
    with pytest.raises(DatasetError, match="different levels under the same name"):
        over_training_of(gather([run.path for run in runs]))
