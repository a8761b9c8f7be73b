"""Procgen: steps of the simulator, images through the network, and where an update's time goes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from dred.agents.ppo import in_pieces
from dred.benchmarks.clock import medians
from dred.benchmarks.show import print_table
from dred.tasks.procgen.convolution import convolve_plainly, pool_plainly
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.play import choose, play
from dred.tasks.procgen.presets import procgen_config
from dred.tasks.procgen.resnet import Convolution, ResNet, new_resnet
from dred.tasks.procgen.state import new_setup, new_state
from dred.tasks.procgen.update import draw_levels, draw_watched_levels, look_at, score_and_learn

GAME = "bigfish"
ENVS, STEPS = 64, 64  # of the simulator, for its rate
BATCH = 512  # images in a minibatch
PARTS = ("playing", "learning", "watching", "guessing")


def features_plainly(
    network: ResNet, image: UInt8[Array, "batch 64 64 3"]
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
    features: Callable[[ResNet, Array], Array], piece: int
) -> Callable[[ResNet, Array], ResNet]:
    """The gradient of anything that needs all of the network's, so many images at once."""

    def loss(network: ResNet, image: Array) -> Array:
        judged = network.heads(features(network, image))
        return (judged.logits**2).mean() + (judged.value**2).mean()

    def gradient(network: ResNet, images: Array) -> ResNet:
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
    network = new_resnet(key=key)
    images = jnp.asarray(random.integers(256, size=(BATCH, 64, 64, 3)), jnp.uint8)
    noise = jnp.zeros((ENVS, NUM_ACTIONS))

    def steps() -> None:
        for row in actions:
            envs.step(row, lambda slots: slots)

    piece = procgen_config(GAME, "uniform", "paper").ppo.cpu_microbatch_size
    fast, plain = gradient_by(ResNet.features, piece), gradient_by(features_plainly, 0)
    calls: dict[str, Callable[[], Any]] = {
        "steps": steps,
        "policy": lambda: choose(network, images[:ENVS], noise),
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
    config = procgen_config(GAME, "value-l1", "laptop")
    setup = new_setup(config)
    state = new_state(setup, key=key)
    envs = ProcgenLevels(GAME, config.ppo.num_envs)
    envs.reset_to(np.arange(config.ppo.num_envs))
    watched = ProcgenLevels(GAME, 2 * config.watch_envs)
    watched.reset_to(np.arange(2 * config.watch_envs))
    levels = np.asarray(draw_levels(state, setup, key=key))
    others = np.asarray(draw_watched_levels(config, key=key))
    network = state.learner.agent
    played = play(network, envs, levels, key=key)
    seen = play(network, watched, others, key=key, keep_images=False)
    calls: dict[str, Callable[[], Any]] = {
        "playing": lambda: play(network, envs, levels, key=key),
        "learning": lambda: score_and_learn(state, played, setup, key=key),
        "watching": lambda: play(network, watched, others, key=key, keep_images=False),
        "guessing": lambda: look_at(state, seen, setup, key=key),
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
