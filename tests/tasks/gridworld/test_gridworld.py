"""The gridworld, against Minigrid and by hand."""

from functools import partial
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.episodes import Start, begin, next_level, play_on, same_start, uniform
from dred.envs import Gridworld, GridworldEnvironment, View
from dred.errors import ConfigError, DatasetError
from dred.levels import EMPTY, Level, from_levels, from_text, make, make_level
from dred.tasks.gridworld.environment import time_limit
from dred.tasks.gridworld.levels.level import as_batch
from tests.oracles import minigrid

KEY = jax.random.key(0)
LEFT, RIGHT, FORWARD = range(3)


def play(level, actions, *, max_steps=250, key=KEY):
    """The steps of an episode, through `reset_to` and `step`."""
    env = Gridworld(max_steps=max_steps)
    state, view = env.reset_to(level, key=key)
    steps = []
    for action in actions:
        step = env.step(state, action, key=key)
        steps.append(step)
        state = step.state
    return view, steps


def random_level(random, height, width, *, open_share):
    """Any tiles, any start and goal, with some room to walk."""
    weights = [open_share, *([(1 - open_share) / 3] * 3)]
    tiles = random.choice(4, size=(height, width), p=weights).astype(np.uint8)
    goal, start = random.choice(height * width, size=2, replace=False)
    goal, start = divmod(int(goal), width), divmod(int(start), width)
    tiles[goal] = tiles[start] = EMPTY
    return make_level(tiles, goal, start, int(random.integers(4)))


def start_in(level, *, bits=0):
    """How one agent begins."""
    return Start(jnp.array([level]), jnp.array([bits], jnp.uint32))


@eqx.filter_jit
def play_batch(env, world, levels, actions):
    """Play fixed actions in many levels of one size at once."""

    def one(level, actions):
        state = env.reset(world, level, bits=jnp.uint32(0))

        def step(state, action):
            after = env.step(world, state, action)
            view = env.observe(world, after.state)
            seen = (view.image, view.direction, after.reward, after.terminated, after.truncated)
            return after.state, seen

        first = env.observe(world, state)
        return first, jax.lax.scan(step, state, actions)[1]

    return jax.vmap(one)(levels, actions)


# height, width, levels, actions per level
SIZES = [
    (3, 3, 600, 40),
    (5, 5, 600, 60),
    (1, 9, 200, 40),
    (9, 4, 300, 60),
    (13, 13, 500, 110),
    (43, 43, 60, 300),
]


@pytest.mark.parametrize(("height", "width", "count", "length"), SIZES)
def test_the_gridworld_follows_minigrid_step_for_step(height, width, count, length):
    random = np.random.default_rng(height * 100 + width)
    levels = [
        random_level(random, height, width, open_share=random.choice([0.4, 0.7, 0.95, 0.99]))
        for _ in range(count)
    ]
    # Forward half of the time, so that agents get about; the four no-ops among the rest.
    actions = random.choice(7, size=(count, length), p=[0.15, 0.15, 0.5, 0.05, 0.05, 0.05, 0.05])
    max_steps = length - 5  # some episodes run out of time
    env = GridworldEnvironment(max_steps=max_steps)
    world = env.prepare(from_levels(levels).levels)
    first, rest = play_batch(env, world, jnp.arange(count), jnp.asarray(actions, jnp.int32))
    first, rest = jax.device_get((first, rest))
    compared = 0
    for index, level in enumerate(levels):
        slow = minigrid.episode(
            level, int(level.heading), actions[index].tolist(), max_steps=max_steps
        )
        np.testing.assert_array_equal(first.image[index], slow[0][0])
        assert first.direction[index] == slow[0][1]
        for t, (image, direction, reward, terminated, truncated) in enumerate(slow[1:]):
            np.testing.assert_array_equal(rest[0][index, t], image)
            assert rest[1][index, t] == direction
            assert rest[2][index, t] == pytest.approx(reward, abs=1e-6)
            assert rest[3][index, t] == terminated
            assert rest[4][index, t] == truncated
            compared += 1
    assert compared > 0.2 * count * length


def test_more_than_fifty_thousand_steps_are_compared_with_minigrid():
    # Episodes above end early, at the goal or in lava. Here they are long: no lava, and the goal
    # in a corner behind a wall with one way in.
    random = np.random.default_rng(7)
    count, length = 170, 340
    levels = []
    for _ in range(count):
        tiles = random.choice([0, 1, 3], size=(13, 13), p=[0.6, 0.25, 0.15]).astype(np.uint8)
        tiles[:2, :2] = 1
        tiles[1, 0] = EMPTY
        row, column = (int(part) for part in random.integers(3, 13, size=2))
        tiles[0, 0] = tiles[row, column] = EMPTY
        levels.append(make_level(tiles, (0, 0), (row, column), int(random.integers(4))))
    actions = random.choice(7, size=(count, length), p=[0.15, 0.15, 0.5, 0.05, 0.05, 0.05, 0.05])
    env = GridworldEnvironment(max_steps=length)  # the last step of all is out of time
    world = env.prepare(from_levels(levels).levels)
    _, rest = jax.device_get(
        play_batch(env, world, jnp.arange(count), jnp.asarray(actions, jnp.int32))
    )
    compared = 0
    for index, level in enumerate(levels):
        slow = minigrid.episode(
            level, int(level.heading), actions[index].tolist(), max_steps=length
        )
        for ours, part in zip(rest, range(5), strict=True):
            theirs = np.stack([step[part] for step in slow[1:]])
            np.testing.assert_allclose(ours[index, : len(theirs)], theirs, atol=1e-6)
        ends = [step[3] or step[4] for step in slow]
        assert not any(ends[:-1])
        compared += len(slow) - 1
    assert compared > 50_000


def test_the_view_by_hand():
    # Facing right: its left is up. Four tiles ahead is at the top of the view, y = 0.
    level = from_text("""
    ...~.
    >.,.G
    .#...
    """)
    view, _ = play(level, [])
    objects = view.image[:, :, 0].T  # rows from far to near, columns from left to right
    assert objects.tolist() == [
        [2, 1, 8, 1, 2],
        [2, 9, 1, 1, 2],
        [2, 1, 3, 1, 2],
        [2, 1, 1, 2, 2],
        [2, 1, 1, 1, 2],
    ]
    colours = view.image[:, :, 1].T
    assert colours[0].tolist() == [5, 0, 1, 0, 5]
    assert colours[2].tolist() == [5, 0, 2, 0, 5]
    assert not view.image[:, :, 2].any()
    assert view.direction == 0


def test_turning_walking_and_bumping():
    level = from_text("""
    >#
    .G
    """)
    _, (bump, turn, walk, back) = play(level, [FORWARD, RIGHT, FORWARD, LEFT])
    agent = [(s.state.agent.row, s.state.agent.column, s.state.agent.heading) for s in (bump, turn)]
    assert agent == [(0, 0, 0), (0, 0, 1)]
    assert (walk.state.agent.row, walk.state.agent.column) == (1, 0)
    assert back.state.agent.heading == 0
    assert [int(step.state.agent.time) for step in (bump, turn, walk, back)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("steps", "reward"), [(25, 0.91), (250, 0.1)])
def test_the_reward_falls_from_one_to_a_tenth_over_the_time_limit(steps, reward):
    _, played = play(from_text(">G"), [3] * (steps - 1) + [FORWARD])
    assert played[-1].reward == pytest.approx(reward)
    assert played[-1].terminated
    assert bool(played[-1].truncated) == (steps == 250)


def test_lava_ends_the_episode_without_a_reward():
    _, (step,) = play(from_text(">~G"), [FORWARD])
    assert (float(step.reward), bool(step.terminated), bool(step.truncated)) == (0.0, True, False)


def test_out_of_time_is_truncated_and_not_terminated():
    _, steps = play(from_text(">.G"), [3, 3, 3], max_steps=3)
    assert [bool(step.truncated) for step in steps] == [False, False, True]
    assert not any(step.terminated for step in steps)


@pytest.mark.parametrize("action", [3, 4, 5, 6])
def test_the_other_actions_do_nothing_but_take_a_step(action):
    view, (step,) = play(from_text(">.G"), [action])
    np.testing.assert_array_equal(step.view.image, view.image)
    assert int(step.state.agent.time) == 1


def test_time_limits_are_in_proportion_to_the_area():
    assert time_limit(13, 13) == 250
    assert time_limit(43, 43) == 2250
    env = GridworldEnvironment()
    assert env.time_limit(env.prepare(from_levels([from_text("S.G")]).levels)) == 17


def test_a_level_with_a_heading_starts_with_it_and_others_with_any():
    for drawing, expected in (("^G", {3}), ("SG", {0, 1, 2, 3})):
        level = from_text(drawing)
        found = {int(play(level, [], key=jax.random.key(seed))[0].direction) for seed in range(40)}
        assert found == expected


# The published environment remembered what the agent stood on beyond the end of an episode: moss
# vanished from the level, and the start of the next level turned to moss.
def test_walking_over_moss_leaves_the_moss_where_it_is():
    level = from_text(">,.G")
    _, steps = play(level, [FORWARD, FORWARD, LEFT, LEFT])
    looking_back = steps[-1].view.image[2, :, 0]
    assert looking_back.tolist() == [2, 2, 1, 3, 1]  # wall, wall, start, moss, and itself


def test_an_episode_that_ends_on_moss_leaves_no_trace_in_the_next():
    level = from_text(">,~G")
    env = GridworldEnvironment()
    world = env.prepare(from_levels([level]).levels)
    start = start_in(0)
    state = begin(env, world, start)
    before = env.observe(world, jax.tree.map(lambda leaf: leaf[0], state))
    forward, bits = jnp.array([FORWARD]), jnp.zeros((1, 2), jnp.uint32)
    one_step = jax.jit(partial(play_on, env, next_start=same_start))
    for _ in range(3):  # over moss into lava, again and again
        for _ in range(2):
            played = one_step(world, start, state, forward, bits=bits)
            start, state = played.start, played.state
        assert played.terminated[0]
        np.testing.assert_array_equal(played.observation.image[0], before.image)


def test_the_same_level_begins_again_with_the_heading_it_had():
    env = GridworldEnvironment(max_steps=3)
    world = env.prepare(from_levels([from_text("S..G")]).levels)
    left, bits = jnp.array([LEFT]), jnp.full((1, 2), 123, jnp.uint32)
    one_step = jax.jit(partial(play_on, env, next_start=same_start))
    for heading in range(4):
        start = start_in(0, bits=heading)
        state = begin(env, world, start)
        for _ in range(3):
            played = one_step(world, start, state, left, bits=bits)
            start, state = played.start, played.state
        assert played.truncated[0]
        assert int(state.heading[0]) == heading
        assert int(state.time[0]) == 0


def test_the_next_level_comes_from_the_source_and_all_its_levels_come_up():
    env = GridworldEnvironment(max_steps=1)
    dataset = from_levels([from_text("S" + "." * n + "G" + "." * (4 - n)) for n in range(5)])
    world = env.prepare(dataset.levels)
    start = start_in(0)
    state, wait = begin(env, world, start), jnp.array([3])
    next_start = next_level(uniform(len(dataset)))
    one_step = jax.jit(partial(play_on, env, next_start=next_start))
    found = []
    for bits in jax.random.bits(KEY, (200, 1, 2)):
        played = one_step(world, start, state, wait, bits=bits)
        start, state = played.start, played.state
        assert int(start.level[0]) == int(state.level[0])
        found.append(int(state.level[0]))
    counts = np.bincount(found, minlength=5)
    assert (counts > 20).all()


def test_rollouts_are_traced_once_and_work_under_jit_vmap_and_scan():
    env = Gridworld()
    dataset = make("cave-escape-train", count=8)

    @eqx.filter_jit
    @eqx.debug.assert_max_traces(max_traces=1)
    def rollout(levels, keys):
        def one(level, key):
            state, view = env.reset_to(level, key=key)

            def step(state, key):
                action = jax.random.randint(key, (), 0, 7)
                step = env.step(state, action, key=key)
                return step.state, step.reward

            return view, jax.lax.scan(step, state, jax.random.split(key, 20))[1]

        return jax.vmap(one)(levels, keys)

    for seed in range(2):
        levels = Level(*(jnp.asarray(part) for part in dataset.levels))
        view, rewards = rollout(levels, jax.random.split(jax.random.key(seed), 8))
    assert isinstance(view, View)
    assert view.image.shape == (8, 5, 5, 3)
    assert rewards.shape == (8, 20)


@pytest.mark.parametrize("action", [-1, 7, 1.5])
def test_an_action_that_does_not_exist_is_an_error(action):
    env = Gridworld()
    state, _ = env.reset_to(from_text("S.G"), key=KEY)
    with pytest.raises(ConfigError, match="does not exist"):
        env.step(state, np.asarray(action))


def test_a_level_that_cannot_be_played_is_an_error_before_anything_is_compiled():
    env, rules = Gridworld(), GridworldEnvironment()
    no_start = make_level(np.zeros((3, 3), np.uint8), (0, 0), (-1, -1))
    with pytest.raises(DatasetError, match="the start is outside the grid"):
        env.reset_to(no_start, key=KEY)
    several = make("cave-escape-train", count=4)
    with pytest.raises(DatasetError, match="takes one level"):
        env.reset_to(several.levels, key=KEY)
    with pytest.raises(DatasetError, match="Level 0 cannot be played: the start is outside"):
        rules.prepare(as_batch(no_start))
    with pytest.raises(DatasetError, match="the batch is empty"):
        rules.prepare(several[:0].levels)
    with pytest.raises(DatasetError, match="Expected a batch of levels: tiles"):
        rules.prepare(several[0])
    for max_steps in (0, 2.5, True):
        with pytest.raises(ConfigError, match="max_steps"):
            GridworldEnvironment.__check_init__(SimpleNamespace(max_steps=max_steps))
    for max_steps in (0, True):
        with pytest.raises(ConfigError, match="max_steps"):
            Gridworld(max_steps=max_steps)


def test_step_takes_one_action():
    env = Gridworld()
    state, _ = env.reset_to(from_text("S.G"), key=KEY)
    with pytest.raises(ConfigError, match="step takes one action"):
        env.step(state, np.array([0, 1]))
