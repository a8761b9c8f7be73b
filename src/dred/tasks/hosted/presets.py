"""How much to train in an environment of Gymnasium's kind, with which agent."""

from dataclasses import replace

from dred.config import AgentConfig, PPOConfig, ProbeConfig
from dred.presets import BUDGETS

# Rewards of such environments are on any scale, so they are brought to one.
_PPO = PPOConfig(
    num_envs=16,
    num_steps=256,
    segment_length=32,
    epochs=4,
    num_minibatches=8,
    learning_rate=1e-3,
    final_lr_fraction=0.05,
    discount=0.99,
    entropy_coefficient=0.01,
    bootstrap=True,
    scale_rewards=True,
)
_LAPTOP = replace(
    BUDGETS["laptop"],
    agent=AgentConfig(hidden_size=64),
    ppo=_PPO,
    devices=1,
    num_updates=200,
    checkpoint_every=20,
    evaluate_every=50,
    evaluate_levels=64,
    probe=ProbeConfig(length=64, stride=4),
)

HOSTED_BUDGETS = {
    "paper": replace(BUDGETS["paper"], ppo=replace(BUDGETS["paper"].ppo, scale_rewards=True)),
    "laptop": _LAPTOP,
    "demo": replace(_LAPTOP, num_updates=40, evaluate_every=20, evaluate_levels=32),
    "smoke": replace(
        BUDGETS["smoke"],
        ppo=replace(_PPO, num_envs=4, num_steps=16, segment_length=8, epochs=1, num_minibatches=2),
        num_updates=2,
        chunk=1,
        checkpoint_every=1,
        evaluate_every=0,
        evaluate_levels=4,
        probe_every=0,
        probe=ProbeConfig(length=4, stride=2, epochs=1, batch_size=8),
    ),
}
