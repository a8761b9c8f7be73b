"""GenGap, ShiftGap, the shift and the information about levels, in worlds where all are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.config import ProbeConfig
from dred.evaluation.evaluate import evaluate
from dred.evaluation.gaps import gap_bound, gen_gap, level_information, shift_gap
from dred.levels import from_text
from dred.tasks.gridworld.environment import GridworldEnvironment
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.levels.shift import shift_between
from tests.agents.making import new_agent_of
from tests.training.test_dred import walks_forwards


def batch_of(*drawings):
    levels = [from_text(drawing) for drawing in drawings]
    return Level(*(np.stack(parts) for parts in zip(*levels, strict=True)))


ENV = GridworldEnvironment()
NEAR, FAR, NEVER = ">G..\n....", ">..G\n....", ">#.G\n####"


def returns_of(*drawings):
    network = walks_forwards(new_agent_of(7, hidden_size=8, key=jax.random.key(0)))
    levels = batch_of(*drawings)
    episodes = evaluate(
        network, ENV, ENV.prepare(levels), jnp.arange(len(drawings)), key=jax.random.key(1)
    )
    return episodes.returned


def return_after(steps):
    return 1 - 0.9 * steps / ENV.time_limit(ENV.prepare(batch_of(NEAR)))


def test_gen_gap_by_hand():
    train, test = returns_of(NEAR, FAR), returns_of(FAR, NEVER)
    expected = (return_after(1) + return_after(3)) / 2 - (return_after(3) + 0.0) / 2
    assert float(gen_gap(train, test)) == pytest.approx(expected, abs=1e-6)


def test_shift_gap_by_hand():
    train = returns_of(NEAR, FAR)
    buffer, probability = returns_of(NEAR, FAR, NEVER), jnp.array([0.5, 0.1, 0.4])
    expected = 0.5 * return_after(1) + 0.1 * return_after(3)
    expected -= (return_after(1) + return_after(3)) / 2
    assert float(shift_gap(buffer, probability, train)) == pytest.approx(expected, abs=1e-6)
    alike = shift_gap(train, jnp.array([0.5, 0.5]), train)
    assert float(alike) == pytest.approx(0.0, abs=1e-6)  # the dataset itself has no gap


def test_shift_by_hand():
    names = np.array(["one"])
    empty, mossy = (LevelDataset(*batch_of(drawing), structure=names) for drawing in (">.G", ">,G"))
    # Of three cells in each, two agree: the middle one is empty here and moss there.
    shift = shift_between(empty, mossy)
    assert shift.divergence == pytest.approx(1 / 3)
    assert shift.distance == pytest.approx((1 / 3) ** 0.5)
    assert shift_between(empty, empty).distance == 0.0


def test_the_bound_is_that_of_the_paper():
    # |V| ≤ D / 2 with values up to 1, so D = 2: √(2 · 4 · I / |L|).
    assert float(gap_bound(np.log(512), 512)) == pytest.approx((8 * np.log(512) / 512) ** 0.5)
    assert float(gap_bound(0.0, 512)) == 0.0


# A cell between walls in which the agent can only turn: what it sees never changes but by turning.
def cell_with(*around):
    return "#####\n#{}{}{}#\n#{}>{}#\n#{}{}{}#\n####G".format(*around)


PROBE = ProbeConfig(length=24, epochs=40, batch_size=64, learning_rate=0.05)


def information_in(*drawings):
    network = new_agent_of(7, hidden_size=32, key=jax.random.key(0))
    levels = batch_of(*drawings)
    return level_information(
        network,
        ENV,
        ENV.prepare(levels),
        jnp.arange(len(drawings)),
        PROBE,
        key=jax.random.key(1),
    )


def test_levels_that_can_be_told_by_what_is_seen_at_first_give_all_the_information():
    # The paper's Figure 1: the first observation names the level, so I(L; b) = log |L|.
    found = information_in(
        cell_with(*"########"),
        cell_with(*"~~~~~~~~"),
        cell_with(*"#~#~~#~#"),
        cell_with(*"~#~##~#~"),
    )
    assert float(found.nats) == pytest.approx(np.log(4), abs=0.1)
    assert float(found.accuracy) > 0.97


def test_levels_that_look_the_same_give_no_information():
    found = information_in(*[cell_with(*"########")] * 4)
    assert float(found.nats) == pytest.approx(0.0, abs=0.05)
    assert float(found.accuracy) < 0.5


def test_a_greedy_agent_leaves_nothing_to_chance():
    network = new_agent_of(7, hidden_size=8, key=jax.random.key(0))
    world = ENV.prepare(batch_of(NEAR, FAR, NEVER))

    def played(seed, greedy):
        return evaluate(
            network, ENV, world, jnp.arange(3), key=jax.random.key(seed), greedy=greedy
        ).returned.tolist()

    assert len({tuple(played(seed, True)) for seed in range(4)}) == 1
    assert len({tuple(played(seed, False)) for seed in range(4)}) > 1
