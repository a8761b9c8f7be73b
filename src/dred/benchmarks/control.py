"""Steps a second of the control environments in JAX, of Gymnasium's, and of the host adapter.

All with random actions, in one process and taking turns, the median of repeats. Gymnasium's
environments of the same names have other rewards and no delays, but about the same equations; ours
integrate four parts of each step. The host adapter plays Gymnasium's own CartPole, each episode in
a level drawn anew, beside the vector environment of Gymnasium that plays it without levels.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import SyncVectorEnv
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import NDArray

from dred import progress
from dred.agents.episodes import Start, begin, next_level, play_on, uniform
from dred.benchmarks.clock import medians
from dred.benchmarks.show import number, print_table
from dred.host import rows
from dred.tasks import gymnasium as as_task
from dred.tasks.control.environment import ControlEnvironment
from dred.tasks.control.levels import make
from dred.tasks.control.task import SYSTEMS

BATCHES = (32, 4096)
STEPS = 2**17  # of all agents together, in JAX
HOST_ENVS, HOST_STEPS = 32, 100  # environments side by side, and steps of each, on the host
PROCESSES = (0, 2)  # of the host adapter; 0 for this one alone
THEIR_NAMES = {"pendulum": "Pendulum-v1", "cartpole": "CartPole-v1"}
BOX = {"gravity": (8.0, 12.0), "length": (0.3, 0.8)}

Result = tuple[dict[str, object], Callable[[], None]]


@eqx.filter_jit
def random_play(
    env: ControlEnvironment,
    world: Any,  # noqa: ANN401  (of this environment)
    start: Start,
    key: PRNGKeyArray,
    length: int,
) -> tuple[Array, Array]:
    """Play random actions for a while; what an agent would see and be paid is computed."""
    count = start.level.shape[0]
    key_action, key_start = jax.random.split(key)
    actions = jax.random.randint(key_action, (length, count), 0, env.num_actions)
    bits = jax.random.bits(key_start, (length, count, 2))
    chooses = next_level(uniform(env.num_levels(world)))

    def step(now: tuple[Start, Any], drawn: tuple[Array, Array]) -> tuple[Any, Any]:
        played = play_on(env, world, *now, drawn[0], next_start=chooses, bits=drawn[1])
        return (played.start, played.state), (played.observation, played.reward)

    return jax.lax.scan(step, (start, begin(env, world, start)), (actions, bits))[1]


def in_jax(name: str, batch: int, seed: int) -> Callable[[], Any]:
    """Return a call that plays one of our environments."""
    env = ControlEnvironment(system=SYSTEMS[name])
    levels = make(SYSTEMS[name], "train")
    world = env.prepare(levels.levels)
    start = Start(
        jnp.arange(batch, dtype=jnp.int32) % len(levels),
        jax.random.bits(jax.random.key(seed), (batch,)),
    )
    return partial(random_play, env, world, start, jax.random.key(seed), STEPS // batch)


def in_gymnasium(envs: Any, seed: int) -> Callable[[], None]:  # noqa: ANN401  (a VectorEnv)
    """Return a call that plays environments of Gymnasium's, side by side."""
    envs.reset(seed=seed)
    envs.action_space.seed(seed)
    actions = [envs.action_space.sample() for _ in range(HOST_STEPS)]

    def play() -> None:
        for action in actions:
            envs.step(action)

    return play


def make_cart() -> Any:  # noqa: ANN401  (a gymnasium.Env)
    """Return Gymnasium's own cart with a pole."""
    return gymnasium.make("CartPole-v1")


def set_cart(env: Any, level: dict[str, float]) -> None:  # noqa: ANN401
    """Set its physics."""
    cart = env.unwrapped
    cart.gravity, cart.length = level["gravity"], level["length"]
    cart.polemass_length = cart.masspole * cart.length


def in_adapter(processes: int, seed: int) -> Callable[[], None]:
    """Return a call that plays the same carts behind the host adapter, in levels."""
    where = f"{__name__}:"
    task = as_task(
        f"{where}make_cart", set_level=f"{where}set_cart", box=BOX, processes=processes, name="cart"
    )
    random = np.random.default_rng(seed)
    levels = {name: random.uniform(*ends, 64).astype(np.float32) for name, ends in BOX.items()}
    environment: Any = task.environment
    slots = environment.open(HOST_ENVS, seed=seed)
    slots.reset_to(rows(levels, np.arange(HOST_ENVS)))
    actions = random.integers(0, 2, (HOST_STEPS, HOST_ENVS))

    def next_levels(ended: NDArray[np.intp]) -> Any:  # noqa: ANN401
        return rows(levels, random.integers(0, 64, len(ended)))

    def play() -> None:
        for action in actions:
            slots.step(action, next_levels)

    return play


def vector_of(name: str) -> SyncVectorEnv:
    """Return environments of Gymnasium's, one after the other in this process."""
    return SyncVectorEnv([partial(gymnasium.make, name) for _ in range(HOST_ENVS)])


def run(*, repeats: int, seed: int) -> Result:
    """Measure; the result for JSON, and a function that prints it as a table."""
    calls: dict[str, Callable[[], Any]] = {}
    counts: dict[str, int] = {}
    for name, theirs in THEIR_NAMES.items():
        for batch in BATCHES:
            words = f"dred control/{name}, {batch} agents"
            calls[words], counts[words] = in_jax(name, batch, seed), STEPS
        words = f"gymnasium {theirs}, {HOST_ENVS} in gymnasium.vector"
        calls[words] = in_gymnasium(vector_of(theirs), seed)
    words = f"gymnasium CartPole-v1, {HOST_ENVS} as one program of NumPy"
    calls[words] = in_gymnasium(gymnasium.make_vec("CartPole-v1", HOST_ENVS), seed)
    for processes in PROCESSES:
        where = f"in {processes} processes" if processes else "in this process"
        calls[f"host adapter, CartPole-v1, {HOST_ENVS} {where}"] = in_adapter(processes, seed)
    with progress.bar("measuring", repeats, unit="rounds") as advance:
        times = medians(calls, repeats, lambda: advance(1))
    host = HOST_ENVS * HOST_STEPS
    rates = {words: counts.get(words, host) / seconds for words, seconds in times.items()}
    plain = rates[f"gymnasium CartPole-v1, {HOST_ENVS} in gymnasium.vector"]
    lines = [
        {"what": words, "steps_per_second": rate, "times_gymnasium_vector": rate / plain}
        for words, rate in rates.items()
    ]
    return {"benchmark": "control", "rows": lines}, partial(show, lines)


def show(lines: list[dict[str, Any]]) -> None:
    """Print the result as a table."""
    table = [
        (
            line["what"],
            number(line["steps_per_second"], "{:,.0f}"),
            number(line["times_gymnasium_vector"], "{:,.2f}×"),
        )
        for line in lines
    ]
    title = "Random actions, with observations and restarts"
    print_table(title, ("", "steps/s", "of CartPole-v1 in gymnasium.vector"), table)
