"""Where new levels come from. To add a generator, write the function and name it here."""

from dred.tasks.gridworld.generators.edits import edited
from dred.tasks.gridworld.generators.protocol import Generator as Generator
from dred.tasks.gridworld.generators.protocol import Given as Given
from dred.tasks.gridworld.generators.protocol import Material as Material
from dred.tasks.gridworld.generators.random import empty_rooms, random_rooms
from dred.tasks.gridworld.generators.resample import resampled
from dred.tasks.gridworld.generators.vae.fitted import load as load
from dred.tasks.gridworld.generators.vae.latent import interpolated

GENERATORS: dict[str, Generator] = {
    "random": random_rooms,
    "empty": empty_rooms,
    "edits": edited,
    "vae": interpolated,
    "resample": resampled,
}
WITHOUT_PARENTS = {"random", "empty", "vae", "resample"}  # those that need no replayed levels
