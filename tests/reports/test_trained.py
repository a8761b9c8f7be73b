"""A report of an agent that was really trained, if only for a moment."""

import pytest
from PIL import Image

from dred.cli import main
from dred.metrics import METRICS, of_features
from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.page import page_of
from dred.reports.write import files_of
from dred.runs import open_run
from dred.tasks.gridworld.task import GRIDWORLD

METHOD = "uniform"


@pytest.fixture(scope="module")
def trained(tmp_path_factory, level_files):
    """An agent, evaluated on levels it has not seen."""
    train, test = (str(level_files[name][0]) for name in ("train", "test"))
    out = tmp_path_factory.mktemp("runs") / METHOD
    levels = ("--levels", train, "--held-out", test)
    main(["train", METHOD, *levels, "--out", str(out), "--preset", "smoke"])
    main(["evaluate", str(out), "--suite", test])
    return out


def test_every_name_that_a_run_logs_is_declared(trained):
    declared = {one.name for one in (*METRICS, *of_features(GRIDWORLD.features))}
    rows = open_run(trained).metrics()
    online = {"online_information", "online_accuracy"}  # of a classifier, which this run has not
    untrained = {name for name in declared if name.startswith("untrained/")}  # not asked for
    of_sizes = {"area"}  # all levels have the same
    assert set(rows[-1]) == declared - online - untrained - of_sizes
    assert set[str]().union(*rows) <= declared


def test_a_trained_agent_plays_in_its_report(trained, tmp_path, without_figures):
    content = compute(gather([trained]))
    (note,) = content.notes
    assert note.startswith("There is only one seed of uniform.")
    episodes = content.episodes[METHOD]
    assert len(episodes) == 2 and len({one.level for one in episodes}) == 2
    files = files_of(content)
    for one in episodes:
        file = tmp_path / "episode.gif"
        file.write_bytes(files[f"episodes/{METHOD}-level-{one.level}.gif"])
        with Image.open(file) as picture:
            assert 1 <= getattr(picture, "n_frames", 1) <= min(one.steps, 120) + 1
    shown = content.buffers[METHOD]
    assert shown is not None and shown.update == 12 and len(shown.kept) == 12
    page = page_of(content, [])
    assert page.count("data:image/gif") == 2 and "prefers-reduced-motion" in page
