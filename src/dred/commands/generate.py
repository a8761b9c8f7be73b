"""`dred generate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError


@dataclass(frozen=True)
class Generate:
    """Make levels with a fitted generator, solvable or not, and say how good they are.

    For example:
      dred generate vae --mode interpolate --count 1000 --out new.npz
    """

    generator: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="GENERATOR")]
    """The folder that `dred fit` wrote."""
    out: Path
    """Where to write the levels (.npz)."""
    mode: Annotated[str | None, tyro.conf.arg(metavar="MODE")] = None
    """A VAE's: interpolate (between pairs of the dataset, unless another is named), reconstruct
    (near its levels) or prior. Other models have their own."""
    count: int = 512
    """Levels in all."""
    size: Annotated[int | None, tyro.conf.arg(metavar="S")] = None
    """Side of a level, its surrounding wall included, if other than that of the levels fitted to;
    not every model can."""
    held_out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Other levels of the same kind, to say how near to them these are."""
    temperature: float = 1.0
    """Smaller is nearer to the likeliest level."""
    seed: int = 0
    """Another seed gives other levels."""

    def run(self) -> None:
        """Make, judge and save them."""
        import jax
        import numpy as np

        from dred.config import check_seed
        from dred.files import check_writable
        from dred.generators import load
        from dred.tasks.gridworld.config import MAX_SIZE
        from dred.tasks.gridworld.generators.fitted import mode_of
        from dred.tasks.gridworld.generators.quality import assess, in_words
        from dred.tasks.gridworld.levels import LevelDataset
        from dred.tasks.gridworld.levels import load as load_levels

        if self.count < 1:
            raise ConfigError(f"--count (={self.count}) must be at least 1.")
        if not self.temperature > 0:
            raise ConfigError(f"--temperature (={self.temperature}) must be greater than 0.")
        if self.size is not None and not 4 <= self.size <= MAX_SIZE:
            raise ConfigError(
                f"--size (={self.size}) must be at least 4, as it includes the wall on both sides, "
                f"and at most {MAX_SIZE}."
            )
        generator = load(self.generator)
        mode = generator.modes[0] if self.mode is None else mode_of(generator, self.mode)
        shape = None if self.size is None else (self.size - 2, self.size - 2)
        check_writable(self.out, inputs=[self.generator / "levels.npz"])
        key = jax.random.key(check_seed(self.seed))
        levels = generator.sample(
            self.count, mode=mode, key=key, temperature=self.temperature, shape=shape
        )
        held_out = None if self.held_out is None else load_levels(self.held_out)
        dataset = generator.dataset
        quality = assess(levels, dataset, held_out)
        meta: dict[str, object] = {
            "generator": str(self.generator),
            "fitted_to": dataset.digest,
            "mode": mode,
            "seed": self.seed,
            "quality": quality.for_json(),
        }
        names = np.full(self.count, f"{generator.kind}-{mode}")
        LevelDataset(*levels, structure=names, meta=meta).save(self.out)
        print(in_words({mode: quality, "the dataset": assess(dataset.levels, dataset, held_out)}))
        print(f"{self.out}: {self.count} levels")
