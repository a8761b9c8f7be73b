"""What the demo's page opens with: a sentence that follows from the numbers, and a picture."""

import numpy as np
import pytest

from dred.errors import ConfigError
from dred.levels import make
from dred.reports.gather import gather
from dred.reports.twins import opening_of, over_levels, sentence_of
from tests.reports.made_up import write_run


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        (0.5, 0.9, "percentage points more"),
        (0.9, 0.5, "percentage points fewer"),
        (0.7, 0.71, "too close to tell which is better"),
    ],
)
def test_the_sentence_follows_from_the_interval(ours, theirs, verdict):
    random = np.random.default_rng(0)
    draws = [(random.random(200) < share).astype(float) for share in (ours, theirs)]
    words = sentence_of("uniform", "vae-dred", *draws, num_train=64)
    assert verdict in words
    assert f"(uniform) {draws[0].mean():.1%}" in words
    assert f"(vae-dred) solves {draws[1].mean():.1%} of 200 levels" in words
    low, high = over_levels(draws[1] - draws[0], 0.95)
    assert f"difference {100 * low:+.1f} to {100 * high:+.1f} points" in words


def test_an_interval_over_levels_is_that_of_a_mean():
    values = np.random.default_rng(1).normal(size=400)
    low, high = over_levels(values, 0.95)
    error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.02)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.02)
    assert over_levels(np.ones(5), 0.95) == (1.0, 1.0)


def test_the_picture_has_both_methods_on_levels_seen_and_not_seen(tmp_path):
    levels = make("cave-escape-train", count=6, size=9)
    for method, share in (("uniform", 0.5), ("vae-dred", 1.0)):
        returned = np.where(np.arange(6) < 6 * share, 0.9, 0.0)[None]
        suites = {name: (returned, levels) for name in ("train", "test")}
        write_run(tmp_path / method, method, {}, suites=suites)
    material = gather([tmp_path / "uniform", tmp_path / "vae-dred"])
    opening = opening_of(material, "uniform", "vae-dred")
    assert opening.picture.count("<svg") == 1
    for words in ("solved, of 6 levels trained on", "solved, of 6 levels never seen"):
        assert words in opening.picture
    assert "50.0 percentage points more" in opening.sentence
    with pytest.raises(ConfigError, match="Twins are uniform and plr"):
        opening_of(material, "uniform", "plr")
