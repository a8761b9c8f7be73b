import jax
import numpy as np

from dred.levels import EMPTY, LAVA, MOSS, WALL
from dred.tasks.gridworld.generators.random import random_level
from dred.tasks.gridworld.levels.level import Level, faults


def levels(count, **options):
    make = jax.vmap(lambda key: random_level(13, 13, **{"max_clutter": 60, **options}, key=key))
    return Level(*(np.asarray(part) for part in make(jax.random.split(jax.random.key(0), count))))


def test_random_levels_are_proper():
    assert not any(broken.any() for broken in faults(levels(500)).values())


def test_clutter_is_below_its_limit_and_a_third_of_each_kind():
    made = levels(3000)
    clutter = (made.tiles != EMPTY).sum(axis=(1, 2))
    assert (clutter.min(), clutter.max()) == (0, 59)
    assert abs(clutter.mean() - 29.5) < 1.0
    shares = [(made.tiles == tile).sum() / clutter.sum() for tile in (WALL, LAVA, MOSS)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


def test_goals_and_starts_are_everywhere():
    made = levels(3000)
    for place in (made.goal, made.start):
        assert len({tuple(cell) for cell in place.tolist()}) == 169
        np.testing.assert_allclose(place.mean(axis=0), 6, atol=0.3)
