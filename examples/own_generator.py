"""A generator of one's own: mirror images of the levels that were replayed.

python examples/own_generator.py           # some minutes
python examples/own_generator.py smoke     # just to see that it works
"""

import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp

import dred


def mirrored(given, settings, key):
    """Return each parent, or its mirror image, by the toss of a coin."""
    level = given.parents
    last = level.tiles.shape[2] - 1
    flip = jax.random.bernoulli(key, settings.chance, level.goal.shape[:1])

    def across(place):
        return jnp.where(
            flip[:, None], place * jnp.array([[1, -1]]) + jnp.array([[0, last]]), place
        )

    tiles = jnp.where(flip[:, None, None], level.tiles[:, :, ::-1], level.tiles)
    return level._replace(tiles=tiles, goal=across(level.goal), start=across(level.start))


@dataclass(frozen=True)
class Mirror:
    """How levels are mirrored."""

    chance: float = 0.5
    """Probability to mirror a level; else it is as it was."""


dred.register_generator("mirror", dred.Generator(mirrored, settings=Mirror(), uses_parents=True))
dred.register_method(dred.Method("mirrored", capacity=4000, mutation_generator="mirror"))


def main(preset="laptop"):
    """Train with mirror images, and say what is in the buffer."""
    levels = dred.levels.make("cave-escape-train", count=16 if preset == "smoke" else 512)
    change = {"method.generator_settings.mirror.chance": 1.0, "method.admit": "all"}
    run = dred.train(
        "mirrored",
        levels=levels,
        out="runs/mirrored",
        preset=preset,
        set=change,
        plugins=[__file__],
    )
    made = run.buffer().levels.structure
    print(f"{(made == 'mirror').sum()} of {len(made)} levels in the buffer are mirror images")


if __name__ == "__main__":
    main(*sys.argv[1:])
