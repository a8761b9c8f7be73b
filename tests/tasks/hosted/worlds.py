"""Small environments of Gymnasium's kind, of which everything is known."""

import gymnasium
import numpy as np
from gymnasium import spaces

BOX = {"length": (1.0, 6.0), "pay": (0.0, 1.0)}


class Walk(gymnasium.Env):
    """Go as many steps as the level is long; each pays what the level says, and a bit of chance."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = spaces.Discrete(3, start=1)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.level = {"length": 3.0, "pay": 0.0}
        self.seen = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options is not None:
            self.level = dict(options["level"])
        self.time, self.noise, self.action = 0, float(self.np_random.uniform()), 0
        return self.look(), {}

    def look(self):
        return np.array([self.time + self.noise, self.action], np.float32)

    def step(self, action):
        assert self.action_space.contains(action), action
        self.seen.append(action)
        self.time, self.action = self.time + 1, float(np.sum(action))
        over = self.time >= round(self.level["length"])
        return self.look(), self.level["pay"] / 6.0, bool(over), False, {}

    def render(self):
        return np.zeros((20, 30, 3), np.uint8)


class Late(Walk):
    """Time runs out instead."""

    def step(self, action):
        seen, reward, over, _, info = super().step(action)
        return seen, reward, False, over, info


class Push(Walk):
    """The same, with two numbers as an action."""

    action_space = spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 1.0]), dtype=np.float64)


class Forgetful(Walk):
    """Chance comes from elsewhere than the seed."""

    def look(self):
        return super().look() + np.float32(np.random.default_rng().normal())


class Leftover(Walk):
    """Something of each episode is left over in the next."""

    count = 0

    def reset(self, **more):
        type(self).count += 1
        return super().reset(**more)

    def look(self):
        return super().look() + np.float32(self.count / 100)


class Deaf(Walk):
    """The level is ignored."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


class Outside(Walk):
    """Observations are outside of the space."""

    def look(self):
        return super().look() + 20


class Unsure(Walk):
    """Ends are numbers."""

    def step(self, action):
        seen, reward, over, _, info = super().step(action)
        return seen, reward, int(over), False, info


class Blind(Walk):
    """There is no picture."""

    def render(self):
        return None


class Endless(Walk):
    """Episodes never end."""

    def step(self, action):
        seen, reward, _, _, info = super().step(action)
        return np.clip(seen, -10, 10), reward, False, False, info


class Failing(Walk):
    """The second step fails."""

    def step(self, action):
        if self.time:
            raise RuntimeError("the gears are stuck")
        return super().step(action)


def make_walk(render_mode=None):
    return Walk(render_mode)


def make_push():
    return Push()


def make_failing():
    return Failing()


def set_level(env, level):
    env.unwrapped.level = level
