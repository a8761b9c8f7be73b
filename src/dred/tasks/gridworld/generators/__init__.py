"""Where new levels of the gridworld come from. To add one, write the record and name it here."""

from dred.task import Generator
from dred.tasks.gridworld.generators.edits import EDITS
from dred.tasks.gridworld.generators.random import EMPTY_ROOMS, RANDOM
from dred.tasks.gridworld.generators.resample import RESAMPLE
from dred.tasks.gridworld.generators.vae.fitted import load as load
from dred.tasks.gridworld.generators.vae.generator import VAE

GENERATORS: dict[str, Generator] = {
    "random": RANDOM,
    "empty": EMPTY_ROOMS,
    "edits": EDITS,
    "vae": VAE,
    "resample": RESAMPLE,
}
