"""The masked model as two generators: of new levels, and of parents with a part filled in anew."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred.config import need_one
from dred.errors import ConfigError
from dred.task import Generator, GeneratorInput, LevelSet
from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.folder import check_fitted_to, weights_digest
from dred.tasks.gridworld.generators.masked.cells import CONTENTS, UNKNOWN, cells_of
from dred.tasks.gridworld.generators.masked.draw import fill, rectangle
from dred.tasks.gridworld.generators.masked.fitted import AHEAD, KIND, WEIGHTS, load, looks_of
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.masked.structures import NOT_TOLD
from dred.tasks.gridworld.generators.masked.whole import fit_generator
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.dataset import load as load_levels
from dred.tasks.gridworld.levels.level import Level, has_outside
from dred.tasks.gridworld.levels.sizes import padded, with_room_for
from dred.tasks.gridworld.presets import MASKED


class Filler(eqx.Module):
    """A fitted model: all that making levels takes. A pytree, for compiled code."""

    model: MaskedModel
    log_shares: Float[Array, " label"]  # of the structures in the dataset
    ahead: Level | None  # levels drawn right after the fit, if any
    config: MaskedConfig = eqx.field(static=True)
    connected: bool = eqx.field(static=True)


@dataclass(frozen=True)
class MaskedDrawConfig:
    """How new levels are drawn from the masked model."""

    ahead: bool = True
    """Take levels, at random, of those that were drawn right after the fit, which costs nothing;
    otherwise the network draws each anew."""
    steps: int = 0
    """Looks at a level while its classes are drawn anew; 0 stands for the number in the model's own
    settings. Fewer are quicker."""
    temperature: float = 1.0
    """Of levels drawn anew: smaller is nearer to the likeliest tiles."""
    candidates: int = 1
    """Levels drawn for each that is wanted; the one farthest from all levels of the dataset is
    taken."""

    def __post_init__(self) -> None:
        need_one(self, "candidates")
        check_drawing(self.steps, self.temperature)


@dataclass(frozen=True)
class MaskedEditsConfig:
    """How a part of a level is filled in anew."""

    share: float = 0.25
    """About which share of the cells: a rectangle, anywhere in the level."""
    steps: int = 0
    """Looks at a level while classes are drawn; 0 stands for half the number in the model's own
    settings."""
    temperature: float = 1.0
    """Smaller is nearer to the likeliest tiles."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise ConfigError(f"share (={self.share}) must be greater than 0 and at most 1.")
        check_drawing(self.steps, self.temperature)


def check_drawing(steps: int, temperature: float) -> None:
    """Stop at what levels cannot be drawn with."""
    if steps < 0:
        raise ConfigError(f"steps (={steps}) must be 0 (as the model's settings say) or more.")
    if not temperature > 0:
        raise ConfigError(f"temperature (={temperature}) must be greater than 0.")


def drawn(given: GeneratorInput, settings: MaskedDrawConfig, key: PRNGKeyArray) -> Level:
    """Return a new level in place of every parent."""
    filler: Filler = given.model
    count, height, width = given.parents.tiles.shape
    many = count * settings.candidates
    if settings.ahead and filler.ahead is not None:
        which = jax.random.randint(key, (many,), 0, len(filler.ahead.tiles))
        made = padded(jax.tree.map(lambda part: part[which], filler.ahead), (height, width))
    else:
        key_label, key_fill = jax.random.split(key)
        made = fill(
            filler.model,
            jnp.full((many, height, width), UNKNOWN),
            jax.random.categorical(key_label, filler.log_shares, shape=(many,)),
            looks=looks_of(filler.config, settings.steps),
            connected=filler.connected,
            temperature=settings.temperature,
            key=key_fill,
        )
    if settings.candidates == 1:
        return made
    distance = distance_to_nearest(cells_of(made), cells_of(given.dataset))
    best = distance.reshape(count, -1).argmax(axis=1) + jnp.arange(count) * settings.candidates
    return jax.tree.map(lambda part: part[best], made)


def with_room(levels: Level, settings: MaskedDrawConfig, filler: Filler) -> Level:
    """Return the dataset with room for the levels drawn ahead."""
    if not settings.ahead or filler.ahead is None:
        return levels
    wide = with_room_for(levels, filler.config.ahead_shapes)
    if settings.candidates > 1 and has_outside(wide.tiles):
        raise ConfigError(
            f"candidates (={settings.candidates}) compares levels with the dataset cell by cell. "
            "It must be 1 where levels drawn ahead have other sizes than the dataset's."
        )
    return wide


def check_one_size(levels: Level, settings: MaskedEditsConfig, filler: Filler) -> Level:
    """Return the dataset; stop where levels of other sizes are to be edited."""
    del settings, filler
    if has_outside(levels.tiles):
        raise ConfigError(
            "masked-edits fills in levels of the one size that the model was fitted to. Use a "
            "model without `ahead_sizes`, or another generator of mutations."
        )
    return levels


def distance_to_nearest(
    cells: Int[Array, "batch row column"], others: Int[Array, "other row column"]
) -> Float[Array, " batch"]:
    """Return in how many cells each level differs from the nearest of the others."""

    def in_ones(cells: Int[Array, "any row column"]) -> Float[Array, "any held"]:
        return jax.nn.one_hot(cells, CONTENTS, dtype=jnp.float32).reshape(len(cells), -1)

    same = in_ones(cells) @ in_ones(others).T
    return cells[0].size - same.max(axis=1)


def edited(given: GeneratorInput, settings: MaskedEditsConfig, key: PRNGKeyArray) -> Level:
    """Return every parent with a part filled in anew."""
    filler: Filler = given.model
    key_where, key_fill = jax.random.split(key)
    cells = cells_of(given.parents)
    unknown = rectangle(cells.shape, settings.share, key=key_where)
    return fill(
        filler.model,
        jnp.where(unknown, UNKNOWN, cells),
        jnp.full((len(cells),), NOT_TOLD),
        looks=looks_of(filler.config, settings.steps or max(1, filler.config.draw_steps // 2)),
        connected=filler.connected,
        temperature=settings.temperature,
        key=key_fill,
    )


def filler_of(generator: Path, levels: LevelSet) -> Filler:
    """Return a fitted model; it must have been fitted to this very dataset."""
    fitted = load(generator)
    check_fitted_to(generator, fitted.dataset, cast(LevelDataset, levels))
    ahead = None
    if fitted.config.ahead:
        drawn_ahead = load_levels(generator / AHEAD)
        ahead = Level(*(jnp.asarray(part) for part in drawn_ahead.levels))
    shares = jnp.asarray(fitted.structures.log_shares())
    return Filler(fitted.model, shares, ahead, fitted.config, fitted.connected)


def digest(folder: Path) -> str:
    """Return what the weights of a generator and the levels drawn ahead are known by."""
    names = [name for name in (WEIGHTS, Path(AHEAD).stem) if (folder / f"{name}.npz").exists()]
    digests = [weights_digest(folder, name) for name in names]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


MASKED_LEVELS = Generator(
    drawn,
    settings=MaskedDrawConfig(),
    widen=with_room,
    load=filler_of,
    digest=digest,
    open=load,
    fit=fit_generator,
    fit_presets=tuple(MASKED),
)
MASKED_EDITS = Generator(
    edited,
    settings=MaskedEditsConfig(),
    uses_parents=True,
    widen=check_one_size,
    load=filler_of,
    digest=digest,
    fitted_by=KIND,
)
