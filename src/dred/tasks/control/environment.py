"""Devices as an environment: pure functions of a state and a level's parameters."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from dred.environment import Environment, Transition
from dred.tasks.control.system import DELAY, MAX_DELAY, Physics, System

EPISODE = 200  # steps
STEP = 0.05  # seconds
PARTS = 4  # of a step, for the integration
PUSHES = (-1.0, -0.5, 0.0, 0.5, 1.0)  # actions, as shares of the motor's strength
JITTER = 0.05  # of the state in which episodes begin

World = dict[str, Float[Array, " level"]]


class State(eqx.Module):
    """A device, and what its sensors still have to show."""

    level: Int[Array, ""]
    time: Int[Array, ""]
    body: Float[Array, " state"]
    push: Float[Array, ""]  # the last one, as a share of the motor's strength
    shown: Float[Array, "delay sensor"]  # the newest first


class ControlEnvironment(Environment[Mapping[str, Any], World, State, Float[Array, " number"]]):
    """Bring a device upright and keep it there. Its parameters are not observed.

    An episode has 200 steps of 0.05 s. The reward of a step is how upright the device is then, 0 to
    1, over 200: a return is the mean over the episode. The agent sees sensors, which are late by so
    many steps as the level says, its own last push and the time.
    """

    system: System = eqx.field(static=True)

    @property
    def num_actions(self) -> int:
        """Return how many pushes there are."""
        return len(PUSHES)

    def prepare(self, levels: Mapping[str, Any]) -> World:
        """Return levels as single-precision arrays."""
        return {name: jnp.asarray(levels[name], jnp.float32) for name in self.system.names}

    def reset(self, world: World, level: Int[Array, ""], *, bits: UInt32[Array, ""]) -> State:
        """Return a device that hangs at rest, but for a little noise."""
        del world
        rest = jnp.array(self.system.rest, jnp.float32)
        noise = jax.random.normal(jax.random.wrap_key_data(jnp.stack([bits, bits])), rest.shape)
        body = self.system.bound(rest + JITTER * noise)
        shown = jnp.tile(self.system.observe(body), (MAX_DELAY + 1, 1))
        return State(level, jnp.int32(0), body, jnp.float32(0.0), shown)

    def observe(self, world: World, state: State) -> Float[Array, " number"]:
        """Return the sensors as late as they are, the last push, and the share of time gone."""
        delay = jnp.round(world[DELAY][state.level]).astype(jnp.int32)
        sensors = state.shown[jnp.clip(delay, 0, MAX_DELAY)]
        return jnp.concatenate([sensors, jnp.stack([state.push, state.time / EPISODE])])

    def step(self, world: World, state: State, action: Int[Array, ""]) -> Transition[State]:
        """Push for one step; the episode ends by itself after the last."""
        physics = {name: world[name][state.level] for name in self.system.names}
        push = jnp.array(PUSHES, jnp.float32)[action]
        force = push * physics[self.system.strength]
        body = state.body
        for _ in range(PARTS):
            body = self._move(body, force, physics)
        shown = jnp.concatenate([self.system.observe(body)[None], state.shown[:-1]])
        time = state.time + 1
        after = State(state.level, time, body, push, shown)
        reward = self.system.upright(body) / EPISODE
        return Transition(after, reward, time >= EPISODE, jnp.bool_(False))

    def _move(
        self, body: Float[Array, " state"], force: Float[Array, ""], physics: Physics
    ) -> Float[Array, " state"]:
        """Return the state a part of a step later: velocities first (symplectic Euler)."""
        length = STEP / PARTS
        half = body.shape[0] // 2
        velocity = body[half:] + length * self.system.acceleration(body, force, physics)
        return self.system.bound(jnp.concatenate([body[:half] + length * velocity, velocity]))
