"""What the agent's memory gets to see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dred.levels import from_text
from dred.tasks.gridworld.encoders import ENCODERS
from dred.tasks.gridworld.environment import Gridworld
from dred.tasks.gridworld.view import View
from tests.agents.making import new_agent_of

ENV = Gridworld()
LEVEL = from_text("""
    ~~#,.
    .#..~
    >..,G
    #.~..
    .,##.
""")


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_gives_as_many_numbers_as_it_says_for_any_batch(name):
    encoder = ENCODERS[name](jax.random.split(jax.random.key(0), 3))
    image = jax.random.randint(jax.random.key(1), (3, 2, 5, 5, 3), 0, 10).astype(jnp.uint8)
    direction = jnp.array([[0, 1], [2, 3], [0, 0]])
    together = encoder(View(image, direction))
    assert together.shape == (3, 2, encoder.size)
    alone = encoder(View(image[1, 1], direction[1, 1]))
    np.testing.assert_allclose(together[1, 1], alone, rtol=1e-5, atol=1e-5)


def test_tiles_are_told_by_name_one_number_a_kind():
    """By hand: the weights of the tiles in view and of the heading are added up."""
    encoder = ENCODERS["tiles"](jax.random.split(jax.random.key(0), 3))
    _, view = ENV.reset_to(LEVEL, key=jax.random.key(0))
    kinds = {1: 0, 2: 1, 9: 2, 3: 3, 8: 4}  # Minigrid's empty, wall, lava, moss (floor) and goal
    objects = np.asarray(view.image[..., 0]).reshape(-1)
    weight = np.asarray(encoder.layer.weight)
    total = weight[5 * 25 + int(view.direction)].copy()
    for place, number in enumerate(objects.tolist()):
        total += weight[5 * place + kinds[number]]
    np.testing.assert_allclose(encoder(view), np.maximum(total, 0), rtol=1e-5, atol=1e-5)
    assert {kinds[number] for number in objects.tolist()} == {0, 1, 2, 3, 4}


def test_an_agent_that_sees_tiles_has_fewer_weights_and_plays():
    network = new_agent_of(7, hidden_size=128, encoder="tiles", key=jax.random.key(0))
    size = sum(leaf.size for leaf in jax.tree.leaves(network))
    assert size == (129 * 64 + 64) + (64 + 128 + 1) * 512 + 2 * 129 * 32 + 33 * 8
    _, view = ENV.reset_to(LEVEL, key=jax.random.key(0))
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], view)
    memory, output = network.step(network.initial_memory(1), batch)
    assert memory.hidden.shape == (1, 128)
    assert output.logits.shape == (1, 7)
