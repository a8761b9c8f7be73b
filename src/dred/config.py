"""Every setting, once: frozen records with a line of help per field.

Bad values and bad combinations stop here, before anything is computed. `dred.settings` reads such
records from tables of TOML files.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, SupportsIndex

from dred.errors import ConfigError


def need_one(record: object, *names: str) -> None:
    """Stop unless each of these settings is at least 1."""
    for name in names:
        if getattr(record, name) < 1:
            raise ConfigError(f"{name} (={getattr(record, name)}) must be at least 1.")


@dataclass(frozen=True)
class AgentConfig:
    """What the agent is. The defaults are those of the paper's released code."""

    memory: Literal["lstm", "gru", "none"] = "lstm"
    """What it remembers with: an LSTM, a GRU, or not at all."""
    hidden_size: int = 256
    """Numbers in its memory."""
    head_size: int = 32
    """Numbers in the hidden layers of policy and value."""
    encoder: str = ""
    """How it sees, of the ways that its task knows; the task's first if none is named."""

    def __post_init__(self) -> None:
        need_one(self, "hidden_size", "head_size")


@dataclass(frozen=True)
class PPOConfig:
    """How the agent plays and learns. The defaults are those of the paper's released settings."""

    num_envs: int = 36
    """Levels played side by side."""
    num_steps: int = 256
    """Steps of each agent between two times of learning."""
    epochs: int = 5
    """Passes over what was played."""
    num_minibatches: int = 1
    """Pieces of each pass. Must divide the number of segments."""
    segment_length: int = 0
    """Steps of the segments into which sequences are cut for learning, each beginning with the
    memory the agent had there when it played. Must divide `num_steps`; 0 for whole sequences."""
    learning_rate: float = 1e-4
    """Of Adam."""
    final_lr_fraction: float = 1.0
    """Share of the learning rate that is left at the end; it falls linearly."""
    adam_epsilon: float = 1e-5
    """ε of Adam."""
    max_gradient_norm: float = 0.5
    """Longer gradients are shortened to this."""
    discount: float = 0.995
    """γ: what a reward is worth if it comes one step later."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation."""
    clip: float = 0.2
    """ε of PPO: how far the policy's ratio, and the value, may move in one time of learning."""
    value_coefficient: float = 0.5
    """Weight of the value loss."""
    entropy_coefficient: float = 0.0
    """Weight of the policy's entropy, which is encouraged."""
    bootstrap: bool = False
    """Count what would have come after a time-out or the end of a rollout, as the critic expects
    it. As released, nothing after them counts."""
    scale_rewards: bool = False
    """Divide rewards by the spread of discounted sums of them, as far as it is known, for learning
    and scores: for problems whose rewards are not of about 1."""
    cpu_microbatch_size: int = 0
    """On a CPU, so many segments of a minibatch are computed at once, and their gradients added up,
    which keeps images in its cache; 0 for all. It changes nothing but speed."""

    @property
    def transitions_per_update(self) -> int:
        """Steps of all agents between two times of learning."""
        return self.num_envs * self.num_steps

    @property
    def num_segments(self) -> int:
        """Segments of all agents from which to learn."""
        return self.num_envs * (self.num_steps // (self.segment_length or self.num_steps))

    def __post_init__(self) -> None:
        need_one(self, "num_envs", "num_steps", "epochs", "num_minibatches")
        if self.segment_length < 0 or self.num_steps % (self.segment_length or self.num_steps):
            raise ConfigError(
                f"segment_length (={self.segment_length}) must divide num_steps "
                f"(={self.num_steps}), or be 0 for whole sequences."
            )
        if self.num_segments % self.num_minibatches:
            raise ConfigError(
                f"num_minibatches (={self.num_minibatches}) must divide the number of segments "
                f"(={self.num_segments}: num_envs × num_steps / segment_length)."
            )
        if self.cpu_microbatch_size < 0:
            raise ConfigError(
                f"cpu_microbatch_size (={self.cpu_microbatch_size}) must be 0 or more."
            )

    def can_spread(self, devices: int) -> bool:
        """Whether agents and minibatches can be shared out equally to so many devices."""
        minibatch = self.num_segments // self.num_minibatches
        return self.num_envs % devices == 0 and minibatch % devices == 0

    def check_microbatch(self, minibatch: int) -> None:
        """Stop if pieces do not make up a minibatch of this size."""
        if self.cpu_microbatch_size and minibatch % self.cpu_microbatch_size:
            raise ConfigError(
                f"cpu_microbatch_size (={self.cpu_microbatch_size}) must divide the minibatch "
                f"(={minibatch})."
            )


Over = Literal["dataset", "buffer"]
Transform = Literal["rank", "power", "proportional"]


@dataclass(frozen=True)
class TermConfig:
    """One part of the distribution over levels: scores, and how they become probabilities."""

    score: str = "value_l1"
    """What makes a level worth replaying; see `dred.replay.scores.SCORES`."""
    over: Over = "buffer"
    """Which levels it is about: those of the dataset, or all in the buffer."""
    transform: Transform = "rank"
    """rank: rank^(−1/T), the best has rank 1. power: score^(1/T). proportional: the score."""
    temperature: float = 0.1
    """T: small prefers the best, large makes all equally likely."""

    def __post_init__(self) -> None:
        if not self.temperature > 0.0:
            raise ConfigError(f"temperature (={self.temperature}) must be greater than 0.")


@dataclass(frozen=True)
class ScheduleConfig:
    """A number that changes over training."""

    start: float = 0.0
    """Before it begins to change."""
    end: float = 0.0
    """After it has changed."""
    begins: float = 0.0
    """Share of training after which it begins to change."""
    ends: float = 1.0
    """Share of training after which it has changed."""
    shape: Literal["linear", "cosine", "step"] = "linear"
    """How it gets from start to end. step: at once, halfway."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.begins <= self.ends <= 1.0:
            raise ConfigError(
                f"begins (={self.begins}) and ends (={self.ends}) must be shares of training, "
                "0 to 1, in this order."
            )


@dataclass(frozen=True)
class MethodConfig:
    """A method is a record: where levels come from, which are drawn, which are kept."""

    name: str
    """What it is called on the command line."""
    initial_buffer: Literal["dataset", "empty"] = "dataset"
    """What is in the buffer at first. Levels of the dataset are never evicted."""
    capacity: int = 0
    """Levels that the buffer can hold; 0 for just as many as there are in the dataset."""
    warm_up: bool = True
    """Score every level of the dataset once before the first replay."""
    unseen_first: bool = False
    """As long as levels of the dataset have no score, draw those, each as likely as the others,
    instead of a warm-up; what they get in such a replay is their first score."""
    learn_on: Literal["replay", "new"] = "replay"
    """replay: learn on levels drawn from the buffer, a new draw for each episode. new: learn on new
    levels, each played by one agent for a whole rollout."""
    new_level_generator: str = "none"
    """The generator of new levels, of those that the task knows."""
    replay_prob: float = 1.0
    """Probability to replay, and not to score new levels without learning from them; or the share
    of the buffer that is full, if that is less."""
    min_fill_fraction: float = 0.0
    """Share of the buffer that must be full before the first replay."""
    mutation_generator: str = "none"
    """The generator of levels that are scored after each replay, without learning from them."""
    generator_settings: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    """Settings of generators, by their names, where they differ from the generator's own:
    {edits = {num_edits = 5}}."""
    num_parents: int = 4
    """How many of the replayed levels are given to the generator of mutations, easiest first."""
    mutation_min_eta: float = 0.0
    """Make such levels only while η is at least this: below it, they would hardly be drawn."""
    primary: TermConfig = field(default_factory=TermConfig)
    """P_S."""
    secondary: TermConfig | None = None
    """P_S', mixed in by η; its score also decides who is admitted."""
    eta: ScheduleConfig = field(default_factory=ScheduleConfig)
    """η: the share of P_S' against P_S."""
    staleness: float = 0.3
    """ρ: the share of P_R, which prefers levels that were not drawn for long."""
    staleness_over: Over = "buffer"
    """Which levels P_R is about."""
    staleness_temperature: float = 1.0
    """T of P_R: draws since the last, to the power of 1/T."""
    largest_share: float = 1.0
    """The most of P_Λ that one level may take; what it would take above it goes to the others, in
    proportion."""
    score_gae_lambda: float | None = None
    """λ of the advantages by which levels are scored; none for that of the agent's own. With λ = 1
    a score is about returns, and shrinks less with the length of an episode."""
    cut_scores: Literal["first", "any"] = "first"
    """What a result may be of which the rollout's end cut off every episode: a level's first score
    only, or any, which lets mastered levels come out on top."""
    smoothing: float = 0.0
    """Share of a level's old score that stays when it is scored again."""
    admit: Literal["all", "solved", "solvable"] = "solved"
    """Which generated levels may enter: all, those solved at least once while being scored, or
    those that can be solved at all."""
    evict: Literal["least likely", "lowest score", "oldest"] = "lowest score"
    """Who makes room when the buffer is full."""

    @property
    def scores(self) -> tuple[str, str]:
        """The names of the two scores; the second is the first if there is no second term."""
        return self.primary.score, (self.secondary or self.primary).score

    def __post_init__(self) -> None:
        for name in (
            "replay_prob",
            "min_fill_fraction",
            "staleness",
            "mutation_min_eta",
            "smoothing",
        ):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} (={getattr(self, name)}) must lie between 0 and 1.")
        if self.capacity < 0:
            raise ConfigError(f"capacity (={self.capacity}) must be 0 or more.")
        need_one(self, "num_parents")
        if not self.staleness_temperature > 0.0:
            raise ConfigError("staleness_temperature must be greater than 0.")
        if not 0.0 < self.largest_share <= 1.0:
            raise ConfigError(
                f"largest_share (={self.largest_share}) must be above 0, and at most 1."
            )
        if self.smoothing == 1.0:
            raise ConfigError("smoothing (=1.0) must be below 1, or scores would never change.")
        if self.score_gae_lambda is not None and not 0.0 <= self.score_gae_lambda <= 1.0:
            raise ConfigError(
                f"score_gae_lambda (={self.score_gae_lambda}) must lie between 0 and 1."
            )
        if self.warm_up and self.unseen_first:
            raise ConfigError(
                f"The method {self.name!r} scores levels before the first replay (warm_up) and in "
                "it (unseen_first); it can do one of both."
            )
        generates, mutates = self.new_level_generator != "none", self.mutation_generator != "none"
        if self.learn_on == "new" and (mutates or not generates):
            raise ConfigError(
                f"The method {self.name!r} learns on new levels, so it needs a generator of them "
                "(new_level_generator), and there is no replay after which to make more "
                "(mutation_generator)."
            )
        if self.initial_buffer == "empty" and self.admit == "solved":
            raise ConfigError(
                f"The method {self.name!r} begins with an empty buffer and admits only solved "
                'levels, of which there may be none at first. Use admit = "all".'
            )
        if self.initial_buffer == "empty" and (not generates or self.capacity == 0):
            raise ConfigError(
                f"The method {self.name!r} begins with an empty buffer, so it needs a generator "
                "of new levels (new_level_generator) and a capacity."
            )


Method, Term, Schedule = MethodConfig, TermConfig, ScheduleConfig  # what users call them


@dataclass(frozen=True)
class ProbeConfig:
    """How to measure what the agent's representation tells about the level."""

    length: int = 256
    """Steps in each level, three times: to fit a classifier, to choose its settings, and to judge
    it. More than the 250 after which an episode of the paper's levels runs out of time."""
    stride: int = 1
    """Only every so manyth step counts."""
    epochs: int = 5
    """Passes over the examples, at most."""
    batch_size: int = 4096
    """Examples in a batch."""
    learning_rate: float = 0.003
    """Of Adam; it falls to 0."""

    def __post_init__(self) -> None:
        need_one(self, "length", "stride", "epochs", "batch_size")


@dataclass(frozen=True)
class ClassifierConfig:
    """A classifier that guesses the level while the agent trains, and learns from being told."""

    num_envs: int = 0
    """Agents that play for it, in levels of the dataset, each as likely as the others; 0 for no
    classifier."""
    num_steps: int = 32
    """Steps of each of them after each update."""
    num_minibatches: int = 8
    """Pieces of what they saw, from each of which it learns once."""
    learning_rate: float = 5e-4
    """Of its own Adam."""
    standardise: bool = False
    """Give it features with mean 0 and spread 1, by running means. As released, they are what they
    are, and it may find a fraction of what a classifier fitted afterwards finds."""

    def __post_init__(self) -> None:
        need_one(self, "num_steps", "num_minibatches")
        if self.num_envs < 0:
            raise ConfigError(f"num_envs (={self.num_envs}) of the classifier must be 0 or more.")
        if self.num_envs * self.num_steps % self.num_minibatches:
            raise ConfigError(
                f"num_minibatches (={self.num_minibatches}) of the classifier must divide its "
                f"num_envs × num_steps (={self.num_envs * self.num_steps})."
            )


@dataclass(frozen=True)
class TrainConfig:
    """A training run."""

    method: MethodConfig
    """Where levels come from."""
    agent: AgentConfig = field(default_factory=AgentConfig)
    """What the agent is."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """How it plays and learns."""
    devices: int = 1
    """Devices over which the agents are spread: cores of a CPU, or accelerators; 0 for all there
    are when a run begins, which notes the number. Another number gives the same results but for
    rounding, which in time makes another run of it."""
    num_updates: int = 27_000
    """How often it learns."""
    chunk: int = 10
    """Updates in one compiled call; metrics are written and the run can stop after each."""
    checkpoint_every: int = 100
    """Updates between checkpoints, rounded up to whole chunks."""
    keep_checkpoints: int = 3
    """How many of the last ones are kept."""
    evaluate_every: int = 250
    """Updates between evaluations, rounded up to whole chunks; 0 for none but the last."""
    evaluate_levels: int = 512
    """Levels of each set in such an evaluation, at most."""
    final_episodes: int = 0
    """Episodes of each set in the last evaluation, the levels taking turns; 0 for one in each."""
    probe_every: int = 250
    """Updates between measurements of what the agent knows about levels, rounded up to whole
    chunks; 0 for none but the last."""
    probe: ProbeConfig = field(default_factory=ProbeConfig)
    """How that is measured."""
    measure_untrained: bool = False
    """At the end, also measure what the agent got and knew before it had learned anything, to
    compare with."""
    classifier: ClassifierConfig = field(default_factory=ClassifierConfig)
    """A level classifier that learns beside the agent, which the score level_nll needs."""
    average_window: int = 100
    """Updates over which P_Λ is averaged, for ShiftGap and the distance from the dataset."""
    drift_limit: float = 0.0
    """Warn, at evaluations, if the levels drawn are farther than this from the dataset
    (Jensen–Shannon distance); 0 for never."""
    drift_lowers_eta: bool = False
    """Also halve η then, and double it again when the distance is below 0.8 of the limit."""

    def __post_init__(self) -> None:
        need_one(self, "num_updates", "chunk", "checkpoint_every", "keep_checkpoints")
        need_one(self, "average_window")
        if self.final_episodes < 0:
            raise ConfigError(f"final_episodes (={self.final_episodes}) must be 0 or more.")
        if self.devices < 0 or not self.ppo.can_spread(self.devices or 1):
            raise ConfigError(
                f"devices (={self.devices}) must divide the agents (={self.ppo.num_envs}) and the "
                f"segments of a minibatch (={self.ppo.num_segments // self.ppo.num_minibatches})."
            )
        self.ppo.check_microbatch(self.ppo.num_segments // self.ppo.num_minibatches)
        if not 0.0 <= self.drift_limit <= 1.0:
            raise ConfigError(f"drift_limit (={self.drift_limit}) must lie between 0 and 1.")


def check_seed(seed: SupportsIndex) -> int:
    """The seed as a plain number; stops at what is none."""
    number = operator.index(seed)
    if not 0 <= number < 2**63:
        raise ConfigError(f"The seed (={number}) must be a whole number from 0 to 2^63 − 1.")
    return number
