"""A game without a simulator, of which everything is known: level k lasts k % 5 + 1 steps."""

import numpy as np

from dred.tasks.procgen.levels import Moment, ProcgenLevels


class PretendLevels(ProcgenLevels):
    """Pixels show the level and the step; the last step of an episode pays level + 1."""

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.at = np.zeros(num_envs, np.int32)
        self._now = None
        self.actions = []

    def _show(self, level, reward, ended):
        image = np.zeros((self.num_envs, 64, 64, 3), np.uint8)
        image[:, 0, 0, 0], image[:, 0, 0, 1] = level, self.at
        self._now = Moment(image, level, reward.astype(np.float32), ended)
        return self._now

    def reset_to(self, levels):
        self.at = np.zeros(self.num_envs, np.int32)
        nothing = np.zeros(self.num_envs)
        return self._show(np.asarray(levels, np.int32), nothing, nothing.astype(bool))

    def step(self, actions, next_levels):
        self.actions.append(np.asarray(actions))
        level = self.now.level
        ended = self.at == level % 5
        reward = np.where(ended, level + 1.0, 0.0)
        self.at = np.where(ended, 0, self.at + 1).astype(np.int32)
        if ended.any():
            slots = np.flatnonzero(ended)
            level = level.copy()
            level[slots] = next_levels(slots)
        return self._show(level, reward, ended)
