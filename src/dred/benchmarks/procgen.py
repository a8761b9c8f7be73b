"""Procgen: updates of the laptop preset with each network, by part, and what bounds them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from dred import progress
from dred.agents.encoders import Linear
from dred.agents.ppo import in_pieces, learn
from dred.benchmarks.clock import medians
from dred.benchmarks.show import print_table
from dred.compute import use_devices
from dred.config import TrainConfig
from dred.devices import most_devices, placed
from dred.host import rows
from dred.presets import train_config
from dred.registry import find_task
from dred.task import RunContext
from dred.tasks.procgen.convolution import convolve_plainly, pool_plainly
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.network import ENCODERS, Convolution, ImageAgent, new_image_agent
from dred.tasks.procgen.presets import PROCGEN_BUDGETS, PROCGEN_METHODS
from dred.training.classify import classify
from dred.training.on_host import rollout_in_simulator
from dred.training.simulators import simulators_of
from dred.training.state import key_of_update, new_setup, new_state
from dred.training.update import update

GAME, METHOD, LEVELS = "coinrun", "uniform", "0-99"
ENVS, STEPS = 64, 64  # of the simulator, for its rate
BATCH = 512  # images in a minibatch, for the comparison with JAX's own gradients
PIECES = {"impala": 16, "impala-small": 16, "patches": 0}  # images at once, as is fastest; 0: all
PARTS = ("playing", "learning", "watching")


def features_plainly(
    network: ImageAgent, image: UInt8[Array, "batch 64 64 3"]
) -> Float[Array, "batch feature"]:
    """What the network makes of images, with gradients left to JAX."""

    def convolved(layer: Convolution | Linear, now: Array) -> Array:
        if isinstance(layer, Linear):
            raise TypeError("The comparison is about networks that begin with a convolution.")
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
    use_devices()
    calls = {**calls_alone(seed), **calls_of_updates(seed)}
    repeats = max(3, repeats)
    with progress.bar("compiling and measuring", 1 + repeats, unit="rounds") as advance:
        seconds = medians(calls, repeats, after_each=lambda: advance(1))
        advance(1)
    result: dict[str, object] = {
        "benchmark": "procgen",
        "game": GAME,
        "devices": devices_of(config_with(next(iter(ENCODERS)))),
        "steps_per_second": ENVS * STEPS / seconds["simulator"],
        "learning_images_per_second": BATCH / seconds["impala"],
        "plain_images_per_second": BATCH / seconds["impala, plain"],
        "speedup": seconds["impala, plain"] / seconds["impala"],
        "networks": [row_of(name, seconds) for name in ENCODERS],
    }
    return result, partial(show, result)


def calls_alone(seed: int) -> dict[str, Callable[[], Any]]:
    """The simulator alone, and the paper's network beside what JAX makes of it."""
    random = np.random.default_rng(seed)
    envs = ProcgenLevels(GAME, ENVS)
    envs.reset_to(np.arange(ENVS))
    actions = random.integers(NUM_ACTIONS, size=(STEPS, ENVS))
    network = new_image_agent(key=jax.random.key(seed))
    images = jnp.asarray(random.integers(256, size=(BATCH, 64, 64, 3)), jnp.uint8)
    fast, plain = (
        gradient_by(ImageAgent.features, PIECES["impala"]),
        gradient_by(features_plainly, 0),
    )

    def steps() -> None:
        for row in actions:
            envs.step(row, lambda slots: slots)

    return {
        "simulator": steps,
        "impala": lambda: fast(network, images),
        "impala, plain": lambda: plain(network, images),
    }


def config_with(encoder: str) -> TrainConfig:
    """The laptop preset with a network, on all devices."""
    config = train_config(METHOD, "laptop", PROCGEN_BUDGETS, PROCGEN_METHODS)
    agent = replace(config.agent, encoder=encoder)
    ppo = replace(config.ppo, cpu_microbatch_size=PIECES[encoder])
    return replace(config, agent=agent, ppo=ppo, devices=devices_of(config))


def devices_of(config: TrainConfig) -> int:
    """Return over how many devices agents are spread here."""
    return most_devices(config.ppo, jax.device_count())


def calls_of_updates(seed: int) -> dict[str, Callable[[], Any]]:
    """Whole updates with each network, which go on from each other, and their parts."""
    calls: dict[str, Callable[[], Any]] = {}
    for encoder in ENCODERS:
        calls |= {f"{encoder} {part}": call for part, call in parts_of_an_update(encoder, seed)}
    return calls


def parts_of_an_update(encoder: str, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what plays, learns and watches, and what does all of it."""
    task, key = find_task(f"procgen/{GAME}"), jax.random.key(seed)
    config = config_with(encoder)
    setup = new_setup(config, task)
    levels = task.level_format.load(LEVELS).levels
    state = placed(new_state(setup, jax.tree.map(jnp.asarray, levels), key=key), setup.mesh)
    simulators = simulators_of(setup, (seed,)) or {}
    for slots in simulators.values():
        slots.reset_to(rows(levels, np.arange(slots.num_envs)))
    context = RunContext(levels, simulators=simulators)
    played = rollout_in_simulator(state, context=context, setup=setup, key=key)
    now = [state]

    def whole_update() -> Any:  # noqa: ANN401  (a state)
        key_now = key_of_update(key, now[0].num_updates)
        now[0], _ = update(now[0], context=context, setup=setup, key=key_now)
        return now[0]

    yield "playing", lambda: rollout_in_simulator(state, context=context, setup=setup, key=key)
    yield (
        "learning",
        lambda: learn(
            state.learner,
            played.rollout,
            played.advantage,
            config.ppo,
            setup.optimiser,
            mesh=setup.mesh,
            key=key,
        ),
    )
    yield "watching", lambda: classify(state, context=context, setup=setup, key=key)
    yield "in all", whole_update


def row_of(encoder: str, seconds: dict[str, float]) -> dict[str, object]:
    """Steps a second with a network: in all, and if there were only one part."""
    steps = config_with(encoder).ppo.transitions_per_update
    shape = jax.eval_shape(lambda key: new_image_agent(encoder, key=key), jax.random.key(0))
    return {
        "network": encoder,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(shape)),
        **{part: steps / seconds[f"{encoder} {part}"] for part in ("in all", *PARTS)},
    }


def show(result: dict[str, Any]) -> None:
    """Print the result as tables."""
    print_table(
        f"Procgen ({GAME}) here, laptop preset on {result['devices']} devices: steps a second",
        ["network", "parameters", "in all", *PARTS],
        [
            [row["network"], f"{row['parameters']:,}"]
            + [f"{row[part]:,.0f}" for part in ("in all", *PARTS)]
            for row in result["networks"]
        ],
    )
    print("watching: the classifier's own episodes, an eighth as many steps, and what it learns")
    print(f"the simulator alone: {result['steps_per_second']:,.0f} steps a second")
    print(
        f"impala, minibatches of {BATCH}: {result['learning_images_per_second']:,.0f} images a "
        f"second, {result['speedup']:.1f}x as many as with JAX's own gradients"
    )
