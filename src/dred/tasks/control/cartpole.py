"""A pole on a cart, which must swing it up and keep it there without leaving its track.

The equations are those of Barto, Sutton and Anderson (1983) with friction of the cart, and θ = 0
upright. The cart stops at the ends of its track.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from dred.tasks.control.system import DELAY, MAX_DELAY, Physics, System
from dred.tasks.vectors.box import Parameter

TRACK = 2.4  # metres to either end
FASTEST = 20.0  # of cart and pole, in metres and radians a second


def acceleration(state: Float[Array, " state"], push: Array, physics: Physics) -> Array:
    """Return x″ and θ″ for a push of the motor, as a force."""
    _, angle, speed, turning = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    mass = physics["cart_mass"] + physics["pole_mass"]
    half = physics["length"] / 2
    force = push - physics["friction"] * speed
    shared = (force + physics["pole_mass"] * half * turning**2 * sine) / mass
    turn = (physics["gravity"] * sine - cosine * shared) / (
        half * (4.0 / 3.0 - physics["pole_mass"] * cosine**2 / mass)
    )
    return jnp.stack([shared - physics["pole_mass"] * half * turn * cosine / mass, turn])


def bound(state: Float[Array, " state"]) -> Float[Array, " state"]:
    """Return the state with the cart on its track, where it stops at the ends."""
    place, angle, speed, turning = state
    inside = jnp.abs(place) < TRACK
    return jnp.stack(
        [
            jnp.clip(place, -TRACK, TRACK),
            jnp.mod(angle + jnp.pi, 2 * jnp.pi) - jnp.pi,
            jnp.where(inside, jnp.clip(speed, -FASTEST, FASTEST), 0.0),
            jnp.clip(turning, -FASTEST, FASTEST),
        ]
    )


def observe(state: Float[Array, " state"]) -> Float[Array, " sensor"]:
    """Return place and speed of the cart, direction and turning of the pole."""
    place, angle, speed, turning = state
    parts = [place / TRACK, speed / 4.0, jnp.cos(angle), jnp.sin(angle), turning / 8.0]
    return jnp.stack(parts)


def upright(state: Float[Array, " state"]) -> Float[Array, ""]:
    """Return 1 for an upright pole in the middle, less towards the ends, 0 for a hanging one."""
    middle = 1.0 - 0.5 * (state[0] / TRACK) ** 2
    return middle * (0.5 * (1.0 + jnp.cos(state[1]))) ** 2


def draw(
    size: NDArray[np.float64], quality: NDArray[np.float64], random: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Return carts of these sizes and qualities: a stronger motor makes a heavier cart."""
    count = len(size)
    length = 0.5 + 0.8 * size
    pole_mass = (0.06 + 0.24 * size) * random.normal(1.0, 0.05, count)
    wanted = (6.0 + 6.0 * quality) * (0.6 + 0.8 * size)
    cart_mass = 0.3 + 0.05 * wanted * random.normal(1.0, 0.05, count)
    return {
        "cart_mass": cart_mass,
        "pole_mass": pole_mass,
        "length": length,
        "gravity": random.normal(9.8, 0.1, count),
        "force": wanted * random.normal(1.0, 0.03, count),
        "friction": (0.05 + 0.45 * (1.0 - quality)) * cart_mass,
        DELAY: (1.0 - quality) * 1.5 + random.uniform(-0.5, 0.5, count),
    }


def outline(state: NDArray[np.float64], physics: dict[str, float]) -> list[NDArray[np.float64]]:
    """Return the track, the cart and the pole."""
    place, angle = state[:2]
    cart = np.array([place, 0.0])
    end = cart + physics["length"] * np.array([np.sin(angle), np.cos(angle)])
    track = np.array([[-TRACK, -0.1], [TRACK, -0.1]])
    box = cart + np.array([[-0.2, -0.1], [0.2, -0.1], [0.2, 0.1], [-0.2, 0.1], [-0.2, -0.1]])
    return [track, box, np.stack([cart, end])]


CARTPOLE = System(
    name="cartpole",
    parameters=(
        Parameter("cart_mass", 0.2, 2.0, "mass of the cart, kg"),
        Parameter("pole_mass", 0.02, 0.5, "mass of the pole, kg"),
        Parameter("length", 0.3, 1.7, "length of the pole, m"),
        Parameter("gravity", 6.0, 14.0, "gravity, m/s²"),
        Parameter("force", 1.0, 24.0, "force of the motor, N"),
        Parameter("friction", 0.0, 1.0, "friction of the cart, Ns/m"),
        Parameter(DELAY, 0.0, float(MAX_DELAY), "delay of the sensors, steps"),
    ),
    rest=(0.0, np.pi, 0.0, 0.0),
    acceleration=acceleration,
    bound=bound,
    observe=observe,
    upright=upright,
    strength="force",
    draw=draw,
    outline=outline,
)
