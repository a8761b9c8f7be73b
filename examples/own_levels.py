"""Levels of one's own, drawn as text: checked, split, trained on and evaluated.

python examples/own_levels.py           # some minutes
python examples/own_levels.py smoke     # just to see that it works
"""

import sys

import numpy as np

import dred

preset = sys.argv[1] if len(sys.argv) > 1 else "laptop"
count = 24 if preset == "smoke" else 400


def draw(random, size=9):
    """Return a room with boulders and some lava, as text; the goal is anywhere."""
    tiles = random.choice(list("#~."), (size, size), p=[0.2, 0.05, 0.75])
    start, goal = random.choice(size * size, 2, replace=False)
    tiles.flat[start], tiles.flat[goal] = "S", "G"
    return "\n".join("".join(row) for row in tiles)


random = np.random.default_rng(0)
rooms = (dred.levels.from_text(draw(random)) for _ in range(10 * count))
solvable = [level for level in rooms if dred.levels.is_solvable(level)][:count]
train, held_out = dred.levels.from_levels(solvable).split(0.8)
print(dred.levels.to_text(train[0]))

run = dred.train("plr", levels=train, held_out=held_out, out="runs/own", preset=preset)
print(dred.evaluate(run, suites={"own": train, "own held out": held_out}))
