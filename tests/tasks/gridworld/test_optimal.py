"""The best that can be done in a level, against brute force with the environment itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from dred.envs import GridworldEnvironment
from dred.levels import from_text, make
from dred.tasks.gridworld.environment import time_limit
from dred.tasks.gridworld.levels.level import Level, as_batch
from dred.tasks.gridworld.levels.paths import start_distances
from dred.tasks.gridworld.optimal import FAR, optimal_returns, steps_to_goal
from tests.strategies import levels as any_levels

ENV = GridworldEnvironment(max_steps=10_000)
move = jax.jit(ENV.step)  # one program for each size
returns_of = jax.jit(optimal_returns, static_argnums=1)


def brute_force(level, heading):
    """Actions to the goal by trying them all, breadth first, in the environment."""
    world = ENV.prepare(as_batch(level))
    frontier = [ENV.start(world, jnp.int32(0), jnp.int32(heading))]
    seen = set()
    steps = 0
    while frontier:
        steps += 1
        after = []
        for state in frontier:
            for action in (0, 1, 2):
                made = move(world, state, jnp.int32(action))
                if float(made.reward) > 0:
                    return steps
                place = (int(made.state.row), int(made.state.column), int(made.state.heading))
                if not bool(made.terminated) and place not in seen:
                    seen.add(place)
                    after.append(made.state)
        frontier = after
    return None


@settings(max_examples=8)
@given(any_levels(sizes=((1, 2), (1, 5), (5, 2), (4, 3), (5, 5))))
def test_the_shortest_way_with_turns_agrees_with_trying_everything(level):
    steps = np.asarray(jax.jit(steps_to_goal)(level))[:, level.start[0], level.start[1]]
    for heading in range(4):
        found = brute_force(level, heading)
        assert steps[heading] == (FAR if found is None else found)


def test_the_optimal_return_of_a_corridor():
    level = from_text(">..G")
    assert float(returns_of(as_batch(level), 250)[0]) == pytest.approx(1 - 0.9 * 3 / 250)
    open_heading = from_text("S..G")  # 3 steps facing it, 4 after a turn, 5 when facing away
    expected = np.mean([1 - 0.9 * n / 250 for n in (3, 4, 5, 4)])
    assert float(returns_of(as_batch(open_heading), 250)[0]) == pytest.approx(expected)
    assert float(returns_of(as_batch(from_text(">#.G")), 250)[0]) == 0
    assert float(returns_of(as_batch(from_text(">..G")), 2)[0]) == 0  # out of time


def test_turns_never_make_the_way_shorter():
    levels = make("cave-escape-train", count=40).levels
    arrays = Level(*(jnp.asarray(part) for part in levels))
    shortest = jax.vmap(lambda one: steps_to_goal(one)[:, one.start[0], one.start[1]].min())
    steps = jax.jit(shortest)(arrays)
    assert (np.asarray(steps) >= start_distances(levels)).all()
    assert (np.asarray(returns_of(levels, time_limit(13, 13))) > 0.5).all()
