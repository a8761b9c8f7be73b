"""The figures of zero-shot generalisation: standard errors, example layouts, and the ablation."""

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from dred.reports.content import compute
from dred.reports.drawings import (
    ABLATION,
    aggregate_drawing,
    draw_all,
    pair_drawing,
    solved_drawing,
)
from dred.reports.gather import gather
from dred.reports.kit import drawing as kit
from dred.reports.page import page_of
from dred.reports.pictures import SIDE
from dred.reports.results import improvements_of, results_of, standard_error
from dred.tasks.gridworld.levels.render import draw_level
from dred.tasks.gridworld.task import cell_of
from tests.reports.conftest import TEST, TRAIN, write_method


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is drawn, as Matplotlib has it."""
    seen = []
    monkeypatch.setattr(kit, "to_svg", lambda figure: seen.append(figure) or "<svg></svg>")
    return seen


def solved_in(*counts):
    """Returns [seed, level] of the eight test levels, of which each seed solves so many."""
    return np.array([[0.5] * count + [0.0] * (8 - count) for count in counts])


def panel_of(figure, title):
    return next(axis for axis in figure.axes if axis.get_title(loc="left").startswith(title))


def error_bars(axis):
    """The ends of each bar of one standard error, from the top."""
    bars = [one for one in axis.containers if isinstance(one, ErrorbarContainer)]
    return [bar.lines[2][0].get_segments()[0][:, 0].tolist() for bar in bars]


def test_zsg_solved_rates_have_bars_of_one_standard_error_over_seeds(
    level_files, tmp_path, figures
):
    # Rates of 1/4 and 3/4 deviate by √2/4, which is an error of 1/4; 3/8, 3/8 and 6/8 by √3/8.
    runs = [
        write_method(tmp_path, "plr", level_files, suites={"test": (solved_in(2, 6), TEST)}),
        write_method(
            tmp_path,
            "uniform",
            level_files,
            seeds=(0, 1, 2),
            suites={"test": (solved_in(3, 3, 6), TEST)},
        ),
    ]
    material = gather([run.path for run in runs])
    results = results_of(material)
    expected = [[0.25, 0.75], [0.5 - 1 / 8, 0.5 + 1 / 8]]
    solved_drawing(results, material.suites)
    aggregate_drawing(results, material.suites[0])
    titles = ("test, 8 levels", "test, 8 levels", "Solved", "Solved")  # wide, narrow
    for figure, title in zip(figures, titles, strict=True):
        np.testing.assert_allclose(error_bars(panel_of(figure, title)), expected)
    assert not error_bars(panel_of(figures[2], "Mean return"))  # as in the paper
    assert standard_error(np.array([0.25, 0.75])) == pytest.approx(0.25)


def test_zsg_solved_rates_of_one_seed_have_no_error_bars(level_files, tmp_path, figures):
    suites = {"test": (solved_in(4), TEST)}
    run = write_method(tmp_path, "plr", level_files, seeds=(3,), suites=suites)
    material = gather([run.path])
    solved_drawing(results_of(material), material.suites)
    assert error_bars(panel_of(figures[0], "test")) == []
    assert np.isnan(standard_error(np.array([0.5])))


def layout(dataset, number):
    return draw_level(dataset[number], cell=cell_of(dataset[number], SIDE))


def test_zsg_example_layouts_stand_beside_each_set(study, figures):
    material = gather(study)
    results = results_of(material)
    for suite, dataset in zip(material.suites, (TRAIN, TEST), strict=True):
        figures.clear()
        aggregate_drawing(results, suite)
        for figure in figures:  # on wide and on narrow pages
            (axis,) = [axis for axis in figure.axes if axis.images]
            shown = axis.images[0].get_array()
            first, last = layout(dataset, 0), layout(dataset, len(dataset) - 1)
            np.testing.assert_array_equal(shown[: len(first), :, :3], first)
            np.testing.assert_array_equal(shown[-len(last) :, :, :3], last)
            middle = len(dataset) // 2 if len(dataset) % 2 else round((len(dataset) - 1) / 2)
            between = slice(len(first) * 11 // 10, len(first) * 11 // 10 + len(first))
            np.testing.assert_array_equal(shown[between, :, :3], layout(dataset, middle))
            figure.draw_without_rendering()
            panel = panel_of(figure, "Mean return")
            assert axis.get_position().x1 < panel.get_position().x0
    figures.clear()
    solved_drawing(results, material.suites)
    for figure in figures:
        pictures = [axis.images[0].get_array() for axis in figure.axes if axis.images]
        for shown, dataset in zip(pictures, (TRAIN, TEST), strict=True):
            np.testing.assert_array_equal(shown[: len(first), :, :3], layout(dataset, 0))


def test_zsg_layouts_have_room_beside_a_single_method(level_files, tmp_path):
    suites = {"test": (solved_in(2, 6), TEST)}
    material = gather([write_method(tmp_path, "plr", level_files, suites=suites).path])
    drawing = aggregate_drawing(results_of(material), material.suites[0])  # warnings are errors
    for svg in (drawing.wide, drawing.narrow):
        assert svg.count("data:image/png") == 1 and "image-rendering" not in svg


def test_zsg_sets_whose_levels_are_not_there_have_no_layouts(level_files, tmp_path, figures):
    suites = {"else": (solved_in(2, 6), TEST)}
    run = write_method(tmp_path, "plr", level_files, suites=suites, with_levels=False)
    material = gather([run.path])
    aggregate_drawing(results_of(material), material.suites[0])
    assert not any(axis.images for figure in figures for axis in figure.axes)


def test_zsg_vae_dred_against_el_dred_is_a_figure_whenever_both_are_there(study, figures):
    material = gather(study)
    (drawing,) = pair_drawing(improvements_of(material), *ABLATION)
    assert drawing.name == "vae-dred-against-el-dred"
    (axis,) = figures[0].axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["train", "test"]
    # Runs of 0.78 and 0.82 against 0.68 and 0.72 win in every level, whichever are drawn: a dot
    # without an interval.
    marks = [float(x) for dot in axis.lines if dot.get_marker() == "o" for x in dot.get_xdata()]
    assert marks == pytest.approx([1.0, 1.0])
    names = [one.name for one in draw_all(material, results_of(material), [], [])]
    assert drawing.name not in names
    alone = gather([path for path in study if path.name != "el-dred"])
    assert pair_drawing(improvements_of(alone), *ABLATION) == []


def test_zsg_figures_are_on_the_page(level_files, tmp_path, without_figures):
    methods = ("el-dred", "vae-dred")
    runs = [write_method(tmp_path, method, level_files) for method in methods]
    content = compute(gather([run.path for run in runs]), episodes=0)
    page = page_of(content, [])
    assert "<h3>vae-dred against el-dred</h3>" in page
    assert "the lines with ends are one standard error over seeds" in page
    assert "beside example levels of each suite" in page
    alone = compute(gather([runs[0].path]), episodes=0)
    assert "vae-dred against el-dred" not in page_of(alone, [])
