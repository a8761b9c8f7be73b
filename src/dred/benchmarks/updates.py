"""Updates, their parts and what is measured between them, ready to be timed.

The parts are compiled and timed on their own; the whole update is timed as it is trained. The rate
of the machine is that of a large float32 product, measured in the same run.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dred.agents.ppo import estimate_advantages, learn
from dred.agents.protocol import Agent
from dred.benchmarks.clock import medians
from dred.config import PPOConfig, TrainConfig
from dred.devices import placed
from dred.generation import models_for, needs_fitted, settings_of
from dred.presets import METHODS, train_config
from dred.task import GeneratorInput, RunContext
from dred.tasks.gridworld.generators.vae.fitted import FittedVAE
from dred.tasks.gridworld.generators.vae.model import LevelVAE
from dred.tasks.gridworld.levels import make
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.presets import VAES
from dred.tasks.gridworld.task import ENVIRONMENT, GRIDWORLD
from dred.training.measure import information_about, returns_drawn, returns_in
from dred.training.phases import ROLLOUTS
from dred.training.state import Setup, Stored, TrainState, new_setup, new_state, run_key
from dred.training.update import update
from dred.training.watch import describe_buffers, weigh

PRODUCT = 2048  # side of the matrices of the measured product
CAPACITIES = (4_000, 400_000)  # of the buffers compared
NUM_ENVS = PPOConfig().num_envs
UPDATES = 4  # in one compiled call, as in training
FORWARD_AND_BACKWARD = 3  # the backward pass takes two products for each of the forward pass


def learning_flops(config: PPOConfig, agent: Agent) -> float:
    """Floating-point operations of the matrix products in one time of learning."""
    return 2 * agent.products * config.transitions_per_update * config.epochs * FORWARD_AND_BACKWARD


def play_once(state: TrainState, context: RunContext, key: jax.Array, setup: Setup) -> Any:  # noqa: ANN401
    """The rollout of one update, scored."""
    return ROLLOUTS[setup.config.method.learn_on](state, context=context, setup=setup, key=key)


def learn_once(state: TrainState, rollout: Any, key: jax.Array, setup: Setup) -> TrainState:  # noqa: ANN401
    """The learning of one update."""
    ppo = setup.config.ppo
    advantage = estimate_advantages(rollout, ppo)
    learner, _ = learn(
        state.learner, rollout, advantage, ppo, setup.optimiser, mesh=setup.mesh, key=key
    )
    return replace(state, learner=learner)


def several(
    step: Callable[[TrainState, Any, jax.Array], TrainState],
) -> Callable[[TrainState, Any, jax.Array], TrainState]:
    """Several steps in one compiled call, as in training; the state given is used up."""

    @partial(jax.jit, donate_argnums=(0,))
    def steps(state: TrainState, given: Any, key: jax.Array) -> TrainState:  # noqa: ANN401
        keys = jax.random.split(key, UPDATES)
        return jax.lax.scan(lambda state, key: (step(state, given, key), None), state, keys)[0]

    return steps


def make_step(setup: Setup) -> Callable[[TrainState, Any, jax.Array], TrainState]:
    """Several updates in one compiled call."""
    return several(lambda state, given, key: update(state, context=given, setup=setup, key=key)[0])


def tried_levels(state: TrainState) -> int:
    """How many levels were made and scored since the beginning."""
    return int(state.buffer.num_admitted + state.buffer.num_refused)


def going_on(
    steps: Callable[[TrainState, Any, jax.Array], TrainState],
    state: TrainState,
    given: Any,  # noqa: ANN401  (any pytree)
    key: jax.Array,
) -> Callable[[], TrainState]:
    """A call that goes on from where it was, each time it is called."""

    def call() -> TrainState:
        nonlocal state
        state = steps(state, given, key)
        return state

    return call


class Bench:
    """The methods at the paper's setting, timed in turns, so that noise falls on all alike."""

    def __init__(self, seed: int) -> None:
        self.key = run_key(seed)
        self.levels = make("cave-escape-train", seed=seed)
        self.dataset = Level(*(jnp.asarray(part) for part in self.levels.levels))
        self.matrix = jax.random.normal(jax.random.key(0), (PRODUCT, PRODUCT))
        self.product = jax.jit(jnp.matmul)

    def given(self, method: str) -> RunContext:
        """What a method is given. The model need not be fitted to be timed."""
        config = METHODS[method]
        if not needs_fitted(config, GRIDWORLD):
            return RunContext(self.dataset, models_for(config, GRIDWORLD, self.levels, None))
        cells = self.levels.shape[0] * self.levels.shape[1]
        vae = VAES["default"]
        model = LevelVAE(vae, cells, key=self.key)
        return RunContext(self.dataset, {"vae": FittedVAE(model, vae, self.levels).space})

    def generating(self, *, repeats: int) -> dict[str, float]:
        """Making as many levels as there are agents, by each generator."""
        method = METHODS["vae-dred"]
        parents = jax.tree.map(lambda leaf: leaf[:NUM_ENVS], self.dataset)
        calls: dict[str, Callable[[], Any]] = {}
        for name, one in GRIDWORLD.generators.items():
            given = self.given({"vae": "vae-dred", "resample": "resample-dred"}.get(name, "plr"))
            settings = settings_of(method, name, one)
            compiled = jax.jit(
                lambda given, key, one=one, name=name, settings=settings: one.propose(
                    GeneratorInput(given.dataset, parents, given.models.get(name)), settings, key
                )
            )
            calls[name] = partial(compiled, given, self.key)
        return medians(calls, repeats)

    def measuring(self, method: str, *, repeats: int) -> dict[str, float]:
        """All that is measured at an evaluation, and what the probe measures, by part."""
        setup, state = self.start(train_config(method, "paper", GRIDWORLD.budgets))
        states = jax.tree.map(lambda leaf: leaf[None], filled(state, self.dataset))
        keys = self.key[None]
        world = setup.environment.prepare(self.levels.levels)
        chances = weigh(states, setup)
        count = setup.config.evaluate_levels
        calls: dict[str, Callable[[], Any]] = {
            "train or test": lambda: returns_in(setup, states, keys, world),
            "drawn": lambda: returns_drawn(setup, states, keys, count),
            "levels": lambda: describe_buffers(
                states, chances, setup, self.dataset, in_detail=True
            ),
            "probe": lambda: information_about(setup, states, keys, world),
        }
        return medians(calls, repeats)

    def start(self, config: TrainConfig) -> tuple[Setup, TrainState]:
        """A run at its beginning."""
        setup = new_setup(config, GRIDWORLD)
        return setup, placed(new_state(setup, self.dataset, key=self.key), setup.mesh)

    def parts(self, *, repeats: int) -> dict[str, Any]:
        """Playing and learning of `uniform`, each on its own, and the machine's product."""
        config = train_config("uniform", "paper", GRIDWORLD.budgets)
        setup, state = self.start(config)
        playing = jax.jit(partial(play_once, setup=setup))
        learning = several(partial(learn_once, setup=setup))
        given = self.given("uniform")
        rollout = playing(state, given, self.key).rollout
        calls: dict[str, Callable[[], Any]] = {
            "playing": lambda: playing(state, given, self.key),
            "learning": going_on(learning, self.start(config)[1], rollout, self.key),
            "product": lambda: self.product(self.matrix, self.matrix),
        }
        median = medians(calls, repeats)
        ppo = setup.config.ppo
        learned = median["learning"] / UPDATES
        rate = 2 * PRODUCT**3 / median["product"]
        flops = learning_flops(ppo, state.learner.agent)
        return {
            "seconds_playing": median["playing"],
            "seconds_learning": learned,
            "learning_gflops": flops / learned / 1e9,
            "product_gflops": rate / 1e9,
            "share_of_product": flops / learned / rate,
        }

    def method(self, method: str, parts: dict[str, Any], *, repeats: int) -> dict[str, Any]:
        """Updates of a method once its buffer is filled as far as it has to be."""
        setup, state = self.start(train_config(method, "paper", GRIDWORLD.budgets))
        updating, given = make_step(setup), self.given(method)
        begun = time.perf_counter()
        state = jax.block_until_ready(updating(state, given, self.key))
        first = time.perf_counter() - begun
        tried = tried_levels(state)
        times: list[float] = []
        rollouts: list[float] = []
        for index in range(repeats):
            key = jax.random.fold_in(self.key, index)
            begun = time.perf_counter()
            state = jax.block_until_ready(updating(state, given, key))
            times.append((time.perf_counter() - begun) / UPDATES)
            before, tried = tried, tried_levels(state)
            scored = (tried - before) // setup.config.ppo.num_envs
            scored -= UPDATES * (setup.config.method.learn_on == "new")
            rollouts.append(1 + scored / UPDATES)
        seconds, mean_rollouts = statistics.fmean(times), statistics.fmean(rollouts)
        expected = parts["seconds_learning"] + mean_rollouts * parts["seconds_playing"]
        return {
            "method": method,
            "seconds_per_update": seconds,
            "rollouts_per_update": mean_rollouts,
            "ratio_to_parts": seconds / expected,
            "share_not_learning": 1.0 - min(1.0, parts["seconds_learning"] / seconds),
            "transitions_per_second": setup.config.ppo.transitions_per_update / seconds,
            "compile_seconds": max(0.0, first - UPDATES * seconds),
        }

    def sizes(self, *, repeats: int) -> list[dict[str, Any]]:
        """Updates with a small and a large buffer, both full, in turns."""
        calls: dict[str, Callable[[], Any]] = {}
        for capacity in CAPACITIES:
            config = train_config("accel", "paper", GRIDWORLD.budgets)
            config = replace(
                config, method=replace(config.method, capacity=capacity, replay_prob=1.0)
            )
            setup = new_setup(config, GRIDWORLD)
            state = filled(new_state(setup, self.dataset, key=self.key), self.dataset)
            calls[str(capacity)] = going_on(make_step(setup), state, self.given("accel"), self.key)
        median = medians(calls, repeats)
        least = median[str(CAPACITIES[0])]
        return [
            {
                "capacity": capacity,
                "seconds_per_update": median[str(capacity)] / UPDATES,
                "ratio": median[str(capacity)] / least,
            }
            for capacity in CAPACITIES
        ]


def filled(state: TrainState, dataset: Level) -> TrainState:
    """The state with a level in every slot: those of the dataset again and again, all scored."""
    buffer = state.buffer
    slots = jnp.arange(buffer.capacity)
    world = ENVIRONMENT.prepare_more(dataset, buffer.levels.world)
    stored = Stored(dataset, world)
    levels = jax.tree.map(lambda leaf: leaf[slots % leaf.shape[0]], stored)
    key_score, key_mark = jax.random.split(jax.random.key(0))
    full = eqx.tree_at(
        lambda b: (b.levels, b.number, b.is_scored, b.primary, b.fingerprint),
        buffer,
        (
            levels,
            slots,
            jnp.ones_like(buffer.is_scored),
            jax.random.uniform(key_score, slots.shape),
            jax.random.bits(key_mark, buffer.fingerprint.shape),
        ),
    )
    return jax.tree.map(jnp.copy, replace(state, buffer=full))
