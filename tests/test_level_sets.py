"""`dred levels split`, `filter` and `concatenate`."""

import numpy as np
import pytest

from dred.cli import main
from dred.errors import ConfigError, DatasetError, DredError
from dred.levels import concatenate, from_levels, from_text, level_metrics, load, make


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "all.npz"
    make("cave-escape-train", count=20, size=9).save(path)
    return path


def levels(*words):
    main(["levels", *map(str, words), "--debug"])


def test_a_set_is_cut_in_two_and_put_together_again(whole, tmp_path, capsys):
    out = [tmp_path / "a.npz", tmp_path / "b.npz"]
    levels("split", whole, "--share", "0.7", "--out", *out, "--seed", "3")
    parts = [load(path) for path in out]
    assert [part.digest for part in parts] == [
        part.digest for part in load(whole).split(0.7, seed=3)
    ]
    assert "14 levels" in capsys.readouterr().out
    levels("concatenate", *out, "--out", tmp_path / "c.npz")
    assert load(tmp_path / "c.npz").digest == concatenate(parts).digest


def test_levels_that_pass_are_kept(whole, tmp_path):
    dataset = load(whole)
    path = level_metrics(dataset.levels).path
    middle = int(np.median(path))
    levels("filter", whole, "--longest", middle, "--out", tmp_path / "short.npz")
    levels("filter", whole, "--shortest", middle + 1, "--out", tmp_path / "long.npz")
    assert load(tmp_path / "short.npz").digest == dataset[path <= middle].digest
    assert load(tmp_path / "long.npz").digest == dataset[path > middle].digest
    levels("filter", whole, "--structures", "maze_wall", "--out", tmp_path / "maze.npz")
    assert load(tmp_path / "maze.npz").structures == ["maze_wall"]
    drawn = [from_text("S#G"), from_text("S.G"), from_text("S.G")]
    from_levels(drawn).save(tmp_path / "drawn.npz")
    out = tmp_path / "kept.npz"
    levels("filter", tmp_path / "drawn.npz", "--solvable", "--different", "--out", out)
    assert load(out).digest == from_levels([from_text("S.G")]).digest


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["split", "{all}", "--share", "1.5", "--out", "a.npz", "b.npz"], ConfigError, "--share"),
        (["split", "{all}", "--out", "a.npz", "a.npz"], ConfigError, "twice"),
        (["split", "{all}", "--out", "a.npz", "{all}"], DredError, "is what is read"),
        (["filter", "{all}", "--shortest", "999", "--out", "a.npz"], DatasetError, "No level"),
        (["filter", "{all}", "--structures", "maze", "--out", "a.npz"], ConfigError, "maze_wall"),
        (["concatenate", "{all}", "{all}", "--out", "a.npz"], DatasetError, "more than once"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(
    words, error, message, whole, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        levels(*(word.format(all=whole) for word in words))
    assert not list(tmp_path.iterdir())
