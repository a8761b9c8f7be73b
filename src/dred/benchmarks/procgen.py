"""Procgen: steps of the simulator, images through the network, and where an update's time goes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from dred.agents.ppo import in_pieces, learn
from dred.benchmarks.clock import medians
from dred.benchmarks.show import print_table
from dred.host import choose, rows
from dred.presets import train_config
from dred.registry import find_task
from dred.task import RunContext
from dred.tasks.procgen.convolution import convolve_plainly, pool_plainly
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.presets import PROCGEN_BUDGETS
from dred.tasks.procgen.network import Convolution, ImageAgent, new_image_agent
from dred.tasks.procgen.task import default_levels
from dred.training.classify import classify
from dred.training.on_host import rollout_in_simulator
from dred.training.simulators import simulators_of
from dred.training.state import new_setup, new_state

GAME = "bigfish"
ENVS, STEPS = 64, 64  # of the simulator, for its rate
BATCH = 512  # images in a minibatch
PARTS = ("playing", "learning", "classifying")


def features_plainly(
    network: ImageAgent, image: UInt8[Array, "batch 64 64 3"]
) -> Float[Array, "batch feature"]:
    """What the network makes of images, with gradients left to JAX."""

    def convolved(layer: Convolution, now: Array) -> Array:
        return convolve_plainly(now, layer.kernel) + layer.bias

    now = image.astype(jnp.float32) / 255.0
    for stage in network.stages:
        now = pool_plainly(convolved(stage.widen, now))
        for block in stage.blocks:
            active = jax.nn.relu(now)
            inner = jax.nn.relu(convolved(block.first, active))
            now = active + convolved(block.second, inner)
    flat = jax.nn.relu(now.reshape(now.shape[0], -1))
    return jax.nn.relu(network.shared(flat))


def gradient_by(
    features: Callable[[ImageAgent, Array], Array], piece: int
) -> Callable[[ImageAgent, Array], ImageAgent]:
    """The gradient of anything that needs all of the network's, so many images at once."""

    def loss(network: ImageAgent, image: Array) -> Array:
        judged = network.heads(features(network, image))
        return (judged.logits**2).mean() + (judged.value**2).mean()

    def gradient(network: ImageAgent, images: Array) -> ImageAgent:
        every = jnp.arange(images.shape[0])
        return in_pieces(lambda some: jax.grad(loss)(network, images[some]), every, piece)

    return jax.jit(gradient)


def run(*, repeats: int, seed: int) -> tuple[dict[str, object], Callable[[], None]]:
    """Measure; the result for JSON, and a function that prints it as a table."""
    repeats = max(3, repeats)
    key = jax.random.key(seed)
    random = np.random.default_rng(seed)
    envs = ProcgenLevels(GAME, ENVS)
    envs.reset_to(np.arange(ENVS))
    actions = random.integers(NUM_ACTIONS, size=(STEPS, ENVS))
    network = new_image_agent(key=key)
    images = jnp.asarray(random.integers(256, size=(BATCH, 64, 64, 3)), jnp.uint8)
    noise, nobody = jnp.zeros((ENVS, NUM_ACTIONS)), jnp.zeros(ENVS, jnp.bool_)

    def steps() -> None:
        for row in actions:
            envs.step(row, lambda slots: slots)

    piece = PROCGEN_BUDGETS["paper"].ppo.cpu_microbatch_size
    fast, plain = gradient_by(ImageAgent.features, piece), gradient_by(features_plainly, 0)
    calls: dict[str, Callable[[], Any]] = {
        "steps": steps,
        "policy": lambda: choose(network, None, images[:ENVS], nobody, noise),
        "learning": lambda: fast(network, images),
        "plain": lambda: plain(network, images),
    }
    seconds = medians(calls, repeats)
    result: dict[str, object] = {
        "benchmark": "procgen",
        "steps_per_second": ENVS * STEPS / seconds["steps"],
        "policy_images_per_second": ENVS / seconds["policy"],
        "learning_images_per_second": BATCH / seconds["learning"],
        "plain_images_per_second": BATCH / seconds["plain"],
        "speedup": seconds["plain"] / seconds["learning"],
        **parts_of_an_update(key, repeats=repeats),
    }
    return result, partial(show, result)


def parts_of_an_update(key: Array, *, repeats: int) -> dict[str, object]:
    """Seconds of each part of an update of the laptop preset, and its share."""
    task = find_task(f"procgen/{GAME}")
    config = train_config("value-l1+mi", "laptop", task.budgets)
    setup = new_setup(config, task)
    levels = default_levels()["train"].levels
    state = new_state(setup, jax.tree.map(jnp.asarray, levels), key=key)
    simulators = simulators_of(setup, (0,)) or {}
    for slots in simulators.values():
        slots.reset_to(rows(levels, np.arange(slots.num_envs)))
    context = RunContext(levels, simulators=simulators)
    played = rollout_in_simulator(state, context=context, setup=setup, key=key)
    calls: dict[str, Callable[[], Any]] = {
        "playing": lambda: rollout_in_simulator(state, context=context, setup=setup, key=key),
        "learning": lambda: learn(
            state.learner,
            played.rollout,
            played.advantage,
            config.ppo,
            setup.optimiser,
            key=key,
        ),
        "classifying": lambda: classify(state, context=context, setup=setup, key=key),
    }
    seconds = medians(calls, repeats)
    total = sum(seconds.values())
    return {
        "update": {part: seconds[part] for part in PARTS},
        "share": {part: seconds[part] / total for part in PARTS},
        "transitions_per_second": config.ppo.transitions_per_update / total,
    }


def show(result: dict[str, Any]) -> None:
    """Print the result as tables."""
    print_table(
        f"Procgen ({GAME}) here, a second",
        ["", "rate"],
        [
            [f"simulator, {ENVS} environments: steps", f"{result['steps_per_second']:,.0f}"],
            [f"policy, {ENVS} at once: images", f"{result['policy_images_per_second']:,.0f}"],
            [
                f"learning, minibatch of {BATCH}: images",
                f"{result['learning_images_per_second']:,.0f}",
            ],
            [
                "  with JAX's own gradients, all at once: images",
                f"{result['plain_images_per_second']:,.0f}",
            ],
            ["a whole update: steps", f"{result['transitions_per_second']:,.0f}"],
        ],
    )
    print(f"learning is {result['speedup']:.1f}x as fast as with JAX's own gradients")
    parts = ", ".join(
        f"{part} {result['update'][part]:.2f} s ({result['share'][part]:.0%})" for part in PARTS
    )
    print(f"an update of the laptop preset: {parts}")
