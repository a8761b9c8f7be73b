"""Named settings of Procgen, as values."""

from dataclasses import replace

from dred.config import AgentConfig, PPOConfig, ProcgenConfig
from dred.errors import lookup
from dred.presets import METHODS, STRATEGIES

_UNIFORM = METHODS["uniform"]
_PROCGEN_PPO = PPOConfig(
    num_envs=64,
    epochs=3,
    num_minibatches=8,
    learning_rate=5e-4,
    discount=0.999,
    entropy_coefficient=0.01,
    bootstrap=True,
    cpu_microbatch_size=16,
)
# With a sixtieth of the steps, a laptop's agent learns oftener, and looks less far ahead.
_PAPER_PROCGEN = ProcgenConfig("bigfish", _UNIFORM, _PROCGEN_PPO)

PROCGEN_BUDGETS = {
    "paper": _PAPER_PROCGEN,
    "laptop": replace(
        _PAPER_PROCGEN,
        ppo=replace(_PROCGEN_PPO, num_envs=32, num_steps=64, discount=0.99),
        num_updates=200,
        watch_envs=16,
        watch_steps=32,
        evaluate_episodes=400,
        checkpoint_every=20,
    ),
    "smoke": replace(
        _PAPER_PROCGEN,
        ppo=replace(_PROCGEN_PPO, num_envs=4, num_steps=16, epochs=1, num_minibatches=2),
        agent=AgentConfig(hidden_size=16),
        num_levels=8,
        num_updates=4,
        watch_envs=4,
        watch_steps=16,
        probe_minibatches=2,
        evaluate_episodes=8,
        checkpoint_every=2,
    ),
}


def procgen_config(game: str, strategy: str, budget: str) -> ProcgenConfig:
    """The settings of a run in Procgen."""
    base = lookup(PROCGEN_BUDGETS, budget, what="preset")
    return replace(base, game=game, strategy=lookup(STRATEGIES, strategy, what="strategy"))
