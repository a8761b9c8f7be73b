"""`dred fit` and `dred generate`."""

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from dred.errors import ConfigError, lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jaxtyping import PRNGKeyArray

    from dred.config import VAEConfig
    from dred.generators.vae.fit import Fitting
    from dred.generators.vae.fitted import FittedVAE
    from dred.generators.vae.folder import FitFolder
    from dred.levels import LevelDataset

JUDGED = 1024  # levels by which a fitted model is judged
SEARCHED = 256  # the same, in a search


@dataclass(frozen=True)
class Fit:
    """Fit a graph VAE to a set of levels, and write a generator.

    If it is interrupted, the same command goes on from where it was.

    For example:
      dred fit --levels train.npz --out vae
      dred fit --levels train.npz --out vae-short --epochs 20
      dred fit --levels train.npz --out vae-best --sweep 20 --folds 5
    """

    levels: Path
    """The levels to fit to (.npz)."""
    out: Path
    """The folder to write. It must not exist yet."""
    held_out: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Other levels of the same kind, to say how near to them the model's levels are."""
    preset: str = "default"
    """Which settings: default, paper for those of the released code, or paper-table for those
    printed in the paper."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Passes over the levels, instead of the preset's number."""
    sweep: int = 0
    """Try so many random settings first, and fit with the best of them."""
    folds: int = 0
    """Also cross-validate: hold back each of so many parts of the levels in turn."""
    seed: int = 0
    """Another seed gives another model."""

    def run(self) -> None:
        """Fit, save, and judge what the model makes."""
        import jax

        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.generators.vae.fit import begin
        from dred.generators.vae.fitted import load as load_generator
        from dred.generators.vae.folder import FitFolder
        from dred.levels import load
        from dred.presets import VAES
        from dred.reports.figures import fit_curves

        config = lookup(VAES, self.preset, what="preset")
        if self.epochs is not None:
            config = replace(config, epochs=self.epochs)
        if self.sweep < 0 or self.folds < 0 or self.folds == 1:
            raise ConfigError(
                f"--sweep (={self.sweep}) must be 0 or more, and --folds (={self.folds}) 0 or at "
                "least 2."
            )
        dataset = load(self.levels)
        held_out = None if self.held_out is None else load(self.held_out)
        task = {
            "config": asdict(config),
            "seed": check_seed(self.seed),
            "sweep": self.sweep,
            "folds": self.folds,
        }
        keep_compiled_programs()
        key_fit, key_judge = jax.random.split(jax.random.key(self.seed))
        begin(dataset.levels, config, key=key_fit)  # says now what cannot be fitted
        folder = FitFolder(self.out, task, dataset)
        try:
            if self.sweep:
                config = search(folder, dataset, config, self.sweep, self.seed, key_fit)
            if self.folds:
                cross_validate(folder, dataset, config, self.folds, key_fit)
            fitting = fit_on(folder, dataset, config, key_fit)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Saved. The same command goes on.") from None
        last = folder.history[-1]
        fit_curves(folder.history, folder.path / "curves.png")
        folder.finish(fitting, config, dataset, command=sys.argv)
        for where, title in (("train", "levels fitted to"), ("held_back", "levels held back")):
            print(f"{title}, in nats: {in_nats(last, where)}")
        best = min(folder.history, key=lambda row: row["loss/held_back"])
        print(f"{self.out}: {config.epochs} epochs; least loss held back at {best['epoch']:.0f}")
        report(load_generator(self.out), held_out, key_judge)


def in_nats(row: "Mapping[str, float]", where: str) -> str:
    """The parts of the bound after an epoch."""
    return (
        f"layout {row[f'layout/{where}']:.3f} a cell, goal {row[f'goal/{where}']:.2f}, start "
        f"{row[f'start/{where}']:.2f}, divergence {row[f'divergence/{where}']:.1f}, bound "
        f"{row[f'elbo/{where}']:.0f}"
    )


def fit_on(
    folder: "FitFolder", dataset: "LevelDataset", config: "VAEConfig", key: "PRNGKeyArray"
) -> "Fitting":
    """Fit from where it was left, with a bar."""
    from dred import progress
    from dred.generators.vae.fit import begin, fit

    fitting = folder.restore(begin(dataset.levels, config, key=key))
    done = int(fitting.epochs)
    with progress.bar("fitting", config.epochs, unit="epochs", done=done) as advance:

        def tell(row: dict[str, float], fitting: "Fitting") -> None:
            folder.note(row, fitting)
            advance(1, note=f"loss {row['loss/held_back']:.4f} held back")

        fitting, _ = fit(dataset.levels, config, key=key, fitting=fitting, tell=tell)
    return fitting


def search(
    folder: "FitFolder",
    dataset: "LevelDataset",
    base: "VAEConfig",
    count: int,
    seed: int,
    key: "PRNGKeyArray",
) -> "VAEConfig":
    """Fit with random settings, and take those with the highest bound on levels held back."""
    import numpy as np

    from dred import progress
    from dred.generators.quality import assess
    from dred.generators.vae.fit import fit
    from dred.generators.vae.fitted import FittedVAE
    from dred.generators.vae.search import changed_settings, drawn_settings

    rows = folder.rows("sweep")
    drawn = [drawn_settings(base, np.random.default_rng([seed, i])) for i in range(count)]
    with progress.bar("searching", count, unit="settings", done=len(rows)) as advance:
        for number, config in list(enumerate(drawn))[len(rows) :]:
            fitting, history = fit(dataset.levels, config, key=key)
            generator = FittedVAE(fitting.model, config, dataset)
            quality = assess(generator.sample(SEARCHED, key=key), dataset)
            bound = history[-1]["elbo/held_back"]
            rows.append(
                {
                    "number": number,
                    "elbo/held_back": bound if np.isfinite(bound) else None,
                    "solvable": quality.solvable,
                    "shift": quality.shift,
                    "novel": quality.novel,
                    "settings": changed_settings(config, base),
                }
            )
            folder.write_rows("sweep", rows)
            advance(1, note=f"bound {bound:.0f}")

    def bound_of(row: dict[str, Any]) -> float:
        bound = row["elbo/held_back"]
        return -np.inf if bound is None else bound

    print("bound  solvable  shift  novel  settings")
    for row in sorted(rows, key=bound_of, reverse=True):
        settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
        print(
            f"{bound_of(row):5.0f}  {row['solvable']:8.1%}  {row['shift']:5.3f}  "
            f"{row['novel']:5.1%}  {settings}"
        )
    return drawn[max(rows, key=bound_of)["number"]]


def cross_validate(
    folder: "FitFolder",
    dataset: "LevelDataset",
    config: "VAEConfig",
    count: int,
    key: "PRNGKeyArray",
) -> None:
    """Fit without each part of the levels in turn, and say how probable that part was then."""
    import numpy as np

    from dred import progress
    from dred.generators.vae.fit import fit, folds

    rows = folder.rows("folds")
    parts = list(folds(len(dataset), -(-len(dataset) // count), key=key))
    with progress.bar("cross-validating", len(parts), unit="folds", done=len(rows)) as advance:
        for number, held_back in list(enumerate(parts))[len(rows) :]:
            _, history = fit(dataset.levels, config, key=key, held_back=held_back)
            rows.append({"fold": number, "levels": len(held_back), **history[-1]})
            folder.write_rows("folds", rows)
            advance(1, note=f"bound {history[-1]['elbo/held_back']:.0f}")
    for row in rows:
        print(f"fold {row['fold']}, held back, in nats: {in_nats(row, 'held_back')}")
    bounds = [row["elbo/held_back"] for row in rows]
    print(f"{len(rows)} folds: bound {np.mean(bounds):.0f} ± {np.std(bounds):.0f}")


def report(generator: "FittedVAE", held_out: "LevelDataset | None", key: "PRNGKeyArray") -> None:
    """Print how good a generator's levels are, beside those of other sources."""
    from dred.generators.compare import other_sources
    from dred.generators.quality import assess, in_words
    from dred.generators.vae.fitted import MODES

    dataset = generator.dataset
    made = {mode: generator.sample(JUDGED, mode=mode, key=key) for mode in MODES}
    sources = {**made, **other_sources(dataset, JUDGED, key=key), "the dataset": dataset.levels}
    rows = {name: assess(levels, dataset, held_out) for name, levels in sources.items()}
    print(in_words(rows))


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
        from dred.generators.quality import assess, in_words
        from dred.generators.vae.fitted import MODES, load
        from dred.levels import LevelDataset
        from dred.levels import load as load_levels

        mode = lookup(dict(zip(MODES, MODES, strict=True)), self.mode, what="mode")
        if self.count < 1:
            raise ConfigError(f"--count (={self.count}) must be at least 1.")
        if not self.temperature > 0:
            raise ConfigError(f"--temperature (={self.temperature}) must be greater than 0.")
        generator = load(self.generator)
        check_writable(self.out, inputs=[self.generator / "levels.npz"])
        key = jax.random.key(check_seed(self.seed))
        levels = generator.sample(self.count, mode=mode, key=key, temperature=self.temperature)
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
        names = np.full(self.count, f"vae-{mode}")
        LevelDataset(*levels, structure=names, meta=meta).save(self.out)
        print(in_words({mode: quality, "the dataset": assess(dataset.levels, dataset, held_out)}))
        print(f"{self.out}: {self.count} levels")
