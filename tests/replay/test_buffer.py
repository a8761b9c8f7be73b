"""A level carries its own number, and everything known of it, wherever it goes."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dred.replay.admission import Candidates, admit
from dred.replay.buffer import (
    EMPTY,
    fingerprints,
    new_buffer,
    rescore,
)
from tests.strategies import lists_of_sizes


def content(names):
    """A level that says who it is, in two leaves of different types."""
    names = jnp.asarray(names)
    return {
        "tiles": (names % 251).astype(jnp.uint8)[:, None, None] + jnp.zeros((1, 2, 3), jnp.uint8),
        "name": names.astype(jnp.int32),
    }


def a_buffer(names, capacity, *, dataset=0):
    buffer = new_buffer(content(names), jnp.asarray(names) / 1024, capacity)
    return eqx.tree_at(lambda b: b.from_dataset, buffer, jnp.arange(capacity) < dataset)


def some(names, scores, *, may_enter=None, parents=None):
    count = len(names)
    parents = jnp.full(count, EMPTY) if parents is None else jnp.asarray(parents)
    return Candidates(
        levels=content(names),
        primary=jnp.asarray(scores, jnp.float32),
        secondary=jnp.asarray(names, jnp.float32) + 0.5,
        best=jnp.asarray(names, jnp.float32) + 0.25,
        optimal=jnp.asarray(names) / 1024,
        is_scored=jnp.ones(count, bool),
        may_enter=jnp.ones(count, bool) if may_enter is None else jnp.asarray(may_enter),
        parent=parents,
        generation=jnp.where(parents == EMPTY, 0, 1),
        made_by=jnp.int32(1),
        is_complete=jnp.ones(count, bool),
        birth=jnp.int32(7),
    )


def lowest(buffer, candidates):
    return admit(buffer, candidates, worth=lambda buffer: buffer.primary, by="primary")


def names_in(buffer):
    return [int(n) for n in np.asarray(buffer.levels["name"])[np.asarray(buffer.is_used)]]


def scored(buffer, scores):
    slots = jnp.arange(len(scores))
    scores = jnp.asarray(scores, jnp.float32)
    return rescore(buffer, slots, primary=scores, secondary=scores, best=scores)


def test_free_slots_are_filled_first():
    buffer, slots = lowest(
        scored(a_buffer([10, 11], 5, dataset=2), [0.0, 0.0]), some([20, 21], [1, 2])
    )
    assert names_in(buffer) == [10, 11, 21, 20]  # the better one first
    assert sorted(np.asarray(slots)) == [2, 3]
    assert buffer.num_evicted == 0


def test_the_lowest_generated_score_makes_room_and_the_dataset_never_does():
    buffer = scored(a_buffer([1, 2, 3, 4], 4, dataset=2), [0.0, 0.0, 5.0, 3.0])
    buffer, slots = lowest(buffer, some([9], [4.0]))
    assert names_in(buffer) == [1, 2, 3, 9]
    assert (buffer.num_admitted, buffer.num_evicted, buffer.num_refused) == (1, 1, 0)
    buffer, slots = lowest(buffer, some([8, 7], [1.0, 3.9]))  # both lower than all generated ones
    assert names_in(buffer) == [1, 2, 3, 9]
    assert np.asarray(slots).tolist() == [4, 4]
    assert buffer.num_refused == 2


def test_an_equal_score_is_enough():
    buffer = scored(a_buffer([1, 2], 2, dataset=1), [0.0, 3.0])
    assert names_in(lowest(buffer, some([9], [3.0]))[0]) == [1, 9]
    assert names_in(lowest(buffer, some([9], [2.99]))[0]) == [1, 2]


def test_an_unsolved_level_is_never_admitted():
    buffer, slots = lowest(
        a_buffer([1], 4, dataset=1), some([8, 9], [5, 9], may_enter=[True, False])
    )
    assert names_in(buffer) == [1, 8]
    assert np.asarray(slots).tolist() == [1, 4]


def test_a_level_that_is_there_already_is_rescored_and_not_stored_twice():
    buffer = scored(a_buffer([1, 2], 6, dataset=1), [0.5, 0.6])
    buffer, slots = lowest(buffer, some([2, 7, 7], [9.0, 1.0, 1.0]))
    assert names_in(buffer) == [1, 2, 7]
    np.testing.assert_allclose(buffer.primary[:3], [0.5, 9.0, 1.0])
    assert np.asarray(slots).tolist() == [6, 2, 6]


def test_the_least_likely_makes_room_but_only_for_a_better_one():
    buffer = scored(a_buffer([1, 2, 3], 3), [5.0, 4.0, 1.0])
    likely = jnp.array([0.1, 0.3, 0.6])  # the level with score 5 is the least likely
    assert names_in(admit(buffer, some([9], [4.5]), worth=lambda _: likely, by="primary")[0]) == [
        1,
        2,
        3,
    ]
    assert names_in(admit(buffer, some([9], [5.5]), worth=lambda _: likely, by="primary")[0]) == [
        9,
        2,
        3,
    ]


def test_numbers_are_given_out_once():
    buffer = scored(a_buffer([1, 2], 3, dataset=1), [0.0, 0.1])
    seen = set(np.asarray(buffer.number)) - {EMPTY}
    for round_ in range(5):
        before = set(np.asarray(buffer.number))
        buffer, _ = lowest(buffer, some([100 + 2 * round_, 101 + 2 * round_], [round_, round_]))
        new = set(np.asarray(buffer.number)) - before
        assert not new & seen
        seen |= new
    assert int(buffer.next_number) == 2 + int(buffer.num_admitted)


def check_rows(buffer):
    """Everything in a row belongs to the level in it."""
    for slot in np.flatnonzero(np.asarray(buffer.is_used)):
        name = int(buffer.levels["name"][slot])
        assert np.all(np.asarray(buffer.levels["tiles"][slot]) == name % 251)
        assert float(buffer.optimal[slot]) == name / 1024
        if buffer.is_scored[slot]:
            assert float(buffer.secondary[slot]) == name + 0.5
            assert float(buffer.best[slot]) == name + 0.25
        expected = np.asarray(fingerprints(content([name])))[0]
        np.testing.assert_array_equal(buffer.fingerprint[slot], expected)


@settings(max_examples=25)
@given(st.lists(st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4), max_size=6))
def test_every_row_stays_with_its_level_through_insert_update_and_evict(rounds):
    buffer = a_buffer([1, 2, 3], 8, dataset=3)
    parent_names = {}
    for round_, scores in enumerate(rounds):
        names = [100 + 4 * round_ + i for i in range(4)]
        used = np.flatnonzero(np.asarray(buffer.is_used))
        parents = [int(buffer.number[used[(round_ + i) % len(used)]]) for i in range(4)]
        buffer, slots = lowest(buffer, some(names, scores, parents=parents))
        for name, slot, parent in zip(names, np.asarray(slots), parents, strict=True):
            if slot < buffer.capacity:
                assert int(buffer.levels["name"][slot]) == name
                parent_names[name] = parent
        name_of = np.asarray(buffer.levels["name"])
        known = np.flatnonzero(np.asarray(buffer.is_used))
        buffer = rescore(
            buffer,
            jnp.asarray(known),
            primary=jnp.asarray(buffer.primary)[known],
            secondary=jnp.asarray(name_of[known] + 0.5),
            best=jnp.asarray(name_of[known] + 0.25),
        )
        check_rows(buffer)
        for slot in known:
            if int(name_of[slot]) in parent_names:
                assert int(buffer.parent[slot]) == parent_names[int(name_of[slot])]
        assert names_in(buffer)[:3] == [1, 2, 3]


@given(lists_of_sizes(st.floats(0, 1, width=32), 1, 4, 6), st.sampled_from([0, 3, 6]))
def test_what_remains_is_the_best_of_all(scores, held):
    """A slow oracle: throw everybody together, and keep the highest scores."""
    inside = [0.1 * i for i in range(held)]
    names = list(range(1, 1 + held))
    buffer = scored(a_buffer(names, 6), inside) if held else a_buffer([1], 6)
    if not held:
        buffer = eqx.tree_at(lambda b: b.number, buffer, jnp.full(6, EMPTY))
    after, _ = lowest(buffer, some([50 + i for i in range(len(scores))], scores))
    kept = np.sort(np.asarray(after.primary)[np.asarray(after.is_used)])
    everybody = np.sort(np.array([*inside, *scores], np.float32))[::-1][:6]
    np.testing.assert_allclose(kept, everybody[::-1], rtol=1e-6)


def test_different_levels_have_different_fingerprints():
    marks = np.asarray(
        fingerprints({"a": jnp.arange(60_000).reshape(-1, 3) % 4, "b": jnp.arange(20_000)})
    )
    assert len(np.unique(marks, axis=0)) == 20_000
    assert len(np.unique(marks[:, 0])) > 19_990


def test_eviction_looks_at_scores_after_known_levels_were_rescored():
    buffer = scored(a_buffer([1, 2, 3], 3, dataset=1), [0.0, 0.1, 0.2])
    buffer, _ = lowest(buffer, some([2, 9], [9.0, 5.0]))  # 2 is no longer the lowest
    assert names_in(buffer) == [1, 2, 9]


@given(st.permutations(range(5)))
def test_the_order_of_candidates_does_not_matter_twins_included(order):
    names, scores = np.array([7, 7, 2, 2, 8]), np.array([2.0, 8.0, 0.3, 0.9, 4.0])
    buffer = scored(a_buffer([1, 2, 3, 4, 5], 5, dataset=1), [0.0, 0.5, 3.0, 3.5, 3.6])
    after, _ = lowest(buffer, some(names[list(order)], scores[list(order)]))
    assert sorted(names_in(after)) == [1, 4, 5, 7, 8]


def test_fingerprints_tell_fractions_apart():
    marks = np.asarray(fingerprints(jnp.array([[0.2, 0.3], [0.7, 0.9], [0.2, 0.3]])))
    assert (marks[0] == marks[2]).all()
    assert (marks[0] != marks[1]).any()
