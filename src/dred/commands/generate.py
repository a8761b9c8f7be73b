"""`dred fit` and `dred generate`."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError, lookup

JUDGED = 1024  # levels by which a fitted model is judged


@dataclass(frozen=True)
class Fit:
    """Fit a graph VAE to a set of levels, and write a generator.

    For example:
      dred fit --levels train.npz --out vae
      dred fit --levels train.npz --out vae-short --epochs 20
    """

    levels: Path
    """The levels to fit to (.npz)."""
    out: Path
    """The folder to write. It must not exist yet."""
    preset: str = "default"
    """Which settings: default, or paper for those of the released code."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Passes over the levels, instead of the preset's number."""
    seed: int = 0
    """Another seed gives another model."""

    def run(self) -> None:
        """Fit, save, and judge what the model makes."""
        import jax

        from dred import progress
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.generators.quality import assess, in_words
        from dred.generators.vae.fit import fit
        from dred.generators.vae.fitted import Mode, save
        from dred.levels import load
        from dred.presets import VAES

        config = lookup(VAES, self.preset, what="preset")
        if self.epochs is not None:
            config = replace(config, epochs=self.epochs)
        dataset = load(self.levels)
        if self.out.exists():
            raise ConfigError(f"{self.out} exists already. Choose another --out.")
        keep_compiled_programs()
        key = jax.random.key(check_seed(self.seed))
        key_fit, key_judge = jax.random.split(key)
        with progress.bar("fitting", config.epochs, unit="epochs") as advance:
            fitted = fit(
                dataset.levels,
                config,
                key=key_fit,
                tell=lambda row: advance(1, note=f"loss {row['loss/held_back']:.4f} held back"),
            )
        generator = save(self.out, fitted, config, dataset, command=sys.argv)
        for where, title in (("train", "levels fitted to"), ("held_back", "levels held back")):
            parts = {
                name.split("/")[0]: value
                for name, value in fitted.history[-1].items()
                if name.endswith(f"/{where}")
            }
            print(
                f"{title}, in nats: layout {parts['layout']:.3f} a cell, goal {parts['goal']:.2f}, "
                f"start {parts['start']:.2f}, divergence {parts['divergence']:.1f}"
            )
        best = min(fitted.history, key=lambda row: row["loss/held_back"])
        print(f"{self.out}: {config.epochs} epochs; least loss held back at {best['epoch']:.0f}")
        modes: tuple[Mode, ...] = ("reconstruct", "interpolate", "prior")
        rows = {
            mode: assess(generator.sample(JUDGED, mode=mode, key=key_judge), dataset)
            for mode in modes
        }
        print(in_words(rows | {"the dataset": assess(dataset.levels, dataset)}))


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
    mode: str = "interpolate"
    """interpolate (between pairs of the dataset), reconstruct (near its levels) or prior."""
    count: int = 512
    """Levels in all."""
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
        from dred.generators.quality import assess, in_words
        from dred.generators.vae.fitted import Mode, load
        from dred.levels import LevelDataset

        modes: dict[str, Mode] = {
            "interpolate": "interpolate",
            "reconstruct": "reconstruct",
            "prior": "prior",
        }
        mode = lookup(modes, self.mode, what="mode")
        if self.count < 1:
            raise ConfigError(f"--count (={self.count}) must be at least 1.")
        if not self.temperature > 0:
            raise ConfigError(f"--temperature (={self.temperature}) must be greater than 0.")
        generator = load(self.generator)
        check_writable(self.out, inputs=[self.generator / "levels.npz"])
        key = jax.random.key(check_seed(self.seed))
        levels = generator.sample(self.count, mode=mode, key=key, temperature=self.temperature)
        quality = assess(levels, generator.dataset)
        meta: dict[str, object] = {
            "generator": str(self.generator),
            "fitted_to": generator.dataset.digest,
            "mode": mode,
            "seed": self.seed,
            "quality": quality._asdict(),
        }
        names = np.full(self.count, f"vae-{mode}")
        LevelDataset(*levels, structure=names, meta=meta).save(self.out)
        print(
            in_words(
                {mode: quality, "the dataset": assess(generator.dataset.levels, generator.dataset)}
            )
        )
        print(f"{self.out}: {self.count} levels")
