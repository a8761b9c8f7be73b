"""Replay as a small library, for any trainer."""

import numpy as np
import pytest

import dred
from dred.errors import ConfigError
from dred.presets import METHODS
from dred.replay.level_buffer import LevelBuffer


def scored(scores, method="plr", seed=0):
    buffer = LevelBuffer(len(scores), method, seed=seed)
    for level, score in enumerate(scores):
        buffer.report(level, score)
    return buffer


def test_every_level_is_drawn_once_before_any_is_drawn_by_its_score():
    buffer = LevelBuffer(8)
    drawn = [buffer.draw() for _ in range(8)]  # as by many environments, before the first report
    assert sorted(drawn) == list(range(8))
    for level in drawn:
        buffer.report(level, 1.0)
    assert buffer.probabilities().min() > 0


def test_a_high_score_is_drawn_more_often_and_as_often_as_said():
    buffer = scored([0.1, 0.2, 5.0, 0.3])
    assert buffer.probabilities().argmax() == 2
    uniform = scored([0.1, 0.2, 5.0, 0.3], "uniform")
    counts = np.bincount([uniform.draw() for _ in range(400)], minlength=4)
    assert counts.min() > 70


def test_what_was_not_drawn_for_long_becomes_more_probable():
    buffer = scored([1.0, 2.0, 3.0])
    for _ in range(5):
        buffer.draw()
    age = np.asarray(buffer.state.staleness)
    before = buffer.probabilities()[age.argmax()]
    assert before > 0.0
    assert age.max() > age.min()


def test_the_second_term_comes_in_with_progress():
    method = dred.Method(
        "mine",
        primary=dred.Term("mine"),
        secondary=dred.Term("other"),
        eta=dred.Schedule(0.0, 1.0),
        staleness=0.0,
    )
    buffer = LevelBuffer(2, method)
    buffer.report(0, 1.0, secondary=0.0)
    buffer.report(1, 0.0, secondary=1.0)
    assert buffer.probabilities(0.0).argmax() == 0
    assert buffer.probabilities(1.0).argmax() == 1


def test_the_same_seed_draws_the_same_levels():
    first, again, other = (
        [buffer.draw() for _ in range(30)]
        for buffer in (scored(range(9), seed=1), scored(range(9), seed=1), scored(range(9), seed=2))
    )
    assert first == again != other


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="no level 4"):
        scored([1.0, 2.0]).report(4, 1.0)
    with pytest.raises(ConfigError, match="at least 1"):
        LevelBuffer(0)
    with pytest.raises(ConfigError, match="Did you mean 'plr'"):
        LevelBuffer(3, "prl")
    assert dred.replay.LevelBuffer is LevelBuffer
    assert "plr" in METHODS


def test_a_score_that_is_not_finite_is_not_taken():
    buffer = scored([1.0, float("nan")])
    assert buffer.draw() == 1  # it still has no score
