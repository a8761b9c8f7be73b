"""Named settings, as values: methods, and how much to train."""

from collections.abc import Mapping
from dataclasses import replace

from dred.config import (
    AgentConfig,
    MethodConfig,
    PPOConfig,
    ProbeConfig,
    ScheduleConfig,
    TermConfig,
    TrainConfig,
)
from dred.errors import lookup

_CONSTANT = TermConfig("uniform", transform="proportional")
_LARGE = 4000  # levels in the buffers of methods that generate

# Section 4 of the paper: P_S and P_R over the dataset, P_S' over the whole buffer, η from 0 to 1.
_DRED = MethodConfig(
    "dred",
    capacity=_LARGE,
    primary=TermConfig(over="dataset"),
    secondary=TermConfig(temperature=1.0),
    eta=ScheduleConfig(0.0, 1.0),
    staleness_over="dataset",
)

# The strategies of the paper's section 3 besides uniform, by the names of its figures:
#   S = S^V · S = S^MI · (S^V, P_S' = U) · (S^V, S' = S^MI)
_LATE = ScheduleConfig(0.0, 0.25, begins=0.5)
_VALUE = MethodConfig("value-l1", warm_up=False, unseen_first=True, staleness=0.1)
_NLL = TermConfig("level_nll")

METHODS = {
    method.name: method
    for method in (
        MethodConfig("uniform", warm_up=False, primary=_CONSTANT, staleness=0.0),
        MethodConfig("plr"),
        MethodConfig(
            "dr",
            initial_buffer="empty",
            capacity=512,
            learn_on="new",
            new_level_generator="random",
            primary=_CONSTANT,
            staleness=0.0,
            admit="all",
            evict="oldest",
        ),
        MethodConfig(
            "rplr",
            initial_buffer="empty",
            capacity=_LARGE,
            new_level_generator="random",
            replay_prob=0.5,
            min_fill_fraction=0.5,
            primary=TermConfig("positive_value_loss", temperature=0.3),
            admit="all",
            evict="least likely",
        ),
        MethodConfig(
            "accel",
            initial_buffer="empty",
            capacity=_LARGE,
            new_level_generator="empty",
            replay_prob=0.8,
            min_fill_fraction=0.5,
            mutation_generator="edits",
            primary=TermConfig("positive_value_loss", temperature=0.3),
            admit="all",
            evict="least likely",
        ),
        MethodConfig(
            "accel-d",
            capacity=_LARGE,
            mutation_generator="edits",
            primary=TermConfig("grounded_value_l1"),
        ),
        replace(_DRED, name="el-dred", mutation_generator="edits"),
        replace(_DRED, name="vae-dred", mutation_generator="vae"),
        replace(_DRED, name="masked-dred", mutation_generator="masked"),
        replace(_DRED, name="edit-dred", mutation_generator="masked-edits"),
        replace(_DRED, name="wfc-dred", mutation_generator="wfc"),
        replace(_DRED, name="resample-dred", mutation_generator="resample"),
        _VALUE,
        replace(_VALUE, name="mi", primary=_NLL),
        replace(_VALUE, name="value-l1+uniform", secondary=_CONSTANT, eta=_LATE),
        replace(_VALUE, name="value-l1+mi", secondary=_NLL, eta=_LATE),
    )
}

# What learned fastest per minute of two cores on `cave-escape-validation`; docs/results.md has the
# search. The paper's agent and learning are one preset, or a few settings, away.
_LAPTOP_AGENT = AgentConfig(hidden_size=128)
_LAPTOP_PPO = PPOConfig(
    segment_length=64,
    epochs=2,
    num_minibatches=8,
    learning_rate=1e-3,
    final_lr_fraction=0.05,
    entropy_coefficient=0.01,
    bootstrap=True,
)
_UNIFORM = METHODS["uniform"]

SMOKE_CAPACITY = 48

PresetMethods = Mapping[str, Mapping[str, MethodConfig]]  # by preset and name
NO_METHODS: PresetMethods = {}

BUDGETS = {
    "paper": TrainConfig(_UNIFORM),
    "laptop": TrainConfig(
        _UNIFORM,
        agent=_LAPTOP_AGENT,
        ppo=_LAPTOP_PPO,
        devices=0,
        num_updates=1500,
        checkpoint_every=100,
        evaluate_every=300,  # so that measuring takes less than 3 % of the time
        probe_every=0,
    ),
    "demo": TrainConfig(
        _UNIFORM,
        agent=_LAPTOP_AGENT,
        ppo=_LAPTOP_PPO,
        devices=0,
        num_updates=200,
        checkpoint_every=100,
        evaluate_every=50,
        evaluate_levels=256,
        probe_every=0,
    ),
    "smoke": TrainConfig(
        _UNIFORM,
        agent=AgentConfig(hidden_size=16),
        ppo=PPOConfig(num_envs=6, num_steps=16, epochs=2),
        num_updates=12,
        chunk=3,
        checkpoint_every=3,
        evaluate_every=6,
        evaluate_levels=8,
        probe_every=6,
        probe=ProbeConfig(length=8, stride=2, epochs=2, batch_size=8),
    ),
}


def train_config(
    method: str | MethodConfig,
    budget: str,
    budgets: Mapping[str, TrainConfig] = BUDGETS,
    methods: PresetMethods = NO_METHODS,
) -> TrainConfig:
    """Return the settings of a method with a budget, of a task's or of the usual ones.

    `methods` are those that a task's presets have in other ways; a user's own stay as they are.
    """
    base = lookup(budgets, budget, what="preset")
    chosen = lookup(METHODS, method, what="method") if isinstance(method, str) else method
    if METHODS.get(chosen.name) == chosen:
        chosen = methods.get(budget, {}).get(chosen.name, chosen)
    if budget == "smoke" and chosen.initial_buffer == "empty":
        chosen = replace(chosen, capacity=SMOKE_CAPACITY)
    return replace(base, method=chosen)
