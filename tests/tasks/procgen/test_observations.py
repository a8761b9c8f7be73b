"""Pictures of what the agent sees in any levels of any game."""

import numpy as np
import pytest
from PIL import Image

from dred.cli import main
from dred.errors import ConfigError
from dred.tasks.procgen import ProcgenLevels
from dred.tasks.procgen.observations import observations_of
from dred.tasks.procgen.simulator import start

pytest.importorskip("procgen")


@pytest.fixture(scope="module", autouse=True)
def library_stays_loaded():
    simulator = start("maze", 1, difficulty="easy", level=0)
    yield
    del simulator


def shown(path, per_row, index, scale):
    """One of the observations in a picture, back at its own size."""
    row, column = divmod(index, per_row)
    top, left = 34 + 22 + row * (64 * scale + 22 + 10), 10 + column * (64 * scale + 10)
    picture = np.array(Image.open(path))
    return picture[top : top + 64 * scale : scale, left : left + 64 * scale : scale]


def test_procgen_levels_are_shown_as_stock_procgen_shows_them(tmp_path, capsys):
    levels = [0, 7, 199, 12_345, 2]
    words = ["levels", "show", "procgen/maze", "--levels", *map(str, levels), "--per-row", "3"]
    main([*words, "--cell", "3", "--out", str(tmp_path / "maze.png")])
    for index, level in enumerate(levels):
        stock = start("maze", 1, difficulty="easy", level=level).observe()[1]["rgb"][0]
        seen = shown(tmp_path / "maze.png", per_row=3, index=index, scale=3)
        np.testing.assert_array_equal(seen, stock)
    assert "5 levels of maze (easy), at the start" in capsys.readouterr().out


def test_procgen_levels_after_some_steps_are_still_those_levels():
    # In leaper, a careless frog is soon dead; the same level then begins again.
    levels, steps = [3, 4, 5, 6], 150
    seen = observations_of("leaper", levels, steps=steps, seed=1)
    envs, ended = ProcgenLevels("leaper", 4), np.zeros(4, bool)
    now = envs.reset_to(levels)
    random = np.random.default_rng(1)
    for _ in range(steps):
        now = envs.step(random.integers(15, size=4), lambda slots: np.array(levels)[slots])
        ended |= now.ended
    assert ended.any()
    assert now.level.tolist() == levels
    np.testing.assert_array_equal(seen, now.image)
    assert (observations_of("leaper", levels) != seen).any(axis=(1, 2, 3)).all()


def test_procgen_levels_differ_with_the_difficulty():
    easy, hard = (observations_of("maze", [1], difficulty=mode) for mode in ("easy", "hard"))
    assert (easy != hard).any()


def test_procgen_levels_that_are_not_there_are_an_error(tmp_path, capsys):
    with pytest.raises(ConfigError, match="There is no level -1"):
        observations_of("maze", [-1])
    with pytest.raises(ConfigError, match="At least one level"):
        observations_of("maze", [])
    with pytest.raises(SystemExit):
        main(["levels", "show", "procgen/maize", "--out", str(tmp_path / "x.png")])
    assert "Did you mean 'maze'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["levels", "show", "train.npz", "--levels", "3", "--out", str(tmp_path / "x.png")])
    assert "procgen/coinrun" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
