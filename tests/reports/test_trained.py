"""A report of agents that were really trained, if only for a moment."""

from pathlib import Path

import pytest
from PIL import Image

from dred.cli import main
from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.page import page_of
from dred.reports.write import files_of


@pytest.fixture(scope="module")
def trained(tmp_path_factory, level_files):
    """Two seeds of el-dred, evaluated on levels they have not seen."""
    train, test = (str(level_files[name][0]) for name in ("train", "test"))
    out = str(tmp_path_factory.mktemp("runs") / "el-dred")
    main(
        ["train", "el-dred", "--levels", train, "--held-out", test, "--out", out]
        + ["--preset", "smoke", "--seeds", "0", "1"]
    )
    main(["evaluate", out, "--suite", test])
    return Path(out)


def test_trained_agents_play_in_their_report(trained, tmp_path, without_figures):
    content = compute(gather([trained]))
    assert content.notes == ()
    episodes = content.episodes["el-dred"]
    assert len(episodes) == 2 and len({one.level for one in episodes}) == 2
    files = files_of(content)
    for one in episodes:
        file = tmp_path / "episode.gif"
        file.write_bytes(files[f"episodes/el-dred-level-{one.level}.gif"])
        frames = getattr(Image.open(file), "n_frames", 1)
        assert 1 <= frames <= min(one.steps, 120) + 1
    shown = content.buffers["el-dred"]
    assert shown is not None and shown.update == 12 and len(shown.kept) == 12
    page = page_of(content, [])
    assert page.count("image/gif") == 2 and "prefers-reduced-motion" in page
