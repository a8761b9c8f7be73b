"""A study of eight methods, written by hand and reported once."""

import numpy as np
import pytest

from dred.levels import make
from dred.reports.write import make_report
from tests.reports.made_up import family, metric_rows, write_run

METHODS = ("uniform", "plr", "dr", "rplr", "accel", "accel-d", "el-dred", "vae-dred")
TRAIN = make("cave-escape-train", count=12, size=9)
TEST = make("cave-escape-test", count=8, size=9)
# Every level of a suite is worth the same to one agent: its seed's share of the method's number.
BASE = dict(zip(METHODS, (0.5, 0.6, 0.3, 0.2, 0.25, 0.4, 0.7, 0.8), strict=True))


@pytest.fixture(scope="session")
def level_files(tmp_path_factory):
    """The files of the training and the held-out levels, with their digests."""
    folder = tmp_path_factory.mktemp("levels")
    files = {"train": (folder / "train.npz", TRAIN), "test": (folder / "test.npz", TEST)}
    for file, dataset in files.values():
        dataset.save(file)
    return {name: (file, dataset.digest) for name, (file, dataset) in files.items()}


def returns_of(method, count, seeds=2):
    """Constant rows: one a little below, one a little above the method's own number."""
    return np.stack([np.full(count, BASE[method] + 0.02 * (k % 2 * 2 - 1)) for k in range(seeds)])


METRICS = (
    *("solved_rate/train", "solved_rate/test", "solved_rate/replay"),
    *("return/train", "return/test", "return/replay"),
    *("gen_gap", "shift_gap", "jsd_distance", "jsd_divergence"),
    *("mutual_information", "gen_gap_bound", "probe_accuracy"),
    *("path", "moss_density", "lava_density"),
    *("solvable_mass", "dataset_mass", "effective_levels"),
)


def metrics_of(method, seeds):
    """Every metric that a report draws, at three updates."""
    updates = [4, 8, 12]
    return [
        row
        for seed in seeds
        for row in metric_rows(
            seed,
            updates,
            {name: [BASE[method] * u / 12 + 0.01 * seed for u in updates] for name in METRICS},
        )
    ]


def write_method(folder, method, level_files, *, seeds=(0, 1), **changes):
    """One made-up run of a method."""
    given = {
        "seeds": seeds,
        "suites": {
            "train": (returns_of(method, 12, len(seeds)), TRAIN),
            "test": (returns_of(method, 8, len(seeds)), TEST),
        },
        "rows": metrics_of(method, seeds),
        "kept": {12: family(TRAIN)},
        **changes,
    }
    return write_run(folder / method, method, level_files, **given)


@pytest.fixture(scope="session")
def study(tmp_path_factory, level_files):
    """Eight methods with two seeds each."""
    folder = tmp_path_factory.mktemp("runs") / "<b>&runs"
    return [write_method(folder, method, level_files).path for method in METHODS]


@pytest.fixture(scope="session")
def report(study, tmp_path_factory):
    """Their report."""
    out = tmp_path_factory.mktemp("out") / "R"
    make_report(study, out)
    return out


@pytest.fixture
def without_figures(monkeypatch):
    """Figures take most of the time; where they do not matter, draw none."""
    monkeypatch.setattr("dred.reports.kit.drawing.to_svg", lambda figure: "<svg></svg>")
    monkeypatch.setattr("dred.reports.kit.chart.draw_bars", lambda *_, **__: None)
    monkeypatch.setattr("dred.reports.kit.chart.draw_lines", lambda *_, **__: None)
    monkeypatch.setattr("dred.reports.kit.scatter.draw_scatter", lambda *_, **__: None)
