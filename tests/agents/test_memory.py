"""Memory cells: unrolled over a sequence they give what their steps give, and forget alike."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.agents.memory import MEMORIES, forget
from dred.agents.protocol import Agent
from tests.agents.making import new_agent_of

KEY = jax.random.key(0)


@eqx.filter_jit
def unroll(cell, *given):
    return cell.unroll(*given)


@eqx.filter_jit
def step(cell, memory, inputs, begins):
    return cell.step(forget(memory, begins), inputs)


def problem(name):
    cell = MEMORIES[name](5, 8, key=KEY)
    inputs = jax.random.normal(jax.random.key(1), (7, 3, 5))
    begins = jax.random.bernoulli(jax.random.key(2), 0.3, (7, 3))
    return cell, inputs, begins


@pytest.mark.parametrize("name", MEMORIES)
def test_unrolling_gives_what_the_steps_give(name):
    cell, inputs, begins = problem(name)
    memory, unrolled = cell.initial(3), unroll(cell, inputs, begins)
    for t in range(7):
        memory, output = step(cell, memory, inputs[t], begins[t])
        np.testing.assert_allclose(unrolled[t], output, atol=1e-6)


@pytest.mark.parametrize("name", MEMORIES)
def test_an_unrolled_cell_goes_on_from_the_memory_it_is_given(name):
    cell, inputs, begins = problem(name)
    memory = cell.initial(3)
    for t in range(4):
        memory, _ = step(cell, memory, inputs[t], begins[t])
    later = unroll(cell, inputs[4:], begins[4:], memory)
    np.testing.assert_allclose(later, unroll(cell, inputs, begins)[4:], atol=1e-6)


def test_a_gru_by_hand():
    cell, inputs, _ = problem("gru")
    hidden = np.asarray(jax.random.normal(jax.random.key(3), (3, 8)), np.float64)
    x = np.asarray(inputs[0], np.float64)
    weight, recurrent = (
        np.asarray(part, np.float64) for part in (cell.input_weight, cell.recurrent_weight)
    )
    (r, z, n), (hr, hz, hn) = np.split(x @ weight, 3, axis=1), np.split(hidden @ recurrent, 3, 1)
    update = 1 / (1 + np.exp(-(z + hz)))
    new = np.tanh(n + hn / (1 + np.exp(-(r + hr))))
    memory = cell.initial(3)._replace(hidden=jnp.asarray(hidden, jnp.float32))
    _, output = cell.step(memory, inputs[0])
    np.testing.assert_allclose(output, (1 - update) * new + update * hidden, atol=1e-5)


def test_without_a_memory_the_past_does_not_matter():
    cell, inputs, begins = problem("none")
    changed = inputs.at[:3].set(0.0)
    after = unroll(cell, changed, begins)[3:]
    np.testing.assert_array_equal(after, unroll(cell, inputs, begins)[3:])


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_with_a_memory_it_does(name):
    cell, inputs, _ = problem(name)
    begins = jnp.zeros((7, 3), bool)
    changed = inputs.at[:3].set(0.0)
    later, others = (unroll(cell, given, begins)[3:] for given in (changed, inputs))
    assert jnp.abs(later - others).max() > 1e-3


@pytest.mark.parametrize("name", MEMORIES)
def test_an_agent_with_any_memory_follows_the_protocol(name):
    agent = new_agent_of(7, hidden_size=8, memory=name, key=KEY)
    assert isinstance(agent, Agent)
    assert agent.products > 0
