"""Settings of the gridworld: how its levels are made, and the models of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dred.config import need_one
from dred.errors import ConfigError

Symmetries = Literal["none", "mirror", "rotations", "all"]
Weights = Literal["presence", "occurrence"]
Heuristic = Literal["count", "entropy"]

MAX_COUNT, MAX_SIZE, MAX_PARTS = 10**9, 1026, 64  # what one machine can be asked for
MAX_LAYERS, MAX_LAYER_SIZE = 64, 2048


def check_size(size: int, *, where: str) -> None:
    """Stop at a side of levels that cannot be."""
    if not 4 <= size <= MAX_SIZE:
        raise ConfigError(
            f"{where} (={size}) must be at least 4, as it includes the wall on both sides, and at "
            f"most {MAX_SIZE}."
        )


@dataclass(frozen=True)
class WFCConfig:
    """How wave function collapse reads a pattern and grows a layout from it."""

    pattern_width: int = 3
    """K: every K×K window of a layout occurs in the pattern (or in a symmetric copy of it)."""
    periodic_input: bool = True
    """Windows wrap round the edges of the pattern."""
    periodic_output: bool = True
    """Windows wrap round the edges of the layout."""
    symmetries: Symmetries = "all"
    """Copies of the pattern to read: none (as drawn), mirror (2), rotations (4) or all (8)."""
    weights: Weights = "presence"
    """A window counts once per copy that has it (presence) or as often as it occurs."""
    heuristic: Heuristic = "count"
    """Decide next the cell with the fewest windows left (count) or the least Shannon entropy."""
    max_attempts: int = 1000
    """Contradictions in a row before giving up on a layout."""
    walls: str = "#"
    """Symbols that become wall; all others become floor once the layout is done."""

    def __post_init__(self) -> None:
        need_one(self, "pattern_width", "max_attempts")


@dataclass(frozen=True)
class TileConfig:
    """Where one kind of tile goes: how much of it, and how much distance to the goal decides."""

    fraction: tuple[float, float] = (0.1, 0.25)
    """Share of the cells that may take this tile, drawn uniformly for each level between these."""
    near_goal: bool = True
    """True: nearer the goal is likelier. False: farther is likelier."""
    temperature: float = 1.0
    """T: the cell of rank k has weight k^(−1/T). Small is strict, large is nearly uniform."""

    def __post_init__(self) -> None:
        low, high = self.fraction
        if not 0.0 <= low <= high <= 1.0:
            raise ConfigError(
                f"fraction (={low} to {high}) must run from low to high within 0 and 1, "
                "for example [0.1, 0.25], or 0.2 for the same share in every level."
            )
        if not self.temperature > 0.0:
            raise ConfigError(f"temperature (={self.temperature}) must be greater than 0.")


@dataclass(frozen=True)
class CaveEscapeConfig:
    """The level distribution of the paper: moss leads to the goal, lava lies away from it."""

    moss: TileConfig = field(default_factory=TileConfig)
    """Moss, on navigable cells."""
    lava: TileConfig = field(default_factory=lambda: TileConfig(near_goal=False))
    """Lava, on cells that are not navigable."""
    lava_depth: int = 4
    """Lava lies at most this many tiles from a navigable cell; 0 means anywhere."""
    min_navigable: int = 2
    """Layouts whose largest connected part has fewer cells are drawn again."""
    only_correlated: bool = True
    """Place again where moss or lava is correlated with distance the wrong way round."""

    def __post_init__(self) -> None:
        if self.lava_depth < 0:
            raise ConfigError(f"lava_depth (={self.lava_depth}) must be 0 (no limit) or more.")
        if self.min_navigable < 2:
            raise ConfigError(
                f"min_navigable (={self.min_navigable}) must be at least 2: a start and a goal."
            )


@dataclass(frozen=True)
class DatasetConfig:
    """A set of levels to make: how many, how large, from which structures, with which tiles."""

    name: str
    """What the set is called. Sets of different names differ for the same seed."""
    structures: tuple[str | Mapping[str, object], ...]
    """Names of structures or files of patterns, or tables such as
    {pattern = "castle.png", pattern_width = 2}. Each gives the same number of levels."""
    count: int = 512
    """Levels in all."""
    size: int = 15
    """Side of a level, its surrounding wall included: 15 has 13×13 cells inside."""
    tiles: CaveEscapeConfig = field(default_factory=CaveEscapeConfig)
    """Where goal, start, moss and lava go."""
    part: int = 0
    """All possible levels fall into `parts` disjoint parts, by their content alone; this set is
    drawn from part number `part`. So sets of different parts never share a level."""
    parts: int = 1
    """See `part`."""

    @property
    def inside(self) -> int:
        """Side of a level without its surrounding wall."""
        return self.size - 2

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise ConfigError(f"count (={self.count}) must be at least 1 and at most {MAX_COUNT}.")
        check_size(self.size, where="size")
        if not self.structures:
            raise ConfigError("structures must name at least one structure or pattern file.")
        if not 0 <= self.part < self.parts <= MAX_PARTS:
            raise ConfigError(
                f"part (={self.part}) must be one of 0 to parts − 1, and parts (={self.parts}) at "
                f"most {MAX_PARTS}."
            )


@dataclass(frozen=True)
class VAEConfig:
    """The graph VAE. The defaults are the model that the released code runs."""

    latent_size: int = 1024
    """Numbers that describe a level."""
    graph_layers: int = 3
    """Layers over the level's graph."""
    graph_size: int = 12
    """Numbers per node in them."""
    encoder_sizes: tuple[int, ...] = (256,)
    """Layers between the graph and the latent."""
    decoder_sizes: tuple[int, ...] = (256, 256)
    """Layers between the latent and the heads."""
    edges: Literal["released", "grid"] = "released"
    """Which cells are joined in the graph."""
    beta: float = 0.0448
    """β: weight of the divergence from the prior, per latent."""
    layout_weight: float = 0.04
    """Weight of the layout, per cell."""
    place_weight: float = 0.013
    """Weight of the goal and of the start."""
    learning_rate: float = 4e-4
    """Of Adam."""
    batch_size: int = 64
    """Levels in a batch."""
    epochs: int = 200
    """Passes over the levels."""
    validation_fraction: float = 0.1
    """Share of the levels by which to judge."""
    augment_symmetries: bool = False
    """Also learn from the seven other symmetric copies of each level."""
    threshold: float = 0.5
    """A cell can be walked on if its probability of moss or empty is above this."""
    connected: bool = False
    """Draw levels in one part, without cells that cannot be reached, if all of the dataset are."""

    def __post_init__(self) -> None:
        need_one(self, "latent_size", "graph_size", "batch_size", "epochs")


@dataclass(frozen=True)
class MaskedConfig:
    """The masked model: a small convolutional network that fills in cells that are not known."""

    size: int = 64
    """Numbers per square of 2×2 cells, in every layer."""
    steps_between: tuple[int, ...] = (1, 2, 1, 3, 1, 2)
    """A layer for each: how many squares away the neighbours are that it looks at."""
    learning_rate: float = 2e-3
    """Of Adam at the beginning; it falls to zero as half a wave of the cosine."""
    batch_size: int = 32
    """Levels in a batch."""
    epochs: int = 200
    """Passes over the levels at most."""
    patience: int = 60
    """Stop after so many passes in a row without a better likelihood of levels held back."""
    average: float = 0.995
    """How slowly the weights that are kept follow those that learn."""
    validation_fraction: float = 0.1
    """Share of the levels by which to judge."""
    augment_symmetries: bool = True
    """Also learn from the symmetric copies of each level."""
    connected: bool = True
    """Draw levels in one part, without cells that cannot be reached, if all of the dataset are."""
    draw_steps: int = 16
    """Looks at a level while it is drawn where one can walk: more are slower, and nearer to one by
    one."""
    corrections: int = 4
    """Looks of which each draws a quarter of that again. Many lead away from the dataset: with 16,
    levels are too open."""
    ahead: int = 4096
    """Levels drawn right after the fit, of which training takes its new ones."""
    ahead_sizes: tuple[int, ...] = ()
    """Sides of those levels, with the wall around, as [15, 21], each of equally many; the dataset's
    size if none is named."""

    @property
    def ahead_shapes(self) -> list[tuple[int, int]]:
        """The heights and widths of levels drawn ahead, without the wall, if they are named."""
        return [(side - 2, side - 2) for side in self.ahead_sizes]

    def __post_init__(self) -> None:
        need_one(self, "size", "batch_size", "epochs", "patience", "draw_steps")
        for name in ("corrections", "ahead"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} (={getattr(self, name)}) must be 0 or more.")
        if self.size > MAX_LAYER_SIZE:
            raise ConfigError(f"size (={self.size}) must be at most {MAX_LAYER_SIZE}.")
        for side in self.ahead_sizes:
            check_size(side, where="ahead_sizes")
        steps = self.steps_between
        if not 1 <= len(steps) <= MAX_LAYERS or not all(1 <= one <= MAX_SIZE for one in steps):
            raise ConfigError(
                f"steps_between (={list(steps)}) must name 1 to {MAX_LAYERS} layers, each by a "
                f"number from 1 to {MAX_SIZE}."
            )
        if not 0.0 <= self.average < 1.0:
            raise ConfigError(f"average (={self.average}) must be at least 0 and less than 1.")
        if not 0.0 < self.validation_fraction < 1.0:
            raise ConfigError(
                f"validation_fraction (={self.validation_fraction}) must be between 0 and 1."
            )
