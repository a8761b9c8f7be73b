import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dred.tasks.gridworld.config import WFCConfig
from dred.tasks.gridworld.levels.compiled import derive, draw, seed_from, sub_seed
from dred.tasks.gridworld.levels.wfc import engine
from dred.tasks.gridworld.levels.wfc.structures import builtin, catalogue
from tests.oracles import randomness
from tests.oracles import wfc as oracle


@st.composite
def problems(draw):
    """A random template with random settings."""
    sides = st.integers(3, 5)
    symbols = draw(st.integers(1, 3))
    template = draw(
        hnp.arrays(np.uint8, (draw(sides), draw(sides)), elements=st.integers(0, symbols - 1))
    )
    config = WFCConfig(
        pattern_width=draw(st.integers(1, 3)),
        periodic_input=draw(st.booleans()),
        periodic_output=draw(st.booleans()),
        symmetries=draw(st.sampled_from(["none", "mirror", "rotations", "all"])),
        weights=draw(st.sampled_from(["presence", "occurrence"])),
        heuristic=draw(st.sampled_from(["count", "entropy"])),
    )
    size = st.integers(config.pattern_width, 6)
    return template, config, draw(size), draw(size)


def solve(patterns, weights, config, height, width, seed):
    tables = engine.make_tables(patterns, weights)
    board = engine.make_board(
        tables,
        height,
        width,
        periodic=config.periodic_output,
        shannon=config.heuristic == "entropy",
    )
    if board is None:
        return None
    output = np.zeros((1, height, width), np.uint8)
    attempts = np.zeros(1, np.int32)
    engine.collapse_many(tables, board, np.array([seed], np.uint64), 1, output, attempts)
    return output[0] if attempts[0] else None


@given(problem=problems(), seed=st.integers(0, 2**64 - 1))
def test_the_fast_solver_gives_exactly_what_the_slow_one_gives(problem, seed):
    template, config, height, width = problem
    patterns, weights = catalogue(template, config)
    fast = solve(patterns, weights, config, height, width, seed)
    slow = oracle.collapse(
        patterns,
        weights.tolist(),
        height,
        width,
        periodic=config.periodic_output,
        entropy=config.heuristic == "entropy",
        seed=randomness.derive(seed, 0),
    )
    assert (fast is None) == (slow is None)
    if fast is not None:
        np.testing.assert_array_equal(fast, slow)


@given(problem=problems(), seed=st.integers(0, 1000))
def test_every_window_of_a_result_is_in_the_catalogue(problem, seed):
    template, config, height, width = problem
    patterns, weights = catalogue(template, config)
    output = solve(patterns, weights, config, height, width, seed)
    if output is not None:
        known = {tuple(pattern.ravel().tolist()) for pattern in patterns}
        found = oracle.windows(output, config.pattern_width, periodic=config.periodic_output)
        assert set(found) <= known


def test_every_window_of_every_structure_of_ours_is_in_its_catalogue():
    for structure in builtin().values():
        k, periodic = structure.config.pattern_width, structure.config.periodic_output
        stream = seed_from(structure.name, 0)
        seeds = np.array([sub_seed(stream, index) for index in range(4)], np.uint64)
        symbols, attempts = structure.collapse(seeds, height=13, width=13)
        assert (attempts > 0).all()
        known = {tuple(pattern.ravel().tolist()) for pattern in structure.tables.patterns}
        for output in symbols:
            assert set(oracle.windows(output, k, periodic=periodic)) <= known


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("drawing", [["##..", "#..#", "..##", ".##."], ["#..", "...", "..."]])
def test_all_possible_outputs_occur_and_no_other(drawing, periodic):
    template = np.array([[int(symbol == "#") for symbol in row] for row in drawing], np.uint8)
    config = WFCConfig(pattern_width=2, periodic_output=periodic, symmetries="none")
    patterns, weights = catalogue(template, config)
    known = {tuple(pattern.ravel().tolist()) for pattern in patterns}
    possible = oracle.all_outputs(known, 2, 3, 3, 2, periodic=periodic)
    found = set()
    for seed in range(3000):
        output = solve(patterns, weights, config, 3, 3, seed)
        if output is not None:
            found.add(tuple(output.ravel().tolist()))
    assert found == possible


def test_a_chequered_pattern_cannot_fill_an_odd_torus_but_fills_an_odd_room():
    template = np.array([[0, 1], [1, 0]], np.uint8)
    torus = WFCConfig(pattern_width=2)
    room = WFCConfig(pattern_width=2, periodic_output=False)
    patterns, weights = catalogue(template, torus)
    assert all(solve(patterns, weights, torus, 5, 5, seed) is None for seed in range(20))
    output = solve(patterns, weights, room, 5, 5, 0)
    assert output is not None
    assert (output[:, 1:] != output[:, :-1]).all()
    assert (output[1:] != output[:-1]).all()


def test_bounded_input_has_no_windows_across_its_edges():
    template = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1]], np.uint8)
    bounded = WFCConfig(pattern_width=2, periodic_input=False, symmetries="none")
    patterns, _ = catalogue(template, bounded)
    assert sorted(pattern.ravel().tolist() for pattern in patterns) == [
        [0, 0, 0, 0],
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 1, 1, 1],
    ]


@pytest.mark.parametrize(
    ("symmetries", "copies"), [("none", 1), ("mirror", 2), ("rotations", 4), ("all", 8)]
)
def test_symmetries_are_one_to_eight_different_copies(symmetries, copies):
    # An asymmetric window: with K as large as the pattern, each copy is one window.
    template = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], np.uint8)
    template[0] = [1, 2, 0]
    config = WFCConfig(pattern_width=3, periodic_input=False, symmetries=symmetries)
    patterns, weights = catalogue(template, config)
    assert len(patterns) == copies
    assert weights.tolist() == [1.0] * copies


def test_presence_counts_copies_and_occurrence_counts_places():
    # The published code meant to weigh windows by how often they occur, but counted each once per
    # symmetric copy. Both are offered; the first is what the published levels were made with.
    template = np.zeros((4, 4), np.uint8)
    template[0, 0] = 1
    presence = catalogue(template, WFCConfig(pattern_width=2, weights="presence"))
    occurrence = catalogue(template, WFCConfig(pattern_width=2, weights="occurrence"))
    assert presence[1].tolist() == [8.0] * 5
    assert occurrence[1].tolist() == [8.0 * 12] + [8.0] * 4
    np.testing.assert_array_equal(presence[0], occurrence[0])


def test_weights_decide_how_often_a_window_is_chosen():
    patterns = np.array([[[0]], [[1]]], np.uint8)
    config = WFCConfig(pattern_width=1)
    outputs = [
        solve(patterns, np.array([3.0, 1.0]), config, 10, 10, seed).mean() for seed in range(60)
    ]
    assert abs(np.mean(outputs) - 0.25) < 0.02


def test_the_least_undecided_cell_is_decided_next():
    patterns = np.array([[[0]], [[1]], [[2]]], np.uint8)
    tables = engine.make_tables(patterns, np.ones(3))
    board = engine.make_board(tables, 2, 2, periodic=True, shannon=False)
    wave = engine.new_wave(board)
    engine.remove(tables, wave, 2, 1, 0)
    assert engine.least_undecided(tables, board, wave) == 2


@given(seed=st.integers(0, 2**63 - 1), number=st.integers(0, 2**40))
def test_compiled_random_numbers_equal_plain_ones(seed, number):
    assert int(derive(np.uint64(seed), number)) == randomness.derive(seed, number)
    state = np.array([seed], np.uint64)
    plain = randomness.Random(seed)
    assert [draw(state) for _ in range(3)] == [plain.draw() for _ in range(3)]
