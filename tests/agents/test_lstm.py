from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dred.agents.lstm import LSTM, Memory, new_lstm
from tests.oracles import learning as oracle

unroll = jax.jit(LSTM.unroll)


@partial(jax.jit, static_argnums=(1, 2, 3, 4))
def problem(seed, num_steps=7, num_envs=3, size=4, inputs=5):
    keys = jax.random.split(jax.random.key(seed), 4)
    lstm = new_lstm(inputs, size, key=keys[0])
    lstm = LSTM(lstm.input_weight, lstm.recurrent_weight, jax.random.normal(keys[1], (4 * size,)))
    x = jax.random.normal(keys[2], (num_steps, num_envs, inputs))
    begins = jax.random.bernoulli(keys[3], 0.3, (num_steps, num_envs)).at[0].set(True)
    return lstm, x, begins


@given(seed=st.integers(0, 200))
def test_hidden_states_equal_those_of_a_plain_loop(seed):
    lstm, x, begins = problem(seed)
    slow = oracle.lstm(*(np.asarray(a, np.float64) for a in (x, begins, *jax.tree.leaves(lstm))))
    np.testing.assert_allclose(unroll(lstm, x, begins), slow, atol=2e-6)


@given(seed=st.integers(0, 200))
def test_a_first_memory_is_gone_on_from_as_in_a_plain_loop(seed):
    lstm, x, begins = problem(seed)
    begins = begins.at[0].set(jnp.array([True, False, False]))
    memory = Memory(*jax.random.normal(jax.random.key(seed), (2, 3, 4)))
    arrays = (np.asarray(a, np.float64) for a in (x, begins, *jax.tree.leaves(lstm)))
    slow = oracle.lstm(*arrays, memory=[np.asarray(part, np.float64) for part in memory])
    np.testing.assert_allclose(unroll(lstm, x, begins, memory), slow, atol=2e-6)
    forgotten = unroll(lstm, x, begins)[:, 0]  # an episode begins there, so nothing is remembered
    np.testing.assert_array_equal(unroll(lstm, x, begins, memory)[:, 0], forgotten)


def test_steps_one_by_one_equal_the_pass_over_time():
    lstm, x, begins = problem(1)
    memory = lstm.initial(3)
    together = unroll(lstm, x, begins)
    step = jax.jit(LSTM.step)
    for t in range(len(x)):
        keep = jnp.where(begins[t], 0.0, 1.0)[:, None]
        memory, _ = step(lstm, Memory(memory.hidden * keep, memory.cell * keep), x[t])
        np.testing.assert_allclose(memory.hidden, together[t], atol=1e-6)


def loss(lstm, x, begins, weights, memory=None):
    return jnp.sum(lstm.unroll(x, begins, memory) * weights)


def plain_loss(lstm, x, begins, weights, memory):
    """The same, differentiated by JAX itself: no kernel of ours."""
    hidden, cell = memory
    total = 0.0
    for t in range(x.shape[0]):
        keep = jnp.where(begins[t], 0.0, 1.0)[:, None]
        z = x[t] @ lstm.input_weight + (hidden * keep) @ lstm.recurrent_weight + lstm.bias[None]
        i, f, o, g = jnp.split(z, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell * keep + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        total += jnp.sum(hidden * weights[t])
    return total


our_gradients, their_gradients = (
    jax.jit(jax.grad(function, argnums=(0, 1, 4))) for function in (loss, plain_loss)
)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_equal_those_of_plain_jax(seed):
    lstm, x, begins = problem(seed)
    begins = begins.at[0].set(jnp.array([True, False, False]))
    weights = jax.random.normal(jax.random.key(99), (*x.shape[:2], lstm.size))
    memory = Memory(*jax.random.normal(jax.random.key(seed), (2, 3, 4)))
    ours = our_gradients(lstm, x, begins, weights, memory)
    theirs = their_gradients(lstm, x, begins, weights, memory)
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-5)


def test_gradients_equal_finite_differences():
    lstm, x, begins = problem(3)
    weights = jax.random.normal(jax.random.key(7), (*x.shape[:2], lstm.size))
    gradient = jax.jit(jax.grad(loss))(lstm, x, begins, weights)
    parts = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(lstm)]
    arguments = [np.asarray(a, np.float64) for a in (x, begins)]

    def at(changed):
        return (oracle.lstm(*arguments, *changed) * np.asarray(weights)).sum()

    for number, leaf in enumerate(jax.tree.leaves(gradient)):
        for index in list(np.ndindex(leaf.shape))[:: max(1, leaf.size // 6)]:
            sides = []
            for step in (1e-5, -1e-5):
                changed = [part.copy() for part in parts]
                changed[number][index] += step
                sides.append(at(changed))
            slope = (sides[0] - sides[1]) / 2e-5
            assert float(leaf[index]) == pytest.approx(slope, abs=1e-4)


def test_nothing_of_an_episode_reaches_the_next():
    lstm, x, _ = problem(4)
    begins = jnp.zeros(x.shape[:2], jnp.bool_).at[0].set(True).at[4].set(True)
    changed = x.at[2].add(10.0)
    np.testing.assert_array_equal(unroll(lstm, x, begins)[4:], unroll(lstm, changed, begins)[4:])


def test_first_weights_are_orthogonal():
    lstm = new_lstm(149, 256, key=jax.random.key(0))
    for weight in (lstm.input_weight, lstm.recurrent_weight):
        np.testing.assert_allclose(weight @ weight.T, np.eye(len(weight)), atol=1e-4)
    assert not lstm.bias.any()
