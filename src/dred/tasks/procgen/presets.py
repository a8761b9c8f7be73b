"""How much to train in Procgen, with which agent."""

from dataclasses import replace

from dred.config import (
    AgentConfig,
    ClassifierConfig,
    MethodConfig,
    PPOConfig,
    ProbeConfig,
    TermConfig,
    TrainConfig,
)
from dred.presets import METHODS

# An agent without a memory learns from single steps, in any order: segments of one.
_PPO = PPOConfig(
    num_envs=64,
    epochs=3,
    num_minibatches=8,
    segment_length=1,
    learning_rate=5e-4,
    discount=0.999,
    entropy_coefficient=0.01,
    bootstrap=True,
    scale_rewards=True,
    cpu_microbatch_size=16,
)
_PAPER = TrainConfig(
    METHODS["uniform"],
    agent=AgentConfig(memory="none", hidden_size=256, encoder="impala"),
    ppo=_PPO,
    num_updates=1525,
    chunk=1,
    checkpoint_every=10,
    keep_checkpoints=2,
    evaluate_every=100,
    evaluate_levels=1000,
    probe_every=0,
    probe=ProbeConfig(length=512, stride=4),
    measure_untrained=True,
    classifier=ClassifierConfig(num_envs=8, num_steps=2048),
)

PROCGEN_BUDGETS = {
    "paper": _PAPER,
    # What an hour of two cores can do: a network that a CPU is good at, one pass over what was
    # played, many small updates, and an agent that looks less far ahead. Eight million steps.
    "laptop": replace(
        _PAPER,
        agent=AgentConfig(memory="none", hidden_size=256, encoder="patches"),
        ppo=replace(
            _PPO,
            num_steps=64,
            epochs=1,
            num_minibatches=16,
            learning_rate=1e-3,
            discount=0.99,
            cpu_microbatch_size=0,
        ),
        devices=0,
        num_updates=2000,
        chunk=10,
        checkpoint_every=50,
        evaluate_every=500,
        evaluate_levels=400,
        final_episodes=400,
        probe=ProbeConfig(length=512, stride=4, epochs=20, batch_size=512),
        classifier=ClassifierConfig(num_envs=32, num_steps=16, standardise=True),
    ),
    "smoke": replace(
        _PAPER,
        ppo=replace(_PPO, num_envs=4, num_steps=16, epochs=1, num_minibatches=2),
        agent=AgentConfig(memory="none", hidden_size=16, encoder="patches"),
        num_updates=4,
        checkpoint_every=2,
        evaluate_every=2,
        evaluate_levels=8,
        probe=ProbeConfig(length=8, stride=2, epochs=2, batch_size=8),
        classifier=ClassifierConfig(num_envs=4, num_steps=16, num_minibatches=2),
    ),
}

# [fidelity 123] With T = 0.1, P_Λ leaves two effective levels. Where a level is drawn from scores
# that move every few thousand steps, that is one level for some forty episodes, again and again. In
# an hour there is no time for so many turns, so P_S is as sharp as leaves 20 of 100 levels.
LAPTOP_TEMPERATURE = 0.7


def less_sharp(method: MethodConfig, temperature: float) -> MethodConfig:
    """Return a method with another T in what goes by rank."""

    def softened(term: TermConfig) -> TermConfig:
        return replace(term, temperature=temperature) if term.transform == "rank" else term

    secondary = None if method.secondary is None else softened(method.secondary)
    return replace(method, primary=softened(method.primary), secondary=secondary)


PROCGEN_METHODS = {
    "laptop": {
        name: less_sharp(METHODS[name], LAPTOP_TEMPERATURE)
        for name in ("value-l1", "mi", "value-l1+uniform", "value-l1+mi")
    }
}
