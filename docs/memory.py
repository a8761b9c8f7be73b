"""How many bytes training takes: counted in the arrays' own shapes, without making most of them.

python docs/memory.py     # the table of docs/scaling.md
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from dred.levels import make
from dred.presets import train_config
from dred.replay.buffer import new_buffer
from dred.task import RunContext
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.phases import rollout_from_buffer
from dred.training.state import Setup, new_setup, new_state, run_key, store

PRESETS = ("paper", "laptop")
SIZES = {"15×15": 13, "45×45": 43}  # cells on a side without the wall


def bytes_of(tree: Any) -> int:  # noqa: ANN401  (any pytree)
    """Return the bytes of all arrays of a pytree."""
    arrays = [leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in arrays)


def some_levels(cells: int = 13) -> Level:
    """Return two levels of a size."""
    levels = make("cave-escape-train", count=2, size=cells).levels
    return Level(*(jnp.asarray(part) for part in levels))


def setup_of(preset: str, num_envs: int) -> Setup:
    """Return what a preset is with so many agents."""
    config = train_config("plr", preset, GRIDWORLD.budgets)
    ppo = replace(config.ppo, num_envs=num_envs, num_minibatches=1)
    return new_setup(replace(config, ppo=ppo, devices=1), GRIDWORLD)


def of_learner(preset: str) -> int:
    """Return the bytes of the weights and of what the optimiser keeps, which all agents share."""
    return bytes_of(new_state(setup_of(preset, 2), some_levels(), key=run_key(0)).learner)


def of_agent(preset: str) -> int:
    """Return the bytes of what one agent sees and does in a rollout, with its advantages."""

    def played(num_envs: int) -> int:
        setup, levels = setup_of(preset, num_envs), some_levels()
        state = new_state(setup, levels, key=run_key(0))
        play = partial(rollout_from_buffer, context=RunContext(levels), setup=setup, key=run_key(0))
        found = jax.eval_shape(lambda state: play(state), state)
        return bytes_of((found.rollout, found.advantage))

    return (played(4) - played(2)) // 2


def of_buffer_level(cells: int) -> int:
    """Return the bytes of a slot of the buffer: the level, laid out for playing, and its scores."""
    levels = some_levels(cells)
    stored = store(setup_of("paper", 2), levels)
    optimal = jnp.ones(2)
    return (
        bytes_of(new_buffer(stored, optimal, 4)) - bytes_of(new_buffer(stored, optimal, 2))
    ) // 2


def main() -> None:
    """Print the table."""
    for preset in PRESETS:
        print(f"{preset}: weights and optimiser {of_learner(preset):,} bytes, ", end="")
        print(f"rollout of an agent {of_agent(preset):,} bytes")
    for name, cells in SIZES.items():
        print(f"level of {name} in the buffer: {of_buffer_level(cells):,} bytes")


if __name__ == "__main__":
    main()
