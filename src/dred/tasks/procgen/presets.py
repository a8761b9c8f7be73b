"""How much to train in Procgen, with which agent."""

from dataclasses import replace

from dred.config import AgentConfig, ClassifierConfig, PPOConfig, ProbeConfig, TrainConfig
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
    agent=AgentConfig(memory="none", hidden_size=256),
    ppo=_PPO,
    num_updates=1525,
    chunk=1,
    checkpoint_every=10,
    keep_checkpoints=2,
    evaluate_every=100,
    evaluate_levels=1000,
    probe_every=0,
    probe=ProbeConfig(length=512, stride=4),
    classifier=ClassifierConfig(num_envs=8, num_steps=2048),
)

PROCGEN_BUDGETS = {
    "paper": _PAPER,
    # With a sixtieth of the steps, a laptop's agent learns oftener, and looks less far ahead.
    "laptop": replace(
        _PAPER,
        ppo=replace(_PPO, num_envs=32, num_steps=64, discount=0.99),
        num_updates=200,
        checkpoint_every=20,
        evaluate_every=50,
        evaluate_levels=200,
        probe=ProbeConfig(length=128, stride=4),
        classifier=ClassifierConfig(num_envs=16, num_steps=32),
    ),
    "smoke": replace(
        _PAPER,
        ppo=replace(_PPO, num_envs=4, num_steps=16, epochs=1, num_minibatches=2),
        agent=AgentConfig(memory="none", hidden_size=16),
        num_updates=4,
        checkpoint_every=2,
        evaluate_every=2,
        evaluate_levels=8,
        probe=ProbeConfig(length=8, stride=2, epochs=2, batch_size=8),
        classifier=ClassifierConfig(num_envs=4, num_steps=16, num_minibatches=2),
    ),
}
