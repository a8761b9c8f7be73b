"""Where new levels come from. To add a generator, write the function and name it here."""

from dred.generators.edits import edited
from dred.generators.protocol import Generator as Generator
from dred.generators.protocol import Given as Given
from dred.generators.protocol import Material as Material
from dred.generators.random import empty_rooms, random_rooms
from dred.generators.resample import resampled
from dred.generators.vae.fitted import load as load
from dred.generators.vae.latent import interpolated

GENERATORS: dict[str, Generator] = {
    "random": random_rooms,
    "empty": empty_rooms,
    "edits": edited,
    "vae": interpolated,
    "resample": resampled,
}
WITHOUT_PARENTS = {"random", "empty", "vae", "resample"}  # those that need no replayed levels
