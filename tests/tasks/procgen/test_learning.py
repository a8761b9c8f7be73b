"""A game so simple that learning must show at once."""

from dataclasses import replace

import jax
import numpy as np

from dred.tasks.procgen.levels import Moment, ProcgenLevels
from dred.tasks.procgen.presets import procgen_config
from dred.tasks.procgen.state import new_setup, new_state
from dred.tasks.procgen.update import update

FOR_BRIGHT, FOR_DARK = 3, 7  # the actions that pay


class Lights(ProcgenLevels):
    """Every image is bright or dark; the right action for it pays 1, and then comes another."""

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.random = np.random.default_rng(0)
        self.show(np.zeros(num_envs))

    def show(self, reward):
        self.bright = self.random.random(self.num_envs) < 0.5
        base = np.where(self.bright, 200, 30)[:, None, None, None]
        image = base + self.random.integers(50, size=(self.num_envs, 64, 64, 3))
        ended = np.ones(self.num_envs, np.bool_)
        level = np.zeros(self.num_envs, np.int32)
        self._now = Moment(image.astype(np.uint8), level, reward.astype(np.float32), ended)
        return self._now

    def step(self, actions, next_levels):
        return self.show(np.asarray(actions) == np.where(self.bright, FOR_BRIGHT, FOR_DARK))


def test_an_agent_learns_which_action_an_image_asks_for():
    laptop = procgen_config("bigfish", "uniform", "laptop")
    small = replace(laptop.ppo, num_envs=16, num_steps=16)
    config = replace(laptop, ppo=small, watch_envs=2, watch_steps=4, num_levels=2)
    setup = new_setup(config)
    state = new_state(setup, key=jax.random.key(0))
    envs, watched = Lights(16), Lights(4)
    rates = []
    for number in range(10):
        key = jax.random.fold_in(jax.random.key(1), number)
        state, metrics = update(state, envs, watched, setup=setup, key=key)
        returned = metrics.learned.returned
        rates.append(float(returned.total) / int(returned.episodes))
    assert rates[0] < 0.2  # one in fifteen, by chance
    assert max(rates) > 0.6
