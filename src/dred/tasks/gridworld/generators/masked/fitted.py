"""A fitted masked model with the levels it was fitted to: making levels, and their likelihood."""

from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from dred import checkpoint
from dred.tasks.gridworld.config import MaskedConfig
from dred.tasks.gridworld.generators.fitted import check_own_size, mode_of
from dred.tasks.gridworld.generators.folder import facts_in, levels_in, rows_in, settings_in
from dred.tasks.gridworld.generators.masked.bound import mean_bound
from dred.tasks.gridworld.generators.masked.cells import UNKNOWN, cells_of
from dred.tasks.gridworld.generators.masked.draw import Looks, fill, rectangle
from dred.tasks.gridworld.generators.masked.model import MaskedModel
from dred.tasks.gridworld.generators.masked.structures import NOT_TOLD, structures_of
from dred.tasks.gridworld.generators.masked.words import history_words
from dred.tasks.gridworld.generators.parts import all_connected
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.level import Level

KIND = "masked"
WEIGHTS = "best"  # by the likelihood of levels held back
AHEAD = "ahead.npz"  # levels drawn right after the fit
MODES = ("new", "edit")
SHARE = 0.25  # of the cells of a level of the dataset that the mode `edit` fills in anew
MOST_CELLS = 256 * 13 * 13  # that are drawn at once


class FittedMasked:
    """Makes levels like those it was fitted to, of any size, and tells how likely levels are."""

    kind, modes = KIND, MODES

    def __init__(
        self,
        model: MaskedModel,
        config: MaskedConfig,
        dataset: LevelDataset,
        path: Path | None = None,  # the folder from which it was loaded
    ) -> None:
        self.model, self.config, self.dataset, self.path = model, config, dataset, path
        self.connected = config.connected and all_connected(dataset.levels)
        self.structures = structures_of(dataset, symmetries=False)

    def sample(
        self,
        count: int,
        *,
        mode: str = MODES[0],
        key: PRNGKeyArray,
        temperature: float = 1.0,
        shape: tuple[int, int] | None = None,
        steps: int | None = None,
        structure: str = "",
        tell: Callable[[int], None] = lambda done: None,
    ) -> Level:
        """So many levels: new ones, or levels of the dataset with a part filled in anew.

        New ones may have another shape (without the wall) than those of the dataset. They have its
        structures as often as it has them, or the one that is named. `tell` hears how many were
        made.
        """
        mode_of(self, mode)
        height, width = shape or self.dataset.shape
        if mode == "edit":
            check_own_size(self, shape)
        size = max(1, MOST_CELLS // (height * width))
        size = min(size, count)
        pieces: list[Level] = []
        for number in range(0, count, size):
            key_which, key_where, key_fill = jax.random.split(jax.random.fold_in(key, number), 3)
            cells = jnp.full((size, height, width), UNKNOWN)
            label = self.labels(size, structure, key=key_which)
            if mode == "edit":
                which = jax.random.randint(key_which, (size,), 0, len(self.dataset))
                known = cells_of(jax.tree.map(lambda part, i=which: part[i], self.dataset.levels))
                cells = jnp.where(rectangle(cells.shape, SHARE, key=key_where), UNKNOWN, known)
                label = jnp.asarray(self.structures.label)[which]
            pieces.append(
                self.fill(cells, label=label, key=key_fill, temperature=temperature, steps=steps)
            )
            tell(min(size, count - number))
        return Level(*(np.concatenate(parts)[:count] for parts in zip(*pieces, strict=True)))

    def labels(self, count: int, structure: str = "", *, key: PRNGKeyArray) -> Int[Array, " level"]:
        """Labels of a structure, or of all in the shares of the dataset but for rounding."""
        if structure:
            return jnp.full((count,), self.structures.label_of(structure))
        until = np.cumsum(np.exp(self.structures.log_shares()))
        key_shift, key_order = jax.random.split(key)
        place = (jnp.arange(count, dtype=jnp.float32) + jax.random.uniform(key_shift)) / count
        label = jnp.searchsorted(jnp.asarray(until[:-1] / until[-1]), place, side="right")
        return jax.random.permutation(key_order, label)

    def fill(
        self,
        cells: Int[Array, "batch row column"],
        *,
        label: Int[Array, " batch"] | None = None,
        key: PRNGKeyArray,
        temperature: float = 1.0,
        steps: int | None = None,
    ) -> Level:
        """Levels in which all that is unknown (`masked.cells.UNKNOWN`) was drawn."""
        looks = looks_of(self.config, steps or 0)
        label = jnp.full((len(cells),), NOT_TOLD) if label is None else label
        made = _fill(self.model, cells, label, looks, self.connected, temperature, key)
        return Level(*(np.asarray(part) for part in made))

    def log_likelihood(
        self, levels: Level, *, key: PRNGKeyArray, samples: int = 64
    ) -> Float[np.ndarray, " level"]:
        """A lower bound on the log-likelihood of each level, in nats, estimated without bias.

        It is the mean over all orders in which the cells could be drawn; each sample is one set of
        cells that are not known yet. Levels may have any size.
        """
        cells = cells_of(Level(*(jnp.asarray(part) for part in levels)))
        label = jnp.full((len(cells),), NOT_TOLD)
        return np.asarray(mean_bound(self.model, cells, label, samples=samples, key=key))

    def words(self) -> str:
        """Return how its fit went, which the folder knows."""
        return "" if self.path is None else history_words(rows_in(self.path, "history"))


@eqx.filter_jit
def _fill(
    model: MaskedModel,
    cells: Int[Array, "batch row column"],
    label: Int[Array, " batch"],
    looks: Looks,
    connected: bool,
    temperature: float,
    key: PRNGKeyArray,
) -> Level:
    return fill(
        model, cells, label, looks=looks, connected=connected, temperature=temperature, key=key
    )


def looks_of(config: MaskedConfig, steps: int = 0) -> Looks:
    """Return the looks of a model's settings; of fewer steps, with as many fewer corrections."""
    steps = steps or config.draw_steps
    return Looks(steps, round(config.corrections * min(1.0, steps / config.draw_steps)))


def load(folder: str | Path) -> FittedMasked:
    """Return a fitted model from its folder."""
    folder = Path(folder)
    facts = facts_in(folder)
    config = settings_in(folder, facts, KIND, MaskedConfig)
    dataset = levels_in(folder, facts)
    structures = len(structures_of(dataset, symmetries=False).names)
    blank = eqx.filter_eval_shape(MaskedModel, config, structures=structures, key=jax.random.key(0))
    return FittedMasked(checkpoint.load(folder / f"{WEIGHTS}.npz", blank), config, dataset, folder)
