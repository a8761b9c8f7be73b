"""Where new levels of the gridworld come from. To add one, write the record and name it here."""

from pathlib import Path

from dred.errors import CheckpointError
from dred.task import Generator
from dred.tasks.gridworld.generators.edits import EDITS
from dred.tasks.gridworld.generators.fitted import FittedModel as FittedModel
from dred.tasks.gridworld.generators.folder import facts_in
from dred.tasks.gridworld.generators.masked.generator import MASKED_EDITS, MASKED_LEVELS
from dred.tasks.gridworld.generators.random import EMPTY_ROOMS, RANDOM
from dred.tasks.gridworld.generators.resample import RESAMPLE
from dred.tasks.gridworld.generators.vae.generator import VAE
from dred.tasks.gridworld.generators.wfc.generator import WFC

GENERATORS: dict[str, Generator] = {
    "random": RANDOM,
    "empty": EMPTY_ROOMS,
    "edits": EDITS,
    "vae": VAE,
    "masked": MASKED_LEVELS,
    "masked-edits": MASKED_EDITS,
    "wfc": WFC,
    "resample": RESAMPLE,
}


def load(folder: str | Path) -> FittedModel:
    """Return the model in a folder that `dred fit` wrote, whatever kind it is."""
    folder = Path(folder)
    kind = facts_in(folder)["kind"]
    found = GENERATORS.get(kind)
    if found is None or found.open is None:
        known = ", ".join(name for name, one in GENERATORS.items() if one.open is not None)
        raise CheckpointError(
            f"{folder} is a generator of a kind that is not known ({kind!r}); known are {known}."
        )
    return found.open(folder)
