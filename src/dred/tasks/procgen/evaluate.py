"""How well a trained agent does in training levels and in others, and what it knows of them.

GenGap    mean return in training levels, each as often − mean return in test levels
ShiftGap  mean return in levels drawn from P_Λ, averaged over the last updates − mean in training
          levels
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32, PRNGKeyArray, UInt8

from dred.agents.categorical import gumbel_noise, sample
from dred.agents.encoders import Linear
from dred.agents.probe import Examples, Information
from dred.config import TEST_LEVELS_END, ProcgenConfig
from dred.errors import ConfigError
from dred.evaluation.suites import HEADER, noise_key
from dred.files import write_text
from dred.replay.distribution import average_probabilities, drawn_from, effective_number
from dred.run_folder import RunFolder
from dred.settings import read_settings
from dred.tasks.procgen.classifier import Guesses, guess, information_of
from dred.tasks.procgen.levels import NUM_ACTIONS, ProcgenLevels
from dred.tasks.procgen.resnet import ResNet
from dred.tasks.procgen.state import State
from dred.tasks.procgen.train import trained

SLOTS = 64  # played side by side
NOISE_STEPS = 256  # drawn in one go

EVALUATION = 2**31 - 5  # a number that no update has, for keys


class Episodes(NamedTuple):
    """Episodes, in the order of the levels asked for."""

    level: Int32[np.ndarray, " episode"]
    returned: Float[np.ndarray, " episode"]
    steps: Int[np.ndarray, " episode"]
    log_prob: Float[np.ndarray, " episode"]  # of the level by the classifier, summed over steps
    right: Float[np.ndarray, " episode"]  # guesses of the level that were right


@dataclass(frozen=True)
class Scores:
    """What an evaluation found."""

    update: int
    """Of the checkpoint."""
    episodes: int
    """In training levels, and as many in test levels and in levels as they are drawn."""
    seed: int
    """Decides actions and test levels."""
    train: float
    """Mean return in training levels."""
    test: float
    """Mean return in test levels."""
    gen_gap: float
    """The difference."""
    shift_gap: float
    """Mean return in levels drawn from the mean of P_Λ over updates, minus that in training
    levels."""
    effective_levels: float
    """How many equally likely levels would be as hard to guess as those."""
    mutual_information: float
    """I(L; b) in nats, all training levels alike."""
    mutual_information_unfloored: float
    """The same, also where it is below 0."""
    probe_accuracy: float
    """Share of a level's steps in which the classifier knew it; the mean over levels."""


@jax.jit
def decide(
    network: ResNet,
    layer: Linear,
    image: UInt8[Array, "env 64 64 3"],
    level: Int[Array, " env"],
    noise: Float[Array, "env action"],
) -> tuple[Int[Array, " env"], Guesses]:
    """An action for each agent, and what the classifier makes of its level."""
    features = network.features(image)
    known = jnp.minimum(level, layer.bias.shape[0] - 1)  # test levels have no guesses that count
    return sample(network.heads(features).logits, noise), guess(layer, Examples(features, known))


def play_each(
    network: ResNet,
    layer: Linear,
    envs: ProcgenLevels,
    levels: Int32[np.ndarray, " episode"],
    *,
    key: PRNGKeyArray,
    advance: Callable[[int], None] = lambda amount: None,
) -> Episodes:
    """One episode in each of these levels, to its end; a free slot takes the next that waits."""
    count, slots = len(levels), envs.num_envs
    episode = np.arange(slots)  # that each slot plays; those from `count` on are for nothing
    given = slots
    found = Episodes(levels, *(np.zeros(count) for _ in range(4)))
    now = envs.reset_to(levels[episode % count])
    step, left = 0, count
    noise = np.zeros((NOISE_STEPS, slots, NUM_ACTIONS), np.float32)

    def next_levels(free: np.ndarray) -> np.ndarray:
        nonlocal given
        episode[free] = np.arange(given, given + len(free))
        given += len(free)
        return levels[episode[free] % count]

    while left:
        if step % NOISE_STEPS == 0:
            key_now = jax.random.fold_in(key, step // NOISE_STEPS)
            noise = np.asarray(gumbel_noise((NOISE_STEPS, slots, NUM_ACTIONS), key=key_now))
        action, guesses = decide(network, layer, now.image, now.level, noise[step % NOISE_STEPS])
        playing = episode.copy()
        now = envs.step(np.asarray(action), next_levels)
        counts = playing < count
        at = playing[counts]
        for total, amount in zip(
            found[1:], (now.reward, np.ones(slots), *map(np.asarray, guesses)), strict=True
        ):
            total[at] += amount[counts]
        ended = int((now.ended & counts).sum())
        left -= ended
        advance(ended)
        step += 1
    return found


def episodes_in(config: ProcgenConfig, episodes: int | None) -> int:
    """Episodes in training levels: so many or some more, for each level to be played as often."""
    wanted = config.evaluate_episodes if episodes is None else episodes
    if wanted < 1:
        raise ConfigError(f"episodes (={wanted}) must be at least 1.")
    return -(-wanted // config.num_levels) * config.num_levels


def evaluate(
    run: RunFolder,
    *,
    episodes: int | None = None,
    seed: int = 0,
    advance: Callable[[int], None] = lambda amount: None,
) -> Scores:
    """Play with the newest checkpoint, and write a table for each set, and `scores.json`."""
    config = run.settings(ProcgenConfig)
    count = episodes_in(config, episodes)
    state = trained(run)
    # [fidelity 38] All runs play in the same test levels, each with luck of its own.
    key_test = jax.random.fold_in(jax.random.key(seed), EVALUATION)
    noise = noise_key(run, run.seeds[0], seed=seed)
    key_drawn = jax.random.fold_in(noise, EVALUATION)
    sets = level_sets(state, config, count, key_test=key_test, key_drawn=key_drawn)
    envs = ProcgenLevels(config.game, min(SLOTS, count), difficulty=config.difficulty)
    played = {
        name: play_each(
            state.learner.agent,
            state.classifier.layer,
            envs,
            levels,
            key=jax.random.fold_in(noise, place),
            advance=advance,
        )
        for place, (name, levels) in enumerate(sets.items())
    }
    scores = scores_of_episodes(state, config, **played, seed=seed)
    folder = run.path / "evaluation"
    folder.mkdir(exist_ok=True)
    (folder / "scores.json").unlink(missing_ok=True)  # the old ones, until the new tables are there
    for name, found in played.items():
        write_text(folder / f"{name}.csv", as_csv(found, name, run.seeds[0]))
    write_text(folder / "scores.json", json.dumps(asdict(scores), indent=2))
    return scores


def level_sets(
    state: State,
    config: ProcgenConfig,
    count: int,
    *,
    key_test: PRNGKeyArray,
    key_drawn: PRNGKeyArray,
) -> dict[str, Int32[np.ndarray, " episode"]]:
    """The levels to play: for training, each as often; for testing; and as they are drawn."""
    draw = drawn_from(average_probabilities(state.buffer))  # [fidelity 105]
    drawn = jax.vmap(draw)(jax.random.bits(key_drawn, (count,)))
    test = jax.random.randint(key_test, (count,), config.num_levels, TEST_LEVELS_END)
    return {
        "train": np.arange(count, dtype=np.int32) % config.num_levels,
        "test": np.asarray(test),
        "drawn": np.asarray(state.buffer.levels[drawn]),
    }


def is_evaluated(run: RunFolder) -> bool:
    """Whether its final agent is, with as many episodes as its settings say."""
    config, scores = run.settings(ProcgenConfig), scores_in(run)
    return (
        scores is not None
        and scores.update == config.num_updates
        and scores.episodes >= episodes_in(config, None)
    )


def scores_in(run: RunFolder) -> Scores | None:
    """What the last evaluation of a run found, if there was one."""
    path = run.path / "evaluation" / "scores.json"
    try:
        return read_settings(Scores, json.loads(path.read_text(encoding="utf-8")), where=str(path))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ConfigError(f"{path} is damaged: {error}. Evaluate that run again.") from None


def scores_of_episodes(
    state: State,
    config: ProcgenConfig,
    *,
    train: Episodes,
    test: Episodes,
    drawn: Episodes,
    seed: int,
) -> Scores:
    """What these episodes say. Each training level was played equally often."""
    found = information_of_episodes(train, config.num_levels)
    mean = {
        name: float(episodes.returned.mean())
        for name, episodes in (("train", train), ("test", test), ("drawn", drawn))
    }
    return Scores(
        update=int(state.num_updates),
        episodes=len(train.level),
        seed=seed,
        train=mean["train"],
        test=mean["test"],
        gen_gap=mean["train"] - mean["test"],
        shift_gap=mean["drawn"] - mean["train"],
        effective_levels=float(effective_number(average_probabilities(state.buffer))),
        mutual_information=float(found.nats),
        mutual_information_unfloored=float(found.unfloored),
        probe_accuracy=float(found.accuracy),
    )


def information_of_episodes(train: Episodes, num_levels: int) -> Information:
    """I(L; b) by the guesses in these episodes: the mean over levels of each one's mean over steps.

    [fidelity 104] Its entropy, log |L|, is that of levels that are all alike, however long their
    episodes take; so each level must count alike in the cross-entropy as well.
    """
    steps, log_prob, right = (
        np.bincount(train.level, weights=amount, minlength=num_levels)
        for amount in (train.steps, train.log_prob, train.right)
    )
    return information_of(
        jnp.asarray((log_prob / steps).mean()), jnp.asarray((right / steps).mean()), num_levels
    )


def as_csv(episodes: Episodes, name: str, seed: int) -> str:
    """A line per episode, as for other runs; solved means that there was some reward."""
    times: dict[int, int] = {}
    lines = [HEADER]
    for level, returned, steps in zip(
        episodes.level.tolist(), episodes.returned.tolist(), episodes.steps.tolist(), strict=True
    ):
        times[level] = times.get(level, -1) + 1
        lines.append(
            f"{seed},{name},{level},{times[level]},{returned > 0:d},{returned:.6f},{steps:.0f}"
        )
    return "\n".join(lines) + "\n"
