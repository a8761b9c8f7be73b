"""A pendulum that a motor too weak to lift it must swing up.

    m l² θ″ = u τ − b θ′ + m g l sin θ        θ = 0 upright, u in [−1, 1] the motor's share of τ

Devices that exist lie near a surface with two coordinates: larger ones are longer and heavier, and
a motor is chosen for the weight it has to move; poorer ones have weaker motors, more friction and
later sensors. A box of independent parameters is mostly full of devices that nobody would build.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from dred.tasks.control.system import DELAY, MAX_DELAY, Physics, System
from dred.tasks.vectors.box import Parameter

TOP_SPEED = 8.0  # of what sensors show, in radians a second


def acceleration(state: Float[Array, " state"], push: Array, physics: Physics) -> Array:
    """Return θ″ for a push of the motor, as a torque."""
    angle, speed = state
    inertia = physics["mass"] * physics["length"] ** 2
    weight = physics["mass"] * physics["gravity"] * physics["length"] * jnp.sin(angle)
    return ((push - physics["friction"] * speed + weight) / inertia)[None]


def bound(state: Float[Array, " state"]) -> Float[Array, " state"]:
    """Return the state with its angle between −π and π."""
    angle = jnp.mod(state[0] + jnp.pi, 2 * jnp.pi) - jnp.pi
    return jnp.stack([angle, jnp.clip(state[1], -4 * TOP_SPEED, 4 * TOP_SPEED)])


def observe(state: Float[Array, " state"]) -> Float[Array, " sensor"]:
    """Return the direction of the rod, and how fast it turns."""
    return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1] / TOP_SPEED])


def upright(state: Float[Array, " state"]) -> Float[Array, ""]:
    """Return 1 at the top, 0 at the bottom, less than a half at the sides."""
    return (0.5 * (1.0 + jnp.cos(state[0]))) ** 2


def draw(
    size: NDArray[np.float64], quality: NDArray[np.float64], random: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Return pendulums of these sizes and qualities."""
    count = len(size)
    length = 0.4 + 0.7 * size
    mass = (0.4 + 1.2 * size) * random.normal(1.0, 0.05, count)
    gravity = random.normal(9.8, 0.1, count)
    torque = (0.5 + 0.35 * quality) * mass * gravity * length * random.normal(1.0, 0.03, count)
    friction = (0.02 + 0.18 * (1.0 - quality)) * mass * length**2
    return {
        "length": length,
        "mass": mass,
        "gravity": gravity,
        "torque": torque,
        "friction": friction,
        DELAY: (1.0 - quality) * 2.0 + random.uniform(-0.5, 0.5, count),
    }


def outline(state: NDArray[np.float64], physics: dict[str, float]) -> list[NDArray[np.float64]]:
    """Return the rod."""
    end = physics["length"] * np.array([np.sin(state[0]), np.cos(state[0])])
    return [np.stack([np.zeros(2), end])]


PENDULUM = System(
    name="pendulum",
    parameters=(
        Parameter("length", 0.3, 1.4, "length, m"),
        Parameter("mass", 0.2, 2.4, "mass, kg"),
        Parameter("gravity", 6.0, 14.0, "gravity, m/s²"),
        Parameter("torque", 0.5, 24.0, "torque of the motor, Nm"),
        Parameter("friction", 0.0, 0.9, "friction, Nms"),
        Parameter(DELAY, 0.0, float(MAX_DELAY), "delay of the sensors, steps"),
    ),
    rest=(np.pi, 0.0),
    acceleration=acceleration,
    bound=bound,
    observe=observe,
    upright=upright,
    strength="torque",
    draw=draw,
    outline=outline,
)
