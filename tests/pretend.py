"""A game on the host of which everything is known: level k lasts k % 5 + 1 steps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dred.config import AgentConfig
from dred.host import Moment
from dred.level_table import TableFormat
from dred.presets import METHODS
from dred.task import RunContext, Task
from dred.tasks.procgen.network import new_image_agent
from dred.tasks.procgen.presets import PROCGEN_BUDGETS
from dred.training.simulators import simulators_of
from dred.training.state import new_setup, new_state

SMOKE = PROCGEN_BUDGETS["smoke"]


class PretendSlots:
    """Pixels show the level and the step; the last step of an episode pays level + 1."""

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.level = self.at = np.zeros(num_envs, np.int32)
        self.moment = None
        self.actions = []

    def observe(self):
        return self.moment

    def _show(self, reward, ended):
        image = np.zeros((self.num_envs, 64, 64, 3), np.uint8)
        image[:, 0, 0, 0], image[:, 0, 0, 1] = self.level, self.at
        self.moment = Moment(image, reward.astype(np.float32), ended, np.zeros_like(ended))
        return self.moment

    def reset_to(self, levels):
        self.level = np.asarray(levels["level"], np.int32)
        self.at = np.zeros(self.num_envs, np.int32)
        return self._show(np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_))

    def step(self, actions, next_levels):
        self.actions.append(np.asarray(actions))
        ended = self.at == self.level % 5
        reward = np.where(ended, self.level + 1.0, 0.0)
        self.at = np.where(ended, 0, self.at + 1).astype(np.int32)
        if ended.any():
            slots = np.flatnonzero(ended)
            self.level = self.level.copy()
            self.level[slots] = next_levels(slots)["level"]
        return self._show(reward, ended)

    def save(self):
        return {"level": self.level, "at": self.at, "ended": self.moment.terminated}

    def restore(self, saved):
        self.level, self.at = saved["level"], saved["at"]
        return self._show(np.zeros(self.num_envs), saved["ended"])


@dataclass(frozen=True)
class PretendEnvironment:
    kind: Any = PretendSlots
    num_actions: int = 15
    saved: Sequence[str] = ("level", "at", "ended")
    opened: list = field(default_factory=list, compare=False)

    def need(self):
        """Nothing."""

    def open(self, num_envs, *, seed=0):
        self.opened.append(self.kind(num_envs))
        return self.opened[-1]

    def prepare(self, levels):
        return {name: jnp.asarray(column) for name, column in levels.items()}

    def num_levels(self, world):
        return len(world["level"])


def pretend_task(kind=PretendSlots):
    return Task(
        name="pretend",
        environment=PretendEnvironment(kind),
        level_format=TableFormat("level"),
        new_agent=lambda config, key: new_image_agent(
            "patches", hidden_size=config.hidden_size, key=key
        ),
        budgets=PROCGEN_BUDGETS,
    )


def begun(method="value-l1", *, num_levels=8, kind=PretendSlots, base=SMOKE, **changes):
    """A run before its first update: state, context and setup."""
    chosen = METHODS[method] if isinstance(method, str) else method
    config = replace(base, method=chosen, **changes)
    setup = new_setup(config, pretend_task(kind))
    levels = {"level": jnp.arange(num_levels, dtype=jnp.int32)}
    state = new_state(setup, levels, key=jax.random.key(0))
    simulators = simulators_of(setup, (0,))
    for slots in simulators.values():
        slots.reset_to({"level": np.arange(slots.num_envs) % num_levels})
    return state, RunContext(levels, simulators=simulators), setup


SMALL_AGENT = AgentConfig(memory="none", hidden_size=16)
