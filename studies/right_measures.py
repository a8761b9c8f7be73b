"""What three mends changed, on short real runs: the table "Before and after" of docs/results.md.

    python studies/right_measures.py VAE OLD_PROBE.py        (some minutes on two cores)

VAE is a generator fitted to cave-escape-train. OLD_PROBE.py is the former estimator of I(L; b):

    git show 17f36ea:src/dred/agents/probe.py > OLD_PROBE.py
"""

import importlib.util
import sys
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from dred.config import ProbeConfig
from dred.evaluation.evaluate import evaluate
from dred.evaluation.gaps import examples, level_information
from dred.generation import models_for
from dred.levels import make
from dred.presets import train_config
from dred.replay.distribution import average_probabilities, drawn_from, effective_number
from dred.task import RunContext
from dred.tasks.gridworld.levels.level import Level
from dred.tasks.gridworld.task import GRIDWORLD
from dred.training.phases import eta_of, probabilities, rollout_from_buffer
from dred.training.state import key_of_update, new_setup, new_state, run_key
from dred.training.update import update

UPDATES, LAST = 400, 40  # of the latter, each is looked at for ShiftGap
AGENT = {"hidden_size": 64, "segment_length": 64, "epochs": 2, "num_minibatches": 8}
OLD = ProbeConfig(length=128, stride=4, epochs=20, batch_size=1024, learning_rate=0.03)


def old_information(path: str):  # noqa: ANN201
    """The former estimator, from its file."""
    spec = importlib.util.spec_from_file_location("old_probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def look(name: str, *, cuts: str, bootstrap: bool, vae: str, old) -> dict[str, object]:  # noqa: ANN001
    """One run: how often the top level was there by a cut, I(L; b), ShiftGap and its spread."""
    config = train_config(name, "laptop")
    ppo = replace(config.ppo, bootstrap=bootstrap, **AGENT)
    method = replace(config.method, cut_scores=cuts)
    config = replace(config, ppo=ppo, method=method, num_updates=UPDATES, devices=1)
    dataset = make("cave-escape-train")
    setup, key = new_setup(config), run_key(0)
    levels = Level(*(jnp.asarray(part) for part in dataset.levels))
    folder = Path(vae) if name == "vae-dred" else None
    models = models_for(method, GRIDWORLD, dataset, folder)
    given = RunContext(levels, models)
    state = new_state(setup, levels, key=key)
    step = jax.jit(lambda state, given, key: update(state, context=given, setup=setup, key=key)[0])
    count = len(dataset)

    @jax.jit
    def ends(state, given, key):  # noqa: ANN001, ANN202
        """Which slots the coming update plays, and in which of them an episode ends."""
        played = rollout_from_buffer(
            state, context=given, setup=setup, key=jax.random.split(key, 5)[2]
        )
        zeros = jnp.zeros(state.buffer.capacity, bool)
        level = played.rollout.level
        return zeros.at[level].max(True), zeros.at[level].max(played.rollout.ended)

    @jax.jit
    def returned(state, weight, key):  # noqa: ANN001, ANN202
        key_draw, key_play = jax.random.split(key)
        slots = jax.vmap(drawn_from(weight))(jax.random.bits(key_draw, (512,)))
        world = state.buffer.levels.world
        play = partial(evaluate, state.learner.agent, setup.environment, world)
        drawn = play(slots, key=key_play).returned.mean()
        return drawn - play(jnp.arange(count), key=key_play).returned.mean()

    by_cut = np.zeros(state.buffer.capacity, bool)
    tops, snapshots, averages = [], [], []
    for number in range(UPDATES):
        now = key_of_update(key, jnp.int32(number))
        was_scored = np.asarray(state.buffer.is_scored)
        played, ended = map(np.asarray, ends(state, given, now))
        state = step(state, given, now)
        only_cut = played & ~ended & ((cuts == "any") | ~was_scored)
        by_cut = np.where(played & ended, False, by_cut | only_cut)
        tops.append(by_cut[int(np.asarray(state.buffer.primary)[:count].argmax())])
        if number >= UPDATES - LAST:
            chances = probabilities(state.buffer, method, eta_of(state, setup))
            snapshots.append(float(returned(state, chances, now)))
            average = average_probabilities(state.buffer)
            averages.append(float(returned(state, average, now)))
    world = jax.tree.map(lambda leaf: leaf[:count], state.buffer.levels.world)
    agent, environment, all_levels = state.learner.agent, setup.environment, jnp.arange(count)
    keys = jax.random.split(jax.random.key(1), 3)
    pair = [
        old.Examples(*examples(agent, environment, world, all_levels, OLD, key=some))
        for some in keys[:2]
    ]
    former = old.information(*pair, count, OLD, key=keys[2])
    now = level_information(agent, environment, world, all_levels, ProbeConfig(), key=keys[0])
    solved = (evaluate(agent, environment, world, all_levels, key=keys[1]).returned > 0).mean()
    return {
        "run": f"{name}, {'bootstrap' if bootstrap else 'no bootstrap'}, cuts: {cuts}",
        "solved": float(solved),
        "top by a cut": float(np.mean(tops[UPDATES // 2 :])),
        "I before": float(np.log(count) - former.cross_entropy),
        "I after": float(now.unfloored),
        "accuracy": (float(former.accuracy), float(now.accuracy)),
        "ShiftGap, one P": (np.mean(snapshots), np.std(snapshots), step_of(snapshots)),
        "ShiftGap, mean P": (np.mean(averages), np.std(averages), step_of(averages)),
        "effective levels": (float(effective_number(chances)), float(effective_number(average))),
    }


def step_of(values: list[float]) -> float:
    """The mean difference from one update to the next."""
    return float(np.abs(np.diff(values)).mean())


def main() -> None:
    """Print a line for each run."""
    vae, old = sys.argv[1], old_information(sys.argv[2])
    for bootstrap, name, cuts in product((False, True), ("plr", "vae-dred"), ("any", "first")):
        found = look(name, cuts=cuts, bootstrap=bootstrap, vae=vae, old=old)
        for key, value in found.items():
            numbers = value if isinstance(value, tuple) else (value,)
            shown = [one if isinstance(one, str) else f"{one:.3f}" for one in numbers]
            print(f"{key}: {', '.join(shown)}", end=" · ", flush=True)
        print(flush=True)


main()
