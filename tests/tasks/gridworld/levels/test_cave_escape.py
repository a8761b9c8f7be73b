import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dred.errors import ConfigError, DatasetError
from dred.levels import (
    LAVA,
    MOSS,
    WALL,
    distance_to_goal,
    extended_distances,
    furnish,
    is_valid,
    level_metrics,
)
from dred.tasks.gridworld.config import CaveEscapeConfig, TileConfig
from dred.tasks.gridworld.levels.level import as_batch, is_navigable
from dred.tasks.gridworld.levels.paths import largest_component
from dred.tasks.gridworld.levels.placement import TileRule, draw_by_rank
from dred.tasks.gridworld.levels.search import extend_distances
from tests.strategies import floors

CONFIG = CaveEscapeConfig()
ANYWAY = CaveEscapeConfig(only_correlated=False)  # tiny layouts may not allow a correlation
ROOM = np.ones((13, 13), np.bool_)
ROOM[3:6, 3:9] = ROOM[8:11, 2:5] = ROOM[7:12, 8:11] = False


def draws(distance, rule, number):
    state = np.array([12345], np.uint64)
    return [draw_by_rank(np.array(distance, np.int32), rule, state) for _ in range(number)]


@given(floor=floors(), seed=st.integers(0, 1000))
def test_a_level_keeps_the_largest_part_of_its_layout_and_is_proper_and_solvable(floor, seed):
    part = largest_component(floor)
    if part.sum() < 2:
        with pytest.raises(DatasetError, match="largest connected part"):
            furnish(floor, ANYWAY, seed=seed)
        return
    level = furnish(floor, ANYWAY, seed=seed)
    assert is_valid(level)
    np.testing.assert_array_equal(is_navigable(level.tiles), part)
    assert (distance_to_goal(level)[part] >= 0).all()


@given(floor=floors(), seed=st.integers(0, 1000))
def test_the_start_is_at_the_median_distance_rounded_down(floor, seed):
    if largest_component(floor).sum() < 2:
        return
    level = furnish(floor, ANYWAY, seed=seed)
    distance = distance_to_goal(level)
    assert distance[tuple(level.start)] == int(np.median(distance[distance > 0]))


@given(seed=st.integers(0, 500))
def test_tile_counts_are_the_rounded_down_share_of_their_candidates(seed):
    config = CaveEscapeConfig(
        moss=TileConfig(fraction=(0.2, 0.2)), lava=TileConfig(fraction=(0.3, 0.3), near_goal=False)
    )
    level = furnish(ROOM, config, seed=seed)
    moss = int(0.2 * (ROOM.sum() - 1))
    assert (level.tiles == MOSS).sum() in (moss, moss - 1)  # the start takes one away if it has it
    assert (level.tiles == LAVA).sum() == int(0.3 * (~ROOM).sum())


def test_shares_vary_between_levels_within_their_range():
    shares = [
        (furnish(ROOM, CONFIG, seed=seed).tiles == LAVA).sum() / (~ROOM).sum()
        for seed in range(300)
    ]
    assert min(shares) >= 0.1 - 1 / (~ROOM).sum()
    assert max(shares) <= 0.25
    assert max(shares) - min(shares) > 0.1


def test_the_goal_is_anywhere_with_equal_chance():
    floor = np.ones((3, 4), np.bool_)
    floor[1, 1] = False
    goals = [tuple(furnish(floor, CONFIG, seed=seed).goal) for seed in range(3300)]
    counts = [goals.count(tuple(cell)) for cell in np.argwhere(floor)]
    assert sum(counts) == 3300
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("temperature", [1e-2, 1e-3, 1e-9])
def test_a_very_small_temperature_is_strict(temperature):
    rule = TileRule(0.1, 0.1, True, temperature)
    for picks in draws(list(range(100)), rule, 20):
        assert sorted(picks.tolist()) == list(range(10))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_cell_of_rank_k_is_drawn_with_weight_k_to_minus_one_over_t(temperature):
    rule = TileRule(0.2, 0.2, True, temperature)
    chosen = [int(picks[0]) for picks in draws([1, 2, 3, 4, 5], rule, 20_000)]
    weight = np.arange(1.0, 6.0) ** (-1 / temperature)
    expected = 20_000 * weight / weight.sum()
    assert stats.chisquare(np.bincount(chosen, minlength=5), expected).pvalue > 1e-3


def test_draws_are_without_replacement_one_after_the_other():
    # P({first, second}) by hand: w = 1, 1/2, 1/3 (sum 11/6).
    # P(1 then 2) + P(2 then 1) = 6/11 · (1/2)/(5/6) + 3/11 · 1/(4/3) = 18/55 + 9/44 = 117/220.
    rule = TileRule(0.7, 0.7, True, 1.0)
    pairs = [frozenset(picks.tolist()) for picks in draws([1, 2, 3], rule, 20_000)]
    assert {len(pair) for pair in pairs} == {2}
    assert pairs.count(frozenset({0, 1})) / 20_000 == pytest.approx(117 / 220, abs=0.015)


def test_far_first_reverses_the_order():
    rule = TileRule(0.4, 0.4, False, 0.2)
    chosen = [int(picks[0]) for picks in draws([1, 2, 3], rule, 1000)]
    assert chosen.count(2) > 900


def test_cells_at_the_same_distance_have_the_same_chance():
    # The published code orders ties by position, which puts lava at large rows and columns.
    rule = TileRule(0.25, 0.25, True, 1.0)
    chosen = [int(picks[0]) for picks in draws([4, 4, 4, 4], rule, 8000)]
    assert stats.chisquare(np.bincount(chosen, minlength=4)).pvalue > 1e-3


@pytest.mark.parametrize("depth", [1, 2, 0])
def test_lava_lies_at_most_lava_depth_tiles_from_a_navigable_cell(depth):
    floor = np.zeros((11, 11), np.bool_)
    floor[5, :2] = True
    full = TileConfig(fraction=(1.0, 1.0), near_goal=False)
    config = CaveEscapeConfig(lava=full, lava_depth=depth, only_correlated=False)
    level = furnish(floor, config, seed=1)
    distance = distance_to_goal(level)
    away = np.zeros(distance.shape, np.int32)
    extend_distances(distance, away)
    np.testing.assert_array_equal(
        level.tiles == LAVA, (away > 0) & ((away <= depth) | (depth == 0))
    )


def test_moss_is_near_and_lava_far_and_the_settings_can_reverse_both():
    reversed_config = CaveEscapeConfig(
        moss=TileConfig(near_goal=False), lava=TileConfig(near_goal=True)
    )
    for config, sign in ((CONFIG, 1), (reversed_config, -1)):
        moss, lava = [], []
        for seed in range(60):
            level = furnish(ROOM, config, seed=seed)
            distance = extended_distances(as_batch(level))[0]
            navigable = is_navigable(level.tiles)
            moss.append(distance[level.tiles == MOSS].mean() - distance[navigable].mean())
            lava.append(distance[level.tiles == LAVA].mean() - distance[~navigable].mean())
        assert sign * np.mean(moss) < -1
        assert sign * np.mean(lava) > 1


def test_only_levels_with_the_right_correlations_are_of_the_cmdp():
    # "The CMDP level space corresponds to the subset of solvable levels in which moss and lava
    # placement is … correlated" with distance. A high temperature gives both signs by chance.
    loose = {"temperature": 1000.0, "fraction": (0.1, 0.25)}
    tiles = {"moss": TileConfig(**loose), "lava": TileConfig(**loose, near_goal=False)}

    def shares(config):
        found = [level_metrics(as_batch(furnish(ROOM, config, seed=seed))) for seed in range(100)]
        moss = np.mean([metrics.moss_correlation[0] < 0 for metrics in found])
        return moss, np.mean([metrics.lava_correlation[0] > 0 for metrics in found])

    assert shares(CaveEscapeConfig(**tiles)) == (1.0, 1.0)
    assert max(shares(CaveEscapeConfig(**tiles, only_correlated=False))) < 0.7


def test_levels_in_which_no_moss_was_drawn_are_kept():
    # A share of 0 to 2 % of about 100 cells is often less than one tile.
    config = CaveEscapeConfig(moss=TileConfig(fraction=(0.0, 0.02)))
    without = [not (furnish(ROOM, config, seed=seed).tiles == MOSS).any() for seed in range(100)]
    assert 0.2 < np.mean(without) < 0.6


def test_no_tiles_is_a_setting_too():
    none = TileConfig(fraction=(0.0, 0.0))
    level = furnish(ROOM, CaveEscapeConfig(moss=none, lava=none), seed=0)
    assert set(np.unique(level.tiles)) == {0, WALL}


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: TileConfig(fraction=(0.3, 0.1)), "low to high"),
        (lambda: TileConfig(fraction=(0.3, 1.1)), "within 0 and 1"),
        (lambda: TileConfig(temperature=0.0), "greater than 0"),
        (lambda: CaveEscapeConfig(lava_depth=-1), "0 (no limit) or more"),
        (lambda: CaveEscapeConfig(min_navigable=1), "at least 2"),
    ],
)
def test_settings_that_cannot_work_stop_at_the_door(build, text):
    with pytest.raises(ConfigError) as error:
        build()
    assert text in str(error.value)
