"""Any Gymnasium environment as a task: carts with poles, from a table of measured ones.

As it is, this writes such tables: carts.csv, to train on, and other-carts.csv. What the physics of
a cart are, the agent does not see.
"""

import csv
import sys

import gymnasium
import numpy as np

import dred

BOX = {
    "gravity": (8.0, 12.0),
    "masscart": (0.3, 3.0),
    "masspole": (0.02, 0.6),
    "length": (0.1, 1.5),
    "force_mag": (2.0, 30.0),
}


def make_env(render_mode=None):
    """Return the environment of which the physics are set."""
    return gymnasium.make("CartPole-v1", render_mode=render_mode, max_episode_steps=200)


def set_level(env, level):
    """Set the physics, and what CartPole has computed from them when it was made."""
    cart = env.unwrapped
    for name, value in level.items():
        setattr(cart, name, value)
    cart.total_mass = cart.masspole + cart.masscart
    cart.polemass_length = cart.masspole * cart.length


carts = dred.tasks.gymnasium(
    make_env,
    set_level=set_level,
    box=BOX,
    name="carts",
    max_return=200.0,
    solved=195.0,
    return_meaning="A return is for how many steps the pole stayed up, 200 at most.",
    labels={"gravity": "gravity, m/s²", "force_mag": "force of the motor, N"},
)


def write_carts(path, count, seed):
    """Write a table of carts that exist: longer poles are heavier, and have stronger motors."""
    random = np.random.default_rng(seed)
    size = random.beta(2.0, 2.0, count)
    columns = {
        "serial": np.arange(count) + 1000 * seed,
        "gravity": random.normal(9.8, 0.05, count),
        "masscart": 0.5 + 1.5 * size + random.normal(0.0, 0.05, count),
        "masspole": 0.05 + 0.3 * size,
        "length": 0.25 + 0.75 * size,
        "force_mag": 6.0 + 12.0 * size + random.normal(0.0, 0.5, count),
    }
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))


if __name__ == "__main__":
    count = 8 if "smoke" in sys.argv[1:] else 64
    write_carts("carts.csv", count, seed=0)
    write_carts("other-carts.csv", count, seed=1)
