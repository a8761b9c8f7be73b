"""What set of levels to make: a preset or a TOML file, with everything looked up."""

import dataclasses
import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsIndex

from dred.config import check_seed
from dred.errors import ConfigError, lookup
from dred.settings import read_settings
from dred.tasks.gridworld.config import DatasetConfig
from dred.tasks.gridworld.levels.dataset import LevelDataset
from dred.tasks.gridworld.levels.wfc.structures import Structure, find_structure
from dred.tasks.gridworld.presets import LEVEL_SETS


@dataclass(frozen=True)
class Plan:
    """A set to make, with everything looked up."""

    config: DatasetConfig
    structures: tuple[Structure, ...]
    seed: int

    @property
    def title(self) -> str:
        """What the set is called."""
        return self.config.name

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the levels, without the surrounding wall."""
        return self.config.inside, self.config.inside

    @property
    def names(self) -> list[str]:
        """The names of the structures."""
        return [structure.name for structure in self.structures]

    @property
    def counts(self) -> list[int]:
        """How many levels each structure gives."""
        return equal_shares(self.config.count, len(self.structures))

    @property
    def recipe(self) -> dict[str, object]:
        """All that the levels depend on, for JSON."""
        return {
            "by": "dred levels make",
            "seed": self.seed,
            "config": dataclasses.asdict(self.config),
            "patterns": {
                structure.name: {
                    **vars(structure.config),
                    "symbols": structure.symbols,
                    "drawing": [
                        " ".join(str(number) for number in row) for row in structure.template
                    ],
                }
                for structure in self.structures
            },
        }


def equal_shares(count: int, among: int) -> list[int]:
    """So many things divided equally, the first ones taking the rest."""
    each, rest = divmod(count, among)
    return [each + (index < rest) for index in range(among)]


def find_config(name: str | Path) -> tuple[DatasetConfig, Path]:
    """The settings of a preset or a TOML file, and the folder that its files are relative to."""
    name = str(name)
    if not name.lower().endswith(".toml"):
        return lookup(LEVEL_SETS, name, what="level set (or .toml file)"), Path()
    path = Path(name)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        known = ", ".join(LEVEL_SETS)
        raise ConfigError(
            f"There is no file {path}. Give a TOML file or one of: {known}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    table.setdefault("name", path.stem)
    return read_settings(DatasetConfig, table, where=str(path)), path.parent


def make_plan(
    name: str | Path,
    *,
    seed: SupportsIndex = 0,
    count: int | None = None,
    size: int | None = None,
    structures: Sequence[str] = (),
) -> Plan:
    """What to make: a preset or a TOML file, with the caller's changes."""
    config, folder = find_config(name)
    changes: dict[str, object] = {"count": count, "size": size}
    config = replace(config, **{key: value for key, value in changes.items() if value is not None})
    if structures:
        names = (structures,) if isinstance(structures, str) else tuple(structures)
        config, folder = replace(config, structures=names), Path()
    found = tuple(_find(item, folder) for item in config.structures)
    repeated = [name for name, n in Counter(structure.name for structure in found).items() if n > 1]
    if repeated:
        raise ConfigError(
            f"Several structures are called {repeated[0]!r} (files are called by their name "
            "without the ending). Rename one of them, or name it only once."
        )
    return Plan(config, found, check_seed(seed))


def plan_of(dataset: LevelDataset) -> Plan:
    """The plan by which a set was made, as it says itself; an error if it cannot be followed."""
    recipe = dataset.meta.get("made")
    if not isinstance(recipe, dict) or "config" not in recipe:
        raise ConfigError(
            "These levels do not say how they were made, so no more can be made in the same way. "
            "Use levels from `dred levels make`."
        )
    made: dict[str, Any] = json.loads(json.dumps(recipe))  # as it would be from a file
    config = read_settings(DatasetConfig, made["config"], where="the recipe of the levels")
    plan = Plan(config, tuple(_find(item, Path()) for item in config.structures), made["seed"])
    if json.loads(json.dumps(plan.recipe["patterns"])) != made["patterns"]:
        raise ConfigError(
            "The patterns by which these levels were made are not those that are found now: "
            f"{', '.join(made['patterns'])}. Put the old pattern files back."
        )
    return plan


def _find(item: str | Mapping[str, object], folder: Path) -> Structure:
    if isinstance(item, str):
        return find_structure(item, folder=folder)
    changes = dict(item)
    pattern = changes.pop("pattern", None)
    if not isinstance(pattern, str):
        raise ConfigError(
            "A structure given as a table needs a `pattern`, the name of a structure or of a "
            f"file: {dict(item)}."
        )
    return find_structure(pattern, folder=folder, changes=changes)
