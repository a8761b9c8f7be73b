"""How much to train in control, with which agent."""

from dataclasses import replace

from dred.config import AgentConfig, PPOConfig, ProbeConfig
from dred.presets import BUDGETS

# Rollouts are two whole episodes, so that no score comes from one that is cut off.
_PPO = PPOConfig(
    num_envs=32,
    num_steps=400,
    segment_length=50,
    epochs=2,
    num_minibatches=8,
    learning_rate=1e-3,
    final_lr_fraction=0.05,
    discount=0.99,
    entropy_coefficient=0.01,
)
_LAPTOP = replace(
    BUDGETS["laptop"],
    agent=AgentConfig(hidden_size=64),
    ppo=_PPO,
    num_updates=400,
    evaluate_every=100,
    probe=ProbeConfig(length=200, stride=4),
)

CONTROL_BUDGETS = {
    **BUDGETS,
    "laptop": _LAPTOP,
    "smoke": replace(
        BUDGETS["smoke"],
        ppo=PPOConfig(num_envs=4, num_steps=200, epochs=1, segment_length=50, num_minibatches=2),
        num_updates=4,
        chunk=2,
        checkpoint_every=2,
        evaluate_every=4,
        probe_every=0,
    ),
    "demo": replace(_LAPTOP, num_updates=60, evaluate_every=20, evaluate_levels=128),
}
